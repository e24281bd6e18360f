# oraclepack with the oracle CLI. Build: docker build -t oraclepack . Use: docs/ci.md.
FROM python:3.12-slim-bookworm

RUN apt-get update \
 && apt-get install -y --no-install-recommends bash git nodejs npm \
 && rm -rf /var/lib/apt/lists/*

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
