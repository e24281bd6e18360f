# oraclepack, and with --build-arg ORACLE_VERSION=latest the oracle CLI. Build and use: docs/ci.md.
FROM node:24-bookworm-slim AS node

FROM python:3.12-slim-bookworm

RUN apt-get update \
 && apt-get install -y --no-install-recommends bash git \
 && rm -rf /var/lib/apt/lists/*

# oracle needs Node 24; Debian bookworm has 18.
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/npm
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm

COPY pyproject.toml constraints.txt README.md CHANGELOG.md LICENSE /opt/oraclepack/
COPY src /opt/oraclepack/src
COPY docs /opt/oraclepack/docs
COPY examples /opt/oraclepack/examples
RUN python -m pip install --no-cache-dir -c /opt/oraclepack/constraints.txt "/opt/oraclepack[lint]"

# The real tool is optional: rehearsals and everything that asks no model work without it.
ARG ORACLE_VERSION=""
RUN if [ -n "$ORACLE_VERSION" ]; then npm install --global "@steipete/oracle@$ORACLE_VERSION"; fi

COPY .ci/container-entry /usr/local/bin/container-entry
RUN useradd --create-home packs
USER packs
WORKDIR /work
ENTRYPOINT ["bash", "/usr/local/bin/container-entry"]
CMD ["--help"]
