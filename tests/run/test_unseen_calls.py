"""Which calls of a step's text did not reach oraclepack."""

import pytest

from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.run.unseen_calls import SeenCall, unseen_calls
from tests.packs import pack_text

ASK = 'oracle -p "Why?" --write-output out/a.md'
SEEN: SeenCall = ("oracle", ("-p", "Why?", "--write-output", "out/a.md"))
VERSION: SeenCall = ("oracle", ("--version",))
OTHER: SeenCall = ("oracle", ("-p", "Which?", "--write-output", "out/b.md"))


def lines_of(
    body: str, seen: list[SeenCall], appeared: set[str], prelude: str = "", *, ok: bool = True
) -> list[int]:
    """The lines of the unseen calls, counted from the header of the step."""
    pack = parse_pack(pack_text(f"{prelude}\n# 01) one\n{body}\n"), "p.md")
    (step,) = pack.steps
    script = pack.prelude.script if pack.prelude else None
    unseen = unseen_calls(step, seen, appeared, script, succeeded=ok)
    return [call.span.line - step.span.line for call in unseen]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(ASK, id="alone"),
        pytest.param(f"export PATH=/x:$PATH\n{ASK}", id="after a change of PATH"),
        pytest.param(f"set -euo pipefail\n{ASK} | tee log", id="in a pipeline"),
        pytest.param(f"(cd sub && true; {ASK})", id="in a subshell"),
        pytest.param(f"sh -c '{ASK}'", id="in a shell of its own"),
        pytest.param(f"[[ -d src ]] || exit 1\n{ASK}", id="after a way out that is a failure"),
        pytest.param(f"trap 'rm -f x' EXIT\nexec 2>log\n{ASK}", id="after harmless builtins"),
        pytest.param(f"f() {{ exit 0; }}\n{ASK}", id="after a function that is not called"),
        pytest.param(f"/usr/bin/oracle{ASK.removeprefix('oracle')}", id="by its path"),
        pytest.param("oracle -p Why?", id="without a file"),
    ],
)
def test_a_call_that_was_surely_made_and_not_seen(body: str) -> None:
    last = body.count("\n") + 1

    assert lines_of(body, [], set()) == [last]
    assert lines_of(body, [VERSION], set()) == [last]
    assert lines_of(body, [SEEN], {"out/a.md"}) == []
    assert lines_of(body, [], set(), ok=False) == []


@pytest.mark.parametrize(
    ("body", "prelude"),
    [
        pytest.param(f"if [[ -e x ]]; then {ASK}; fi", "", id="a condition"),
        pytest.param(f"[[ -s out/a.md ]] || {ASK}", "", id="the right side of ||"),
        pytest.param(f"command -v jq && {ASK}", "", id="the right side of &&"),
        pytest.param(f"for f in *.x; do {ASK}; done", "", id="a loop"),
        pytest.param(f"while read -r f; do {ASK}; done < list", "", id="a loop over a file"),
        pytest.param(f"case $x in a) {ASK} ;; esac", "", id="a branch"),
        pytest.param(f"ask() {{ {ASK}; }}\n[[ -e x ]] && ask", "", id="a function"),
        pytest.param(f"ls *.x | xargs -r {ASK}", "", id="xargs"),
        pytest.param(f"timeout 1 {ASK} || true", "", id="a time limit"),
        pytest.param(f"[[ -s out/a.md ]] && exit 0\n{ASK}", "", id="after exit 0"),
        pytest.param(f"if [[ -e x ]]; then exit; fi\n{ASK}", "", id="after a bare exit"),
        pytest.param(f". ./lib.sh\n{ASK}", "", id="after a file that is read"),
        pytest.param(f"skip_if_done\n{ASK}", "skip_if_done() { exit 0; }", id="a leaving function"),
        pytest.param(f"a\n{ASK}", "a() { b; }\nb() { exit; }", id="one that calls another"),
        pytest.param(f"{ASK} & kill $!", "", id="in the background"),
        pytest.param('oracle "${args[@]}"', "", id="words that only the shell knows"),
        pytest.param("oracle --version\noracle status", "", id="calls that ask nothing"),
    ],
)
def test_a_call_that_may_not_have_been_made(body: str, prelude: str) -> None:
    assert lines_of(body, [], set(), prelude) == []


@pytest.mark.parametrize(
    ("body", "seen", "lines"),
    [
        pytest.param(f"if x; then {ASK}; fi", [], [1], id="of a call that was not seen"),
        pytest.param(f"if x; then {ASK}; fi", [OTHER], [1], id="of one, while another was seen"),
        pytest.param(f"if x; then {ASK}; fi", [SEEN], [], id="of one that was seen"),
        pytest.param(f"if x; then {ASK}; else cp b out/a.md; fi", [], [], id="made by a copy"),
        pytest.param('o=out/a.md\nx && oracle -p y --write-output $o\nz > "$o"', [], [], id="or"),
        pytest.param(f"x && {ASK} &", [], [1], id="of a call in the background"),
        pytest.param("x && oracle -p y --write-output ./out/a.md", [SEEN], [], id="respelled"),
    ],
)
def test_an_output_that_appeared(body: str, seen: list[SeenCall], lines: list[int]) -> None:
    for ok in (True, False):
        assert lines_of(body, seen, {"out/a.md", "./out/a.md"}, ok=ok) == lines


def test_as_many_calls_are_missing_as_did_not_come() -> None:
    second = 'oracle -p "Which?" --write-output out/b.md'

    assert lines_of(f"{ASK}\n{second}", [SEEN], set()) == [2]
    assert lines_of(f"{ASK}\n{second}", [OTHER], set()) == [1]
    assert lines_of("oracle -p a\noracle -p b", [VERSION, ("oracle", ("-p", "a"))], set()) == [1]
    assert lines_of(f"{ASK}\n{second}", [SEEN, ("oracle", ("-p", "x"))], set()) == []
