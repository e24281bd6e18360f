"""OP2xx, row by row; lines count from the first line of the bash block."""

import pytest

from oraclepack.lint.finding import CheckResult, CheckStatus, Diagnostic, Facts, Severity
from tests.packs import BLOCK_LINE, findings_of, pack_text

Row = tuple[int, str]


def _found(bash: str, facts: Facts | None = None) -> list[Row]:
    findings = findings_of(pack_text(f"# 01) a\n{bash}\n"), facts=facts, select=("OP2",))
    return [(finding.span.line - BLOCK_LINE, finding.rule) for finding in findings]


@pytest.mark.parametrize(
    ("bash", "expected"),
    [
        pytest.param("oracle -p why\n-f a", [(2, "OP201")], id="a flag alone"),
        pytest.param(
            "oracle\n  -p a \\\n  -f b", [(2, "OP201")], id="its continuation is part of it"
        ),
        pytest.param(
            "oracle\n-p a\n--file b\n--write-output c",
            [(2, "OP201"), (3, "OP201"), (4, "OP201")],
            id="each line of several",
        ),
        pytest.param("oracle -p a \\\n\n  -f b", [(3, "OP201")], id="after a blank line"),
        pytest.param("if true; then\n  -f b\nfi", [(2, "OP201")], id="inside a condition"),
        pytest.param("ask() {\n  oracle\n  -p a\n}", [(3, "OP201")], id="inside a function"),
        pytest.param("x=$(oracle -p a\n-f b)", [(2, "OP201")], id="inside a substitution"),
        pytest.param("oracle -p a\n--file=src/x.py", [(2, "OP201")], id="a flag with its value"),
        pytest.param("oracle -p a\n--file=a --file=b", [(2, "OP201")], id="two such flags"),
        pytest.param("oracle -f a\n--prompt='b\nc'", [(2, "OP201")], id="a value of two lines"),
        pytest.param("oracle -p a\n--slug=b > c", [(2, "OP201")], id="and a redirection"),
        pytest.param("oracle -p a\nX=1 --model=b", [(2, "OP201")], id="behind an assignment"),
        pytest.param("model=b X=1\noracle -p a", [], id="assignments"),
        pytest.param("oracle -p a \\\n  -f b", [], id="a continuation"),
        pytest.param("oracle -p 'a\n-f b\n-p c'", [], id="in a string"),
        pytest.param('note="\n-p a \\ \n"', [], id="in an assigned string"),
        pytest.param('oracle -p "a \\ \n-f b \\`date\\` \'"', [], id="in double quotes"),
        pytest.param("cat <<X\n-p a\n# 03) b\n`c` ' \" \\ \nX", [], id="in a heredoc"),
        pytest.param("[[ -f a ]] && test -p b || [ -d c ]", [], id="in a test"),
        pytest.param("python3 - <<'PY'\n-1\nPY", [], id="in a program"),
        pytest.param("cat \\\n  -", [], id="a dash for stdin"),
        pytest.param("case $x in\n  -p) true ;;\nesac", [], id="a pattern"),
        pytest.param("echo ((\n-p x", [], id="where the tree is lost it is no witness"),
        pytest.param("flags=(\n  -p a\n  -f b\n)", [], id="words of an array"),
        pytest.param(
            "oracle -p a \\ # note\n  -f b",
            [(1, "OP202"), (2, "OP201")],
            id="a comment after the backslash",
        ),
        pytest.param(
            "oracle -p a # note\n  -f b",
            [(1, "OP202"), (2, "OP201")],
            id="a comment instead of the backslash",
        ),
        pytest.param(
            "oracle -p a \\\n  # note\n  -f b",
            [(2, "OP202"), (3, "OP201")],
            id="a comment line inside the call",
        ),
        pytest.param("oracle -p a \\\n  -f b # note\ntrue", [], id="a comment after the call"),
        pytest.param("# note\noracle -p a \\\n  -f b", [], id="a comment before the call"),
        pytest.param("oracle -p 'a # b'", [], id="a hash in a string"),
        pytest.param(
            "oracle -p a \\ \n  -f b",
            [(1, "OP208"), (2, "OP201")],
            id="blanks after the backslash",
        ),
        pytest.param("oracle -p a\\  -f b", [], id="an escaped blank within a line"),
        pytest.param(
            "for x in a; do\n# 02) ROI=1 b\ntrue\ndone", [(2, "OP204")], id="a loop over a header"
        ),
    ],
)
def test_what_bash_makes_of_lines(bash: str, expected: list[Row]) -> None:
    assert _found(bash) == expected


@pytest.mark.parametrize(
    ("bash", "expected"),
    [
        pytest.param("x=\"$(cat <<'P'\nit's\nP\n)\"", [(2, "OP206")], id="an apostrophe"),
        pytest.param("x=\"$(cat <<'P'\nit's what's\nP\n)\"", [], id="two apostrophes"),
        pytest.param('x="$(cat <<\'P\'\nsay "it\'s"\nP\n)"', [], id="an apostrophe in quotes"),
        pytest.param("cat <<'P'\nit's\nP", [], id="outside a substitution"),
        pytest.param("x=$(cat <<'P'\nit's\nP\n)", [(2, "OP206")], id="without quotes around it"),
        pytest.param("x=$(cat <<'P'\n# it's\nP\n)", [], id="what looks like a comment"),
        pytest.param(
            "x=\"$(cat <<'P'\n# it's\nP\n)\"", [(2, "OP206")], id="no comment between quotes"
        ),
        pytest.param("x=`cat <<'P'\nit's\nP\n`", [], id="in backquotes"),
        pytest.param(
            "x=$(cat <<'P'; cat <<'Q'\nit's\nP\nthat's\nQ\n)", [], id="a partner further on"
        ),
        pytest.param("x=$(cat <<'P'\nit\\'s\nP\n)", [], id="an escaped apostrophe"),
        pytest.param("x=$(cat <<'P'\na ` b\nP\n)", [(2, "OP206")], id="a backquote"),
        pytest.param("x=$(cat <<'P'\nsay \"a\nP\n)", [(2, "OP206")], id="a double quote"),
        pytest.param(
            "mapfile -t x < <(cat <<'P'\nit's\nP\n)", [(1, "OP207"), (2, "OP206")], id="<(…)"
        ),
        pytest.param("(cat <<'P'\nit's\nP\n)", [], id="in a subshell"),
        pytest.param(
            "mapfile -t x < a\nmapfile -t y < b", [(1, "OP207")], id="mapfile, reported once"
        ),
        pytest.param("readarray x < a", [(1, "OP207")], id="readarray"),
        pytest.param("declare -A map", [(1, "OP207")], id="an associative array"),
        pytest.param("declare -a list", [], id="a plain array"),
        pytest.param('echo "${x^^}"', [(1, "OP207")], id="upper case"),
        pytest.param("echo '${x^^}'", [], id="upper case in a string"),
        pytest.param("a |& b", [(1, "OP207")], id="a pipe for both streams"),
        pytest.param("a &>> b", [(1, "OP207")], id="appending both streams"),
        pytest.param("echo 'mapfile |& declare -A'", [], id="words about them"),
        pytest.param("cat <<X\nmapfile -t x\ndeclare -A y\nX", [], id="a text about them"),
    ],
)
def test_old_bash(bash: str, expected: list[Row]) -> None:
    assert _found(bash) == expected


def _said(name: str, *said: Diagnostic) -> CheckResult:
    return CheckResult(name, CheckStatus.FAILED, "words", said)


QUOTE = Diagnostic(5, 1, "quote this", "SC2046", "warning")
ARRAY = Diagnostic(5, 3, "double quote array expansions", "SC2068", "error")
STYLE = Diagnostic(5, 3, "use something else", "SC2006", "style")
FLAG = Diagnostic(5, 1, "this flag is used as a command name", "SC2215", "warning")
PARSE = Diagnostic(5, 1, "fix the quote", "SC1078", "error")
EOF = Diagnostic(6, 1, "unexpected end of file")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        pytest.param(Facts(), [], id="nothing was asked"),
        pytest.param(Facts(syntax=_said("bash -n", EOF)), [(2, "OP203")], id="bash complains"),
        pytest.param(
            Facts(syntax=_said("bash -n")), [(0, "OP203")], id="bash fails without a word"
        ),
        pytest.param(
            Facts(shellcheck=_said("shellcheck", QUOTE, ARRAY, STYLE)),
            [(1, "OP209"), (1, "OP205")],
            id="shellcheck complains; style is left out",
        ),
        pytest.param(Facts(shellcheck=_said("shellcheck", FLAG)), [], id="we say it ourselves"),
        pytest.param(
            Facts(syntax=_said("bash -n", EOF), shellcheck=_said("shellcheck", PARSE)),
            [(2, "OP203")],
            id="bash has the word on syntax",
        ),
    ],
)
def test_outside_checks(facts: Facts, expected: list[Row]) -> None:
    assert _found("true", facts) == expected


@pytest.mark.parametrize(
    ("strict", "expected"),
    [
        pytest.param(False, [Severity.WARNING, Severity.WARNING], id="by default"),
        pytest.param(True, [Severity.WARNING, Severity.ERROR], id="under strict"),
    ],
)
def test_only_errors_of_shellcheck_are_errors(strict: bool, expected: list[Severity]) -> None:
    facts = Facts(shellcheck=_said("shellcheck", QUOTE, ARRAY))

    found = findings_of(pack_text("# 01) a\ntrue"), facts=facts, strict=strict, select=("OP2",))

    assert [finding.severity for finding in found] == expected


def test_an_orphaned_flag_is_named_with_its_line_column_and_step() -> None:
    (finding,) = findings_of(pack_text("# 01) a\noracle\n  -p why"), select=("OP201",))

    assert (finding.span.line, finding.span.column, finding.step_id) == (6, 3, "01")
    assert finding.message == "orphaned flag -p: bash would run it as a command"
    assert finding.hint == "add a backslash at the end of line 5"


def test_a_fence_in_a_prompt_that_ends_the_block_is_named() -> None:
    text = "```bash\n# 01) a\ncat <<'END'\n```\ncode\n```\nEND\n```\n"

    (finding,) = findings_of(text, facts=Facts(syntax=_said("bash -n", EOF)), select=("OP203",))

    assert finding.hint.endswith("if line 4 belongs to a prompt, put ```` around the block")
