"""Allow comments take findings away, and are themselves looked at."""

import pytest

from oraclepack.lint.finding import CheckResult, CheckStatus, Diagnostic, Facts
from tests.packs import BLOCK_LINE, findings_of, pack_text, places

UNKEPT = "true\noracle -p why"
"""A question whose answer goes to no file."""
ALLOWS = ("OP112", "OP113", "OP114")
SELECTED = (*ALLOWS, "OP105", "OP201", "OP501")


def _found(bash: str) -> list[tuple[int, str]]:
    found = places(findings_of(pack_text(bash), select=SELECTED))
    return [(line - BLOCK_LINE + 1, rule) for line, rule in found]


@pytest.mark.parametrize(
    ("bash", "expected"),
    [
        pytest.param(f"# 01) a\n{UNKEPT}", [(3, "OP501")], id="without an allow it is found"),
        pytest.param(f"# 01) a\n# oraclepack: allow OP501 because\n{UNKEPT}", [], id="by id"),
        pytest.param(f"# 01) a\n# oraclepack: allow op501 because\n{UNKEPT}", [], id="in any case"),
        pytest.param(
            f"# 01) a\n# oraclepack: allow no-write-output: because\n{UNKEPT}",
            [],
            id="by name",
        ),
        pytest.param(
            f"# 01) a\n# oraclepack: allow=OP501 because\n{UNKEPT}", [], id="with an equals sign"
        ),
        pytest.param(
            f"# oraclepack: allow OP501 because\n# 01) a\n{UNKEPT}\n# 02) b\n{UNKEPT}",
            [],
            id="before the first step it speaks for all",
        ),
        pytest.param(
            f"# 01) a\n# oraclepack: allow OP501 because\n{UNKEPT}\n# 02) b\n{UNKEPT}",
            [(7, "OP501")],
            id="in a step it speaks for that step alone",
        ),
        pytest.param(
            f"# 01) a\n# oraclepack: allow OP501\n{UNKEPT}",
            [(2, "OP114")],
            id="without a reason it works and is mentioned",
        ),
        pytest.param(
            "# 01) a\n# oraclepack: allow OP501 because\ntrue",
            [(2, "OP113")],
            id="what takes nothing away is useless",
        ),
        pytest.param(
            f"# 01) a\n# oraclepack: allow OP299, OP501 because\n{UNKEPT}",
            [(2, "OP112")],
            id="one of a list may be unknown",
        ),
        pytest.param(
            f"# 01) a\n# oraclepack: allow OP501 OP299 because\n{UNKEPT}",
            [(2, "OP112")],
            id="ids may be separated by blanks",
        ),
        pytest.param("# 01) a\n# oraclepack: allow", [(2, "OP112")], id="no rule is named"),
        pytest.param(
            "# oraclepack: allow OP105 because\ntrue",
            [(0, "OP105"), (1, "OP113")],
            id="what keeps a pack from running cannot be allowed",
        ),
        pytest.param(
            "# 01) a\n# oraclepack: allow OP201 because\noracle -p a --write-output b\n-f c",
            [(2, "OP113"), (4, "OP201")],
            id="nor can what would pay for half a question",
        ),
        pytest.param(
            f"# 01) a\ncat <<X\n# oraclepack: allow OP501 because\nX\n{UNKEPT}",
            [(6, "OP501")],
            id="in a heredoc it is text",
        ),
    ],
)
def test_allow(bash: str, expected: list[tuple[int, str]]) -> None:
    assert _found(bash) == expected


def test_an_unknown_rule_comes_with_the_nearest_one() -> None:
    text = pack_text("# 01) a\n# oraclepack: allow no-write-ouput because\ntrue")

    (finding,) = findings_of(text, select=("OP112",))

    assert (finding.message, finding.hint) == (
        "there is no rule no-write-ouput",
        "did you mean no-write-output?",
    )


def test_what_was_not_asked_is_not_called_useless() -> None:
    text = pack_text("# 01) a\n# oraclepack: allow OP501 because\ntrue")

    assert findings_of(text, select=ALLOWS) == ()


def test_complaints_about_allows_can_be_left_out_too() -> None:
    text = pack_text("# 01) a\n# oraclepack: allow OP999\ntrue")

    assert findings_of(text, select=("OP501",)) == ()


@pytest.mark.parametrize("rule", ["OP205", "OP209", "OP406"])
def test_what_depends_on_the_machine_is_not_called_useless(rule: str) -> None:
    text = pack_text(f"# 01) a\n# oraclepack: allow {rule} because\ntrue")

    assert findings_of(text, select=("OP113",)) == ()


def test_a_complaint_of_shellcheck_is_allowed_in_its_step() -> None:
    said = Diagnostic(6, 1, "quote this", "SC2046", "warning")
    facts = Facts(shellcheck=CheckResult("shellcheck", CheckStatus.FAILED, "", (said,)))
    text = pack_text("# 01) a\n# oraclepack: allow OP209 one word is meant\necho $(cat a)")

    assert findings_of(text, facts=facts, select=("OP209",)) == ()
