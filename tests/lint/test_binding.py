"""The rules before which nothing runs."""

from oraclepack.lint.rule_registry import BINDING, RULES


def test_no_rule_that_stops_a_run_is_forgotten() -> None:
    # Only the plan knows whose attachments are needed: a step that is done misses nothing.
    planned = {"OP403"}
    binding = {rule.id for rule in RULES if rule.is_binding}
    assert {rule.id for rule in BINDING} == binding - planned
