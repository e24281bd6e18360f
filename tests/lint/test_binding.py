"""The rules before which nothing runs."""

from oraclepack.lint.binding import BINDING
from oraclepack.lint.registry import RULES
from oraclepack.lint.suppress import is_binding


def test_no_rule_that_stops_a_run_is_forgotten() -> None:
    assert {rule.id for rule in BINDING} == {rule.id for rule in RULES if is_binding(rule)}
