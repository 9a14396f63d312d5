# The stand-alone program. BuildKit builds it, the default since Docker 23:
#
#   docker build --tag vestibule .
#   docker run --read-only --publish 8080:8080 --volume vestibule:/var/lib/vestibule vestibule serve --origin http://host:3000
#
# Debian rather than musl or a distroless image: the tests run on it, it can be pinned to a version, and the health check
# needs its shell. Nothing is installed in it.
FROM node:24-bookworm-slim AS dashboard
WORKDIR /dashboard
COPY dashboard/package.json dashboard/package-lock.json ./
RUN --mount=type=cache,target=/root/.npm npm ci
COPY dashboard .
RUN npm run build

FROM rust:1.95-slim-bookworm AS build
WORKDIR /build
COPY . .
# The program has the dashboard in it.
COPY --from=dashboard /dashboard/dist dashboard/dist
# Downloads and compiled crates are cached on the building machine, so that a change compiles only what it affects.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --release --locked --package vestibule --bin vestibule \
    && cp target/release/vestibule /vestibule

FROM debian:12.14-slim
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Vestibule" \
      org.opencontainers.image.description="A virtual waiting room in front of a website" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.revision="${REVISION}"

# Certificate authorities for connections to origins, Redis and S3.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /vestibule /usr/local/bin/vestibule
COPY deploy/docker/healthy /usr/local/bin/healthy

# A number, so that an orchestrator sees that it is not root. Keys that are not given are generated once, in the state folder.
RUN install --directory --owner=10001 --group=10001 --mode=700 /var/lib/vestibule
USER 10001:10001
ENV VESTIBULE_LISTEN=0.0.0.0:8080 \
    VESTIBULE_STATE=/var/lib/vestibule
VOLUME /var/lib/vestibule
EXPOSE 8080 8081

STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 CMD ["healthy"]
ENTRYPOINT ["vestibule"]
CMD ["serve"]
