"""The engine weighs, places, chooses and sorts what rules find."""

from collections.abc import Iterator

import pytest

from oraclepack.lint.engine import lint, unknown_words
from oraclepack.lint.finding import Facts, Severity
from oraclepack.lint.rule import Problem, Rule, Subject
from oraclepack.lint.rule_registry import RULES
from oraclepack.pack.script import Span
from tests.packs import a_pack, places, some_steps

SUBJECT = Subject(a_pack("set -e\n" + some_steps(["true", "true"])), Facts())


def _in_two_places(_subject: Subject) -> Iterator[Problem]:
    yield Problem(Span.at(7), "later")
    yield Problem(Span.at(4), "earlier")
    yield Problem(Span.at(4), "earlier")


def _about_a_step(_subject: Subject) -> Iterator[Problem]:
    yield Problem(Span.at(1), "far away", step="02")


TOY = (
    Rule("OP901", "twice", Severity.WARNING, Severity.ERROR, _in_two_places),
    Rule("OP802", "elsewhere", Severity.ADVICE, Severity.ADVICE, _about_a_step),
)


def test_findings_stand_in_the_order_of_the_file_and_none_stands_twice() -> None:
    assert places(lint(SUBJECT, TOY)) == [(1, "OP802"), (4, "OP901"), (7, "OP901")]


def test_a_finding_belongs_to_the_step_of_its_line_unless_the_rule_names_one() -> None:
    assert [finding.step_id for finding in lint(SUBJECT, TOY)] == ["02", None, "02"]


@pytest.mark.parametrize(
    ("strict", "expected"),
    [
        pytest.param(False, ["advice", "warning", "warning"], id="by default"),
        pytest.param(True, ["advice", "error", "error"], id="under strict"),
    ],
)
def test_the_weight_of_a_finding(strict: bool, expected: list[str]) -> None:
    assert [finding.severity for finding in lint(SUBJECT, TOY, strict=strict)] == expected


@pytest.mark.parametrize(
    ("select", "ignore", "expected"),
    [
        pytest.param((), (), {"OP802", "OP901"}, id="nothing selected means everything"),
        pytest.param(("OP8",), (), {"OP802"}, id="the beginning of an id selects a family"),
        pytest.param(("op901",), (), {"OP901"}, id="case does not matter"),
        pytest.param(("twice",), (), {"OP901"}, id="a name selects its rule"),
        pytest.param((), ("elsewhere",), {"OP901"}, id="a name is ignored"),
        pytest.param(("OP",), ("OP9",), {"OP802"}, id="ignore has the last word"),
        pytest.param(("",), (), set(), id="an empty word means no rule"),
    ],
)
def test_rules_are_chosen(
    select: tuple[str, ...], ignore: tuple[str, ...], expected: set[str]
) -> None:
    findings = lint(SUBJECT, TOY, select=select, ignore=ignore)

    assert {finding.rule for finding in findings} == expected


def test_words_that_name_no_rule_are_reported() -> None:
    assert unknown_words(("OP9", "twice", "OP7", "thrice"), TOY) == ("OP7", "thrice")


def test_every_rule_has_an_id_and_a_name_of_its_own() -> None:
    words = [word for rule in RULES for word in (rule.id, rule.name)]

    assert len(words) == len(set(words))


def test_strict_never_weighs_less() -> None:
    weights = [Severity.ADVICE, Severity.WARNING, Severity.ERROR]

    assert all(weights.index(rule.strict) >= weights.index(rule.severity) for rule in RULES)


def test_a_step_is_found_among_thousands_of_findings() -> None:
    subject = Subject(a_pack("# 01) again\ntrue\n" * 3000), Facts())

    found = lint(subject, RULES, select=("OP108",))

    assert len(found) == 2999
