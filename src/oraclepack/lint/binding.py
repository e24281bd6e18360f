"""The rules before which nothing runs: all that `run` asks of a pack, without those that advise."""

from oraclepack.lint.rule import Rule
from oraclepack.lint.rules import bash, numbering, outputs, prompts, structure
from oraclepack.lint.suppress import is_binding

_FAMILIES = (structure, numbering, bash, prompts, outputs)

BINDING: tuple[Rule, ...] = tuple(
    rule for family in _FAMILIES for rule in family.RULES if is_binding(rule)
)
