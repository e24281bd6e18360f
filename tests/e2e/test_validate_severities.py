"""What every rule weighs, by default and under `--strict`, written down a second time.

A change of weight breaks builds of users, so it takes two edits.
"""

import pytest

from oraclepack.lint.rule import Rule
from oraclepack.lint.rule_registry import RULES

ALWAYS = ("error", "error")
STRICTLY = ("warning", "error")
SILENTLY = ("silent", "error")
NEVER = ("warning", "warning")
ADVICE = ("advice", "advice")

WEIGHTS = {
    # structure
    "no-bash-block": ALWAYS,
    "several-bash-blocks": STRICTLY,
    "other-fence": STRICTLY,
    "unclosed-fence": ALWAYS,
    "no-steps": ALWAYS,
    "malformed-step-number": ALWAYS,
    "step-out-of-order": ALWAYS,
    "duplicate-step": ALWAYS,
    "too-many-steps": ALWAYS,
    "wrong-step-count": SILENTLY,
    "foreign-line-ends": ADVICE,
    "unknown-allow": NEVER,
    "useless-allow": NEVER,
    "reasonless-allow": NEVER,
    "unheard-directive": NEVER,
    "swallowed-header": NEVER,
    "header-outside-block": STRICTLY,
    # bash
    "orphaned-flag": ALWAYS,
    "comment-in-wrapped-call": ALWAYS,
    "bash-syntax": ALWAYS,
    "crosses-step-boundary": ALWAYS,
    "shellcheck-error": STRICTLY,
    "unclosed-quote-in-heredoc": ADVICE,
    "needs-bash-4": ADVICE,
    "blank-after-backslash": NEVER,
    "shellcheck-warning": NEVER,
    "backquotes-in-prompt": ALWAYS,
    "command-in-prompt": NEVER,
    "empty-variable-in-prompt": NEVER,
    # questions
    "missing-header-field": SILENTLY,
    "bad-number": STRICTLY,
    "unknown-category": STRICTLY,
    "roi-order": STRICTLY,
    "roi-formula": STRICTLY,
    "duplicate-question": STRICTLY,
    "wrong-coverage-check": STRICTLY,
    "several-questions-in-step": STRICTLY,
    "meta-disagrees": NEVER,
    "step-without-question": SILENTLY,
    "false-evidence": STRICTLY,
    "evidence-not-attached": STRICTLY,
    "no-evidence": STRICTLY,
    "unwritten-question": ALWAYS,
    # attachments
    "too-many-attachments": STRICTLY,
    "broad-glob": STRICTLY,
    "attachment-missing": ALWAYS,
    "secret-attachment": STRICTLY,
    "lost-attachment": STRICTLY,
    "too-big-attachment": STRICTLY,
    "attachment-outside": STRICTLY,
    # outputs
    "no-write-output": STRICTLY,
    "output-collision": ALWAYS,
    "output-leaves-project": ALWAYS,
    "contradicted-contract": NEVER,
    "output-named-dash": NEVER,
    "output-never-made": NEVER,
    "unusable-output-path": ALWAYS,
    # tools
    "unguarded-tool": STRICTLY,
    "interactive-use": NEVER,
    "not-interceptable": NEVER,
    "refused-argument": NEVER,
    "call-in-background": NEVER,
    "detached-call": NEVER,
    "closed-pipe": NEVER,
    "unrendered-placeholder": NEVER,
    # cost
    "sent-with-most-calls": ADVICE,
    "material-in-prompt": ADVICE,
    "pro-model-for-yes-or-no": ADVICE,
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.id} {rule.name}")
def test_the_weight_of_a_rule(rule: Rule) -> None:
    default = "silent" if rule.only_strict else rule.severity.value

    assert (default, rule.strict.value) == WEIGHTS[rule.name]


def test_no_rule_has_vanished() -> None:
    assert sorted(rule.name for rule in RULES) == sorted(WEIGHTS)


def test_ids_are_unique_and_in_order() -> None:
    ids = [rule.id for rule in RULES]

    assert ids == sorted(set(ids))
