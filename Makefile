# `make demo` and `make test` are all that a fresh machine with Rust and Node needs.

browser_tests := cd tests/browser && npm run --silent

.DEFAULT_GOAL := help
# One step after the other: cargo uses all cores by itself.
.NOTPARALLEL:
.PHONY: help demo test bench lint screenshots setup build format clippy docs scripts types dependencies rust-tests browser-tests

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

demo: ## a shop, a crowd in front of it, and you in the line; more: make demo ARGS=--help
	cargo run -p vestibule -- demo $(ARGS)

test: setup lint build rust-tests browser-tests ## all checks and tests; installs what they need

bench: ## how fast the rules, the tickets and the gate are
	cargo bench --workspace

lint: format clippy docs scripts types dependencies ## formatting, clippy, docs, scripts, types, licences

screenshots: setup build ## take the pictures of the documentation anew
	$(browser_tests) screenshots

setup: ## install what the tests need
	@scripts/setup

# With the tests' features and profile, so that nothing is built twice.
build:
	cargo build --workspace --lib --bins --tests

format:
	cargo fmt --all --check

clippy:
	cargo clippy --workspace --all-targets -- -D warnings

docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

scripts:
	@if command -v shellcheck > /dev/null; then shellcheck scripts/* .ci/run; \
	else echo "scripts are not checked: shellcheck is not installed"; fi

types: tests/browser/node_modules
	$(browser_tests) types

tests/browser/node_modules:
	cd tests/browser && npm ci

dependencies:
	@if cargo deny --version > /dev/null 2>&1; then cargo deny check --hide-inclusion-graph bans licenses sources; \
	else echo "licences and bans are not checked: cargo-deny is not installed; cargo install --locked cargo-deny"; fi

rust-tests:
	cargo nextest run --workspace
	cargo test --workspace --doc

browser-tests:
	$(browser_tests) test
