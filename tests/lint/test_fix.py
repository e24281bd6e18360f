"""Fixes change what they say and nothing else: the calls of bash itself are the proof."""

import os
import subprocess
from pathlib import Path

import pytest

from oraclepack.lint.finding import Edit, Finding, Fix, Severity
from oraclepack.lint.fix import LINE_ENDS, apply_fixes
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.pack.script import Span
from tests.lint.fixing import fixed
from tests.packs import findings_of, pack_text, strict_text

TRACER = """\
#!/bin/bash
{ printf '%s\\0' "$@"; printf '\\n'; } >> "$CALLS"
"""


def _calls(text: str, folder: Path) -> list[list[str]]:
    """The calls of `oracle` that bash makes when it runs the block, one argv each."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    tracer = tools / "oracle"
    tracer.write_text(TRACER)
    tracer.chmod(0o755)
    record = folder / "calls"
    record.write_bytes(b"")
    block = parse_pack(text, "pack.md").block
    assert block is not None
    subprocess.run(
        ["bash", "-c", block.content],
        cwd=folder,
        env={"PATH": f"{tools}:{os.environ['PATH']}", "CALLS": str(record)},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    lines = record.read_bytes().decode().split("\0\n")[:-1]
    return [line.split("\0") for line in lines]


@pytest.mark.parametrize(
    ("bash", "expected"),
    [
        pytest.param("oracle -p why\n  -f a.py", [["-p", "why", "-f", "a.py"]], id="one flag"),
        pytest.param(
            "oracle\n-p why\n-f a.py\n--write-output b.md",
            [["-p", "why", "-f", "a.py", "--write-output", "b.md"]],
            id="several in a row, all together",
        ),
        pytest.param(
            "oracle -p \"$(cat <<'P'\n-f no\nP\n)\"\n  -f a.py",
            [["-p", "-f no", "-f", "a.py"]],
            id="after a heredoc",
        ),
        pytest.param(
            "oracle -p why > b.md\n  -f a.py", [["-p", "why", "-f", "a.py"]], id="after a redirect"
        ),
        pytest.param(
            "oracle -p why \\  \n  -f a.py",
            [["-p", "why", "-f", "a.py"]],
            id="blanks after the backslash",
        ),
        pytest.param(
            "oracle -p why \\\n\n  -f a.py",
            [["-p", "why", "-f", "a.py"]],
            id="a blank line after the backslash",
        ),
        pytest.param(
            "env A=1 oracle -p why\n-f a.py\noracle -p how",
            [["-p", "why", "-f", "a.py"], ["-p", "how"]],
            id="the next call stays its own",
        ),
        pytest.param(
            "if oracle -p why\n  -f a.py; then true; fi",
            [["-p", "why", "-f", "a.py"]],
            id="in a condition",
        ),
    ],
)
def test_an_orphaned_flag_goes_back_to_its_call(
    bash: str, expected: list[list[str]], tmp_path: Path
) -> None:
    after = fixed(pack_text(f"# 01) a\n{bash}\n"))

    assert findings_of(after, select=("OP201", "OP202", "OP208")) == ()
    assert _calls(after, tmp_path) == expected


@pytest.mark.parametrize(
    "bash",
    [
        pytest.param("oracle -p why\n\n-f a.py", id="a blank line between"),
        pytest.param("oracle -p why\n# note\n-f a.py", id="a comment between"),
        pytest.param("oracle -p why # note\n-f a.py", id="a comment on the line before"),
        pytest.param("oracle -p why # note \\\n\n-f a.py", id="a backslash in a comment"),
        pytest.param("oracle -p why;\n-f a.py", id="a command that was ended"),
        pytest.param("oracle -p why &\n-f a.py", id="a call in the background"),
        pytest.param("oracle -p why | tee log\n-f a.py", id="a pipe"),
        pytest.param("oracle -p - <<X\nwhy\nX\n-f a.py", id="a heredoc of its own"),
        pytest.param("sh -c 'oracle -p why'\n-f a.py", id="a call inside a string"),
        pytest.param("echo done\n-f a.py", id="no call before"),
        pytest.param("oracle -p why\n- a list", id="a list, not a flag"),
        pytest.param("true\n-p why\n-f a.py", id="a row of flags without a call"),
        pytest.param("oracle -p why \\\\\n\n-f a.py", id="a backslash that is a word"),
        pytest.param("oracle -p why\n\n\n-f a.py", id="several blank lines"),
    ],
)
def test_where_the_meaning_is_open_nothing_is_changed(bash: str) -> None:
    text = pack_text(f"# 01) a\n{bash}\n")

    assert findings_of(text, select=("OP201",))
    assert fixed(text) == text


def test_a_header_is_not_a_line_that_goes_on() -> None:
    text = pack_text("# 01) a \\\n\n-f a.py\n")

    assert findings_of(text, select=("OP201",))
    assert fixed(text) == text


def _numbers(text: str) -> list[str]:
    return [step.id for step in parse_pack(text, "pack.md").steps]


@pytest.mark.parametrize(
    "numbers",
    [
        pytest.param(("01", "03", "04"), id="a gap"),
        pytest.param(("02", "01", "03"), id="two swapped"),
        pytest.param(("01", "01", "01"), id="duplicates"),
        pytest.param(("1", "2", "3"), id="one digit"),
        pytest.param(("001", "2", "03"), id="a mixture"),
    ],
)
def test_numbering_changes_no_call(numbers: tuple[str, ...], tmp_path: Path) -> None:
    text = pack_text(
        "".join(
            f"# {number}) ROI=1 a\noracle -p 'q{place}\n# 07) ROI=2 b' --write-output {number}.md\n"
            for place, number in enumerate(numbers)
        )
    )

    after = fixed(text)

    assert _numbers(after) == ["01", "02", "03"]
    assert findings_of(after, select=("OP106", "OP107", "OP108")) == ()
    assert len(_calls(text, tmp_path)) == 3
    assert _calls(after, tmp_path) == _calls(text, tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            pack_text("# 02) a\ntrue\n", after="\n## Coverage check\n- invariants: Missing(02)\n"),
            id="the coverage check names steps",
        ),
        pytest.param(
            pack_text("# 02) a\nif true; then\n# 03) ROI=1 b\ntrue\nfi\n"), id="a construct crosses"
        ),
        pytest.param(pack_text("# 01) a\ntrue\n" * 100), id="more than there are numbers"),
    ],
)
def test_numbers_stay_where_more_than_a_label_hangs_on_them(text: str) -> None:
    assert findings_of(text, select=("OP106", "OP107", "OP108"))
    assert fixed(text) == text


@pytest.mark.parametrize("end", ["\r\n", "\r"], ids=["CRLF", "CR"])
def test_line_ends_change_no_call(end: str, tmp_path: Path) -> None:
    text = "\ufeff" + strict_text().replace("\n", end)

    after = fixed(text)

    assert after == strict_text()
    assert len(_calls(text, tmp_path)) == 20
    assert _calls(after, tmp_path) == _calls(text, tmp_path)


def test_everything_else_stays_byte_for_byte() -> None:
    head, tail = (
        "\ufeffa\tb  \r\n\r\n```bash\r\n# 01) ä\r\n",
        "\r\n```\r\nend \x0c without a line end",
    )
    text = f"{head}oracle -p 'ß'  \r\n  -f a.py{tail}"

    fixed = apply_fixes(text, findings_of(text, select=("OP201",)))

    assert fixed == f"{head}oracle -p 'ß' \\\r\n  -f a.py{tail}"


def test_all_kinds_of_fixes_at_once(tmp_path: Path) -> None:
    text = pack_text("# 02) a\noracle -p why\n-f a.py\n").replace("\n", "\r\n")

    fixed = apply_fixes(text, findings_of(text))

    assert fixed == pack_text("# 01) a\noracle -p why \\\n-f a.py\n")
    assert _calls(fixed, tmp_path) == [["-p", "why", "-f", "a.py"]]


def _finding(*edits: tuple[Span, str]) -> Finding:
    fix = Fix("change it", tuple(Edit.of(span, text) for span, text in edits))
    return Finding("OP901", "toy", Severity.WARNING, None, 1, 1, 1, 1, "wrong", fix=fix)


ABC = "abc\ndef\n"


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        pytest.param([], ABC, id="nothing to do"),
        pytest.param([_finding((Span(1, 2, 1, 3), "X"))], "aXc\ndef\n", id="a replacement"),
        pytest.param([_finding((Span.at(2, 4), "!"))], "abc\ndef!\n", id="an insertion"),
        pytest.param([_finding((Span(1, 1, 2, 1), ""))], "def\n", id="a line taken out"),
        pytest.param(
            [_finding((Span(1, 1, 1, 2), "1")), _finding((Span(2, 1, 2, 2), "2"))],
            "1bc\n2ef\n",
            id="two that do not touch",
        ),
        pytest.param(
            [_finding((Span(1, 1, 1, 3), "1")), _finding((Span(1, 2, 1, 3), "2"))],
            "1c\ndef\n",
            id="of two that touch the first wins",
        ),
        pytest.param(
            [
                _finding((Span(1, 1, 1, 3), "1")),
                _finding((Span(1, 2, 1, 3), "2"), (Span(2, 1, 2, 2), "2")),
            ],
            "1c\ndef\n",
            id="a fix is applied whole or not at all",
        ),
        pytest.param(
            [_finding((Span(1, 1, 1, 2), "1")), _finding((Span(1, 1, 1, 2), "1"))],
            "1bc\ndef\n",
            id="the same change twice is one",
        ),
        pytest.param(
            [
                _finding((Span(1, 1, 1, 2), "1")),
                _finding((Span(1, 1, 1, 2), "1"), (Span(2, 1, 2, 2), "2")),
            ],
            "1bc\n2ef\n",
            id="two fixes may share a change",
        ),
        pytest.param([_finding((Span.at(9, 9), "!"))], f"{ABC}!", id="past the end is the end"),
    ],
)
def test_edits(findings: list[Finding], expected: str) -> None:
    assert apply_fixes(ABC, findings) == expected


def test_line_ends_have_no_edits() -> None:
    finding = Finding("OP111", "toy", Severity.ADVICE, None, 1, 1, 1, 1, "CRLF", fix=LINE_ENDS)

    assert apply_fixes("\ufeffa\r\nb\rc\n", [finding]) == "a\nb\nc\n"


def test_a_blank_line_in_a_block_quote_is_closed_up_as_well(tmp_path: Path) -> None:
    bash = "# 01) one\noracle -p why \\\n\n  -f a.py\n"
    text = "".join(f"> {line}".rstrip() + "\n" for line in pack_text(bash).splitlines())

    assert _calls(fixed(text), tmp_path) == [["-p", "why", "-f", "a.py"]]
