#!/usr/bin/env bash
# The main job in a minute: a fault is found, and twenty questions become work. All of it happens in a
# copy that is thrown away; a rehearsal answers, so nothing is asked and nothing is paid.
set -euo pipefail
cd "$(dirname "$0")/.."
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
mkdir "$room/project"
cp -R src docs README.md CONTRIBUTING.md "$room/project"
rm -rf "$room/project/docs/oracle-answers"
cp examples/hello.md "$room/project/hello.md"
cp examples/codebase-review.md "$room/project/oracle-pack-2026-01-09.md"
cd "$room/project"
export ORACLEPACK_LOGIN=once ORACLEPACK_MAX_PARALLEL=4

say() { printf '\n%s\n' "== $1"; }
try() { ends 0 "$@"; }
# Runs a command that must end with a given exit code; what it says on stderr is kept in a file.
ends() {
  local wanted=$1 code=0
  shift
  printf '$ %s\n' "$*"
  "$@" 2>"$room/talk" || code=$?
  [ "$code" -eq 0 ] || printf 'exit code %s\n' "$code"
  [ "$code" -eq "$wanted" ] || { cat "$room/talk" >&2; exit 1; }
}

pack=oracle-pack-2026-01-09.md

say "Twenty questions that meet every strict demand."
try oraclepack validate --strict "$pack"

say "A line of another pack lost its backslash: found, explained, mended."
sed 's/ \\$//' hello.md >broken.md
ends 2 oraclepack validate --select OP201 broken.md
try oraclepack validate --select OP201 --fix broken.md
cmp broken.md hello.md

say "From questions to work in one command. A rehearsal answers, so it costs nothing."
try oraclepack pipeline "$pack" --engine rehearsal --export github --allow-rehearsal --junit report.xml

say "It ran in a copy: the project is as it was, and nothing rehearsed passes for an answer."
try ls .oraclepack
ends 4 oraclepack verify-outputs --run-dir .oraclepack/rehearsals/* >"$room/said"
sed -n '1,2p;$p' "$room/said"

say "In CI a policy decides; this one wants more than a rehearsal can give."
ends 5 oraclepack pipeline "$pack" --engine rehearsal --ci --min-yield 5
tail -n 2 "$room/talk"

say "Where to look: the answers, the tasks worth most, how many there are."
cd .oraclepack/rehearsals/*/actionizer
try ls ../outputs | head -n 4
try sed -n 20,25p backlog.md
try wc -l normalized.jsonl
