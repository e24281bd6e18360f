"""Every rule there is, in the order of the ids."""

from oraclepack.lint import suppress
from oraclepack.lint.rule import Rule

RULES: tuple[Rule, ...] = suppress.RULES
