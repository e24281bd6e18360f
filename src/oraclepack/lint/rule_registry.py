"""Every rule there is, in the order of the ids."""

from oraclepack.lint import engine
from oraclepack.lint.engine import is_binding
from oraclepack.lint.rule import Rule
from oraclepack.lint.rules import (
    attachment_rules,
    bash_rules,
    cost_rules,
    directive_rules,
    numbering_rules,
    old_bash_rules,
    output_rules,
    prompt_rules,
    question_rules,
    structure_rules,
    tool_rules,
)

_FAMILIES = (
    *(structure_rules, numbering_rules, bash_rules, prompt_rules, question_rules, output_rules),
)

BINDING: tuple[Rule, ...] = tuple(
    rule for family in _FAMILIES for rule in family.RULES if is_binding(rule)
)
"""What stops a run. OP403 is not among them: the plan looks for the files of the steps that run."""


_STRUCTURE = (*structure_rules.RULES, *numbering_rules.RULES, *engine.RULES, *directive_rules.RULES)
_BASH = (*bash_rules.RULES, *prompt_rules.RULES, *old_bash_rules.RULES)

RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *_STRUCTURE,
            *_BASH,
            *question_rules.RULES,
            *attachment_rules.RULES,
            *output_rules.RULES,
            *tool_rules.RULES,
            *cost_rules.RULES,
        ),
        key=lambda rule: rule.id,
    )
)
