"""`explain` through the boundary."""

import jsonschema
import pytest

from oraclepack.lint.rule_docs import explain_rules
from oraclepack.lint.rule_registry import RULES
from oraclepack.view.report.schemas import schema_of
from tests.cli.answers import answer


@pytest.mark.parametrize("word", ["OP201", "op201", "orphaned-flag", "Orphaned-Flag"])
def test_a_rule_is_found_by_id_and_by_name(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, "explain", word)

    assert result.code == 0
    assert result.out.startswith("OP201 orphaned-flag: error\n")


def test_without_a_rule_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    lines = answer(capsys, "explain").out.splitlines()[1:]

    assert [line.split()[0] for line in lines] == [rule.id for rule in RULES]


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        pytest.param("orphand-flag", "did you mean orphaned-flag?", id="near a name"),
        pytest.param("zzz", "`oraclepack explain` lists the rules", id="near nothing"),
    ],
)
def test_an_unknown_rule_is_wrong_usage(
    word: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    result = answer(capsys, "explain", word, "--json")

    assert (result.code, result.envelope["error"]["suggestion"]) == (2, hint)


@pytest.mark.parametrize("words", [(), ("OP103",)], ids=["all", "one"])
def test_the_data_keeps_its_schema(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    data = answer(capsys, "explain", *words, "--json").envelope["data"]

    jsonschema.validate(data, schema_of("rule-explanation"))
    assert len(data["rules"]) == (1 if words else len(RULES))


def test_sarif_lists_every_rule() -> None:
    texts = explain_rules().rules

    assert [text.rule for text in texts] == [rule.id for rule in RULES]
    assert all(text.summary and text.text for text in texts)
