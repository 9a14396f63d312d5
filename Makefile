# `make demo` and `make test` are all that a fresh machine with Rust and Node needs.

browser_tests := cd tests/browser && npm run --silent
dashboard := cd dashboard && npm run --silent
# What the dashboard is built from. Programs that serve it have the built files in them.
dashboard_sources := $(shell find dashboard/src dashboard/public dashboard/*.* -type f)
# The demo needs neither themes in S3 nor single sign-on.
demo_features := --no-default-features --features dashboard
# Programs in Python, the SAM command line among them: scripts/setup puts them there.
tools := .tools/python/bin

.DEFAULT_GOAL := help
# One step after the other: cargo uses all cores by itself.
.NOTPARALLEL:
.PHONY: help demo demo-notice check test test-all bench attacks lint screenshots release publish image-steps functions build-Admin deploy setup \
  setup-deploy setup-release build format clippy docs scripts types prose dependencies template containers pipelines dashboard \
  dashboard-lint rust-tests dashboard-tests browser-tests

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: demo-notice dashboard/dist/index.html ## a shop, simulated visitors in front of it, and you in the line; more: make demo ARGS=--help
	cargo run -p vestibule $(demo_features) -- demo $(ARGS)

demo-notice:
	@test -x target/debug/vestibule || \
	  echo "The first run builds the dashboard and the program, which takes 5 to 8 minutes on two cores. Later runs start in seconds."

test: setup lint build rust-tests dashboard-tests browser-tests ## all checks and tests; installs what they need

check: setup build ## what a commit needs, in a few minutes
	cargo fmt --all --check
	cargo nextest run --workspace --profile check
	$(dashboard) lint
	$(dashboard) test

test-all: test ## the same and the long runs: load tests, failover drills, 2,000 held orders, 100 killed workers, 100,000 malformed requests, 20,000 sequences of joins
	VESTIBULE_FUZZ_REQUESTS=100000 cargo nextest run --workspace --ignore-default-filter \
	  --filterset 'test(/^(fuzz|load_test)::/) | test(alerts::drill) | test(order_pace::two_thousand)'
	VESTIBULE_JOB_KILLS=100 cargo nextest run --workspace --filterset 'test(faults::f01_jobs_of_killed_workers)'
	VESTIBULE_PROPERTY_RUNS=20000 cargo nextest run --workspace --ignore-default-filter --filterset 'test(property::redis_counts)'

bench: dashboard/dist/index.html ## how fast the rules, the tickets and the gate are
	cargo build --release -p vestibule-gate -p vestibule-metrics -p vestibule-purge -p vestibule-worker --bins
	CARGO_PROFILE_RELEASE_OPT_LEVEL=s cargo build --release -p vestibule-admin --bins
	cargo bench --workspace --bench '*' --no-fail-fast

attacks: ## simulate sales under attack, and write the tables of docs/attacks.md
	cargo run --package vestibule-workload --example attacks

lint: format clippy docs scripts types dashboard-lint prose dependencies template containers pipelines ## formatting, clippy, docs, prose, template, ..

screenshots: setup build ## take the pictures of the documentation again
	$(browser_tests) screenshots

release: setup-release dashboard/dist/index.html ## build the programs for x86_64 and arm64 Linux, their SBOM, and the container image
	scripts/release

publish: ## publish what make release built: a pipeline does this for a tag
	scripts/publish

image-steps: ## run each step of the Dockerfile without a container engine
	scripts/image-steps

functions: setup-deploy ## build the functions as they are deployed, into .aws-sam/build
	PATH="$(CURDIR)/$(tools):$$PATH" SAM_CLI_TELEMETRY=0 sam build

# SAM calls this for the backoffice, which is more than a program that cargo builds: the dashboard is in it.
build-Admin:
	scripts/build-admin "$(ARTIFACTS_DIR)"

deploy: setup-deploy ## build and deploy a stage of samconfig.toml: make deploy STAGE=staging
	@scripts/deploy $(STAGE)

setup: ## install what the tests need
	@scripts/setup

setup-deploy: ## install what a deployment needs: the SAM command line and cargo-lambda
	@scripts/python-tools aws-sam-cli cargo-lambda

setup-release: ## install what a release needs: cargo-zigbuild and cargo-cyclonedx
	@scripts/python-tools cargo-zigbuild
	@cargo cyclonedx --version > /dev/null 2>&1 || cargo install --locked --debug --version 0.5.9 cargo-cyclonedx

dashboard: dashboard/dist/index.html ## build the dashboard, which the programs that serve it have in them

dashboard/dist/index.html: dashboard/node_modules $(dashboard_sources)
	$(dashboard) build

# With the tests' features and profile, so that nothing is built twice.
build: dashboard/dist/index.html
	cargo build --workspace --lib --bins --tests

format:
	cargo fmt --all --check

clippy:
	cargo clippy --workspace --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

scripts:
	shellcheck $$(grep --files-with-matches --extended-regexp --max-count 1 '^#!/(bin/|usr/bin/env )(sh|bash)$$' \
	  $(wildcard scripts/* .ci/* deploy/docker/* deploy/load-test/*))

types: tests/browser/node_modules
	$(browser_tests) types

dashboard-lint: dashboard/node_modules
	$(dashboard) lint

prose: tests/prose/node_modules ## check the words of documentation, texts, API descriptions and help
	cd tests/prose && npm run --silent check

tests/browser/node_modules tests/prose/node_modules dashboard/node_modules:
	cd $(@D) && npm ci

dependencies:
	scripts/check-dependencies

template: $(tools)
	scripts/template-lint

containers: $(tools)
	$(tools)/hadolint Dockerfile
	$(tools)/check-jsonschema --quiet --builtin-schema vendor.compose-spec docker-compose.yml
	@for compose in "docker compose" docker-compose; do \
	  if $$compose version > /dev/null 2>&1; then echo $$compose config; $$compose config --quiet || exit 1; fi; \
	done
	promtool check config --syntax-only deploy/prometheus/prometheus.yml
	amtool check-config deploy/prometheus/alertmanager.yml

pipelines: $(tools)
	$(tools)/check-jsonschema --quiet --builtin-schema vendor.bitbucket-pipelines bitbucket-pipelines.yml

$(tools):
	@scripts/setup

rust-tests:
	cargo nextest run --workspace
	cargo test --workspace --doc

dashboard-tests:
	$(dashboard) test
	$(dashboard) size
	$(dashboard) e2e

browser-tests:
	$(browser_tests) test
