"""Allow comments take findings away, and are themselves looked at."""

import pytest

from oraclepack.core.facts import Check, CheckStatus, Diagnostic, Facts
from tests.packs import BLOCK_LINE, findings_of, pack_text, places

ORPHAN = "oracle -p why --write-output a.md\n-f b"
ALLOWS = ("OP112", "OP113", "OP114")
SELECTED = (*ALLOWS, "OP201", "OP105")


def _found(bash: str) -> list[tuple[int, str]]:
    found = places(findings_of(pack_text(bash), select=SELECTED))
    return [(line - BLOCK_LINE + 1, rule) for line, rule in found]


@pytest.mark.parametrize(
    ("bash", "expected"),
    [
        pytest.param(f"# 01) a\n{ORPHAN}", [(3, "OP201")], id="without an allow it is found"),
        pytest.param(f"# 01) a\n# oraclepack: allow OP201 because\n{ORPHAN}", [], id="by id"),
        pytest.param(f"# 01) a\n# oraclepack: allow op201 because\n{ORPHAN}", [], id="in any case"),
        pytest.param(
            f"# 01) a\n# oraclepack: allow orphaned-flag: because\n{ORPHAN}", [], id="by name"
        ),
        pytest.param(
            f"# 01) a\n# oraclepack: allow=OP201 because\n{ORPHAN}", [], id="with an equals sign"
        ),
        pytest.param(
            f"# oraclepack: allow OP201 because\n# 01) a\n{ORPHAN}\n# 02) b\n{ORPHAN}",
            [],
            id="before the first step it speaks for all",
        ),
        pytest.param(
            f"# 01) a\n# oraclepack: allow OP201 because\n{ORPHAN}\n# 02) b\n{ORPHAN}",
            [(7, "OP201")],
            id="in a step it speaks for that step alone",
        ),
        pytest.param(
            f"# 01) a\n# oraclepack: allow OP201\n{ORPHAN}",
            [(2, "OP114")],
            id="without a reason it works and is mentioned",
        ),
        pytest.param(
            "# 01) a\n# oraclepack: allow OP201 because\ntrue",
            [(2, "OP113")],
            id="what takes nothing away is useless",
        ),
        pytest.param(
            f"# 01) a\n# oraclepack: allow OP299, OP201 because\n{ORPHAN}",
            [(2, "OP112")],
            id="one of a list may be unknown",
        ),
        pytest.param(
            f"# 01) a\n# oraclepack: allow OP201 OP299 because\n{ORPHAN}",
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
            f"# 01) a\ncat <<X\n# oraclepack: allow OP201 because\nX\n{ORPHAN}",
            [(6, "OP201")],
            id="in a heredoc it is text",
        ),
    ],
)
def test_allow(bash: str, expected: list[tuple[int, str]]) -> None:
    assert _found(bash) == expected


def test_an_unknown_rule_comes_with_the_nearest_one() -> None:
    text = pack_text("# 01) a\n# oraclepack: allow orphan-flag because\ntrue")

    (finding,) = findings_of(text, select=("OP112",))

    assert (finding.message, finding.hint) == (
        "there is no rule orphan-flag",
        "did you mean orphaned-flag?",
    )


def test_what_was_not_asked_is_not_called_useless() -> None:
    text = pack_text("# 01) a\n# oraclepack: allow OP201 because\ntrue")

    assert findings_of(text, select=ALLOWS) == ()


def test_complaints_about_allows_can_be_left_out_too() -> None:
    text = pack_text("# 01) a\n# oraclepack: allow OP999\ntrue")

    assert findings_of(text, select=("OP201",)) == ()


@pytest.mark.parametrize("rule", ["OP205", "OP209", "OP403"])
def test_what_depends_on_the_machine_is_not_called_useless(rule: str) -> None:
    text = pack_text(f"# 01) a\n# oraclepack: allow {rule} because\ntrue")

    assert findings_of(text, select=("OP113",)) == ()


def test_a_complaint_of_shellcheck_is_allowed_in_its_step() -> None:
    said = Diagnostic(6, 1, "quote this", "SC2046", "warning")
    facts = Facts(shellcheck=Check("shellcheck", CheckStatus.FAILED, "", (said,)))
    text = pack_text("# 01) a\n# oraclepack: allow OP209 one word is meant\necho $(cat a)")

    assert findings_of(text, facts=facts, select=("OP209",)) == ()
