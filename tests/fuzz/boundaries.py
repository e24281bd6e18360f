"""Fuzzing where steps begin: against bash, which is asked about every stretch."""

import subprocess
from functools import cache

from hypothesis import strategies as st

from oraclepack.pack.parse.read_pack import parse_pack
from tests.fuzz.target import Target

_LINES = (
    *("cat <<E", "cat <<-E", "cat <<'E'", "cat <<E > f", "cat <<E | grep x", "cat <<E <<F"),
    *("x=$(cat <<E", 'echo "$(cat <<E', ")", ')"', "cat <<F", "F", "E", "  E", "E ", "\tE"),
    *("# note", "## Context", "  # note", "About $x here", "${y}", "$(date)", "", "true"),
    *('echo "a', 'b"', "echo a << b", "(( 1 << 2 ))", "if true; then", "fi", "true \\"),
    *("case a in a) true;& b) true;; esac", "# 02) ROI=1 two", "# 03) three", "# 04) four"),
    *("a\\", "  # 02) note", "\t# 03) note", "# 05 - five", "cat <<EE\\\nE", "EEE"),
    *("a \\", "a \\\\", "\\", "time {", "! {", "coproc X {", "}", "! while false; do", "done"),
)
blocks = st.lists(st.sampled_from(_LINES), min_size=2, max_size=9).map(
    lambda lines: ("# 01) one", *lines)
)


@cache
def _complete(text: str) -> bool:
    done = subprocess.run(
        ["bash", "-n"], input=text, capture_output=True, text=True, check=False, timeout=10
    )
    return done.returncode == 0 and not done.stderr


def steps_begin_where_bash_lets_them(lines: tuple[str, ...]) -> None:
    whole = _text(lines)
    if not _complete(whole):
        return  # it cannot be run, and where its steps begin is a guess
    headers, notes = [], set()
    start = 0
    for row, line in enumerate(lines):
        comment = line.lstrip()
        indent = line[: len(line) - len(comment)]
        # A comment may hold a lone quote; the rest of a word behind `a\\` would open a string.
        if not comment.startswith("# 0") or not _complete(
            f"{_text(lines[start:row])}{indent}# '\n"
        ):
            continue
        if indent:
            notes.add(_text(lines[:row]).count("\n"))
        else:
            headers.append(line[2:4])
            start = row
    head = "# A pack\n\n```bash\n"
    pack = parse_pack(f"{head}{whole}```\n", "pack.md", _complete)
    assert [step.header.id for step in pack.steps] == headers
    above = head.count("\n") + 1
    assert not notes & {comment.span.line - above for comment in pack.swallowed}


def _text(lines: tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in lines)


TARGETS = (
    Target(
        "boundaries",
        "steps begin where bash lets them",
        blocks,
        steps_begin_where_bash_lets_them,
        few=60,
        share=0.5,
    ),
)
