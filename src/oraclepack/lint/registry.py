"""Every rule there is, in the order of the ids."""

from oraclepack.lint import suppress
from oraclepack.lint.rule import Rule
from oraclepack.lint.rules import bash, numbering, old_bash, structure

_FAMILIES = (structure, numbering, suppress, bash, old_bash)

RULES: tuple[Rule, ...] = tuple(
    sorted((rule for family in _FAMILIES for rule in family.RULES), key=lambda rule: rule.id)
)
