"""Whether a pack can be run at all: what `run` asks before it begins one."""

from pathlib import Path

from oraclepack.adapters.checker import Checker
from oraclepack.adapters.path_facts import path_facts
from oraclepack.adapters.syntax import check_syntax
from oraclepack.core.facts import Facts
from oraclepack.core.finding import Finding
from oraclepack.core.pack import Pack
from oraclepack.lint.binding import BINDING
from oraclepack.lint.engine import lint
from oraclepack.lint.rule import Subject


def errors_that_stop(pack: Pack, root: Path, bash: Checker | None) -> tuple[Finding, ...]:
    """The errors before which nothing may run; `bash` already reads the block.

    No comment allows them, and no setting hides them.
    """
    facts = Facts(syntax=check_syntax(pack, bash), paths=path_facts(pack, root))
    return lint(Subject(pack, facts), BINDING)
