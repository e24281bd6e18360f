#!/usr/bin/env bash
# The main job in a minute: a fault is found, a pack is rehearsed, and recorded answers become a backlog and a
# report. Nothing is asked and nothing is paid. The results stay in the given directory, or in a new temporary one.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
if [ $# -gt 0 ]; then
  mkdir -p "$1"
  place=$(cd "$1" && pwd)
else
  place=$(mktemp -d)
fi
talk=$(mktemp)
trap 'rm -f "$talk"' EXIT
mkdir "$place/review" "$place/shop"
cp -R src docs README.md CONTRIBUTING.md "$place/review"
cp examples/hello.md "$place/review/hello.md"
cp examples/codebase-review.md "$place/review/oracle-pack-2026-01-09.md"
cp -R examples/work-lines/. "$place/shop"
rm "$place/shop/backlog.md"
# Each is a project of its own, also below another repository.
git init -q "$place/review"
git init -q "$place/shop"
export ORACLEPACK_LOGIN=once ORACLEPACK_MAX_PARALLEL=4

say() { printf '\n%s\n' "== $1"; }
try() { ends 0 "$@"; }
# Runs a command that must end with a given exit code; what it says on stderr is kept in a file.
ends() {
  local wanted=$1 code=0
  shift
  printf '$ %s\n' "$*"
  "$@" 2>"$talk" || code=$?
  [ "$code" -eq 0 ] || printf 'exit code %s\n' "$code"
  [ "$code" -eq "$wanted" ] || { cat "$talk" >&2; exit 1; }
}

cd "$place/review"
pack=oracle-pack-2026-01-09.md

say "Twenty questions that meet every strict demand."
try oraclepack validate --strict "$pack"

say "A line of another pack lost its backslash: found, explained, fixed."
sed 's/ \\$//' hello.md >broken.md
ends 2 oraclepack validate --select OP201 broken.md
try oraclepack validate --select OP201 --fix broken.md
cmp broken.md hello.md

say "A rehearsal of all twenty, in a copy of the project: no network, no key, no cost."
try oraclepack run "$pack" --engine rehearsal --quiet

cd "$place/shop"
say "Four questions about a shop, with recorded answers: from the pack to a backlog and a report."
try oraclepack pipeline pack.md --oracle-bin ./recorded-oracle --report

say "The same command again asks nothing: what was answered is not paid for again."
try oraclepack run pack.md --oracle-bin ./recorded-oracle --quiet

say "The tasks worth most."
cd .oraclepack/runs/*/actionizer
try sed -n '/^[0-9]*[.] /s/ — .*//p' backlog.md

say "Where to look."
run=$(dirname "$PWD")
printf 'the backlog: %s\n' "${run#"$root"/}/actionizer/backlog.md"
printf 'the report, for a browser: %s\n' "${run#"$root"/}/report.html"
