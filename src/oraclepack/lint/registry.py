"""Every rule there is, in the order of the ids."""

from oraclepack.lint import suppress
from oraclepack.lint.rule import Rule
from oraclepack.lint.rules import (
    attachments,
    bash,
    directives,
    numbering,
    old_bash,
    outputs,
    prompts,
    questions,
    structure,
    tools,
)

_STRUCTURE = (*structure.RULES, *numbering.RULES, *suppress.RULES, *directives.RULES)
_BASH = (*bash.RULES, *prompts.RULES, *old_bash.RULES)

RULES: tuple[Rule, ...] = tuple(
    sorted(
        (
            *_STRUCTURE,
            *_BASH,
            *questions.RULES,
            *attachments.RULES,
            *outputs.RULES,
            *tools.RULES,
        ),
        key=lambda rule: rule.id,
    )
)
