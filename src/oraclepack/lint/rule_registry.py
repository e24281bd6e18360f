"""Every rule there is, in the order of the ids."""

from oraclepack.lint.rule import Rule
from oraclepack.lint.rules import (
    attachment_rules,
    bash_rules,
    comment_rules,
    cost_rules,
    evidence_rules,
    header_rules,
    numbering_rules,
    output_rules,
    prompt_rules,
    question_rules,
    structure_rules,
    tool_rules,
)

_FAMILIES = (
    *(structure_rules, numbering_rules, comment_rules, bash_rules, prompt_rules),
    *(question_rules, header_rules, evidence_rules, attachment_rules),
    *(output_rules, tool_rules, cost_rules),
)

RULES: tuple[Rule, ...] = tuple(
    sorted(
        (each for family in _FAMILIES for each in vars(family).values() if isinstance(each, Rule)),
        key=lambda rule: rule.id,
    )
)

BINDING = tuple(rule for rule in RULES if rule.is_binding and rule.id != "OP403")
"""What stops a run. OP403 is not among them: the plan looks for the files of the steps that run."""
