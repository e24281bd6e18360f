#!/usr/bin/env bash
# The main job in a minute: judge packs, look at their steps, and see a fault found and mended.
set -euo pipefail
cd "$(dirname "$0")/.."
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT

say() { printf '\n== %s\n' "$1"; }
try() {
  printf '$ %s\n' "$*"
  "$@"
}

say "A small pack: warnings tell what is missing, nothing is wrong."
try oraclepack validate examples/hello.md

say "Its steps."
try oraclepack list examples/hello.md

say "A pack of twenty questions that meets every strict demand."
try oraclepack validate --strict examples/codebase-review.md

say "The same for programs. Only the counts are shown here."
printf '$ oraclepack validate --strict --json examples/codebase-review.md\n'
oraclepack validate --strict --json examples/codebase-review.md |
  python -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["data"]["counts"], indent=2))'

say "A broken copy of the small pack: a line lost its backslash. The exit code is 2."
sed 's/ \\$//' examples/hello.md >"$room/broken.md"
printf '$ oraclepack validate --select OP201 broken.md\n'
(cd "$room" && oraclepack validate --select OP201 broken.md) || echo "exit code $?"

say "What the rule means."
try oraclepack explain OP201

say "The fix puts the backslash back."
printf '$ oraclepack validate --select OP201 --fix broken.md\n'
(cd "$room" && oraclepack validate --select OP201 --fix broken.md)
cmp "$room/broken.md" examples/hello.md

say "What is installed here, and what is not."
try oraclepack doctor
