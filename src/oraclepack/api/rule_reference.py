"""The documentation of the rules, and what one of them knows."""

from __future__ import annotations

from oraclepack.lint.rule_docs import RuleExplanation, rules_named
from oraclepack.lint.rules import attachment_rules


def explain_rules(word: str | None = None) -> RuleExplanation:
    """The documentation of a rule, by id or name, or of all rules."""
    return RuleExplanation(rules_named(word))


def looks_secret(path: str) -> bool:
    """Whether the name of a file suggests that it holds a secret."""
    return attachment_rules.looks_secret(path)
