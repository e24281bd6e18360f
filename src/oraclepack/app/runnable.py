"""Whether a pack can be run at all: what `run` asks before it begins one."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from oraclepack.adapters.path_facts import path_facts
from oraclepack.adapters.syntax import check_syntax
from oraclepack.core.facts import Facts
from oraclepack.core.finding import Finding, Severity, in_order
from oraclepack.lint.binding import BINDING
from oraclepack.lint.engine import lint
from oraclepack.lint.rule import Subject
from oraclepack.pack.model import Pack
from oraclepack.settings.registry import LINT_IGNORE, LINT_SELECT, Settings
from oraclepack.shell.checker import Checker


def errors_that_stop(
    pack: Pack, root: Path, bash: Checker | None, strictly: Settings | None = None
) -> tuple[Finding, ...]:
    """The errors before which nothing may run; `bash` already reads the block.

    No comment allows them, and no setting hides them. With settings for it, every error of
    `validate --strict` counts as well, as these settings choose the rules.
    """
    facts = Facts(syntax=check_syntax(pack, bash), paths=path_facts(pack, root))
    errors = lint(Subject(pack, facts), BINDING)
    return errors if strictly is None else in_order({*errors, *_strict(pack, facts, strictly)})


def _strict(pack: Pack, facts: Facts, settings: Settings) -> Iterator[Finding]:
    from oraclepack.adapters.shellcheck import Shellcheck  # noqa: PLC0415 - only under --strict
    from oraclepack.lint.registry import RULES  # noqa: PLC0415 - likewise

    full = msgspec.structs.replace(facts, shellcheck=Shellcheck(pack.block).result())
    select, ignore = settings[LINT_SELECT], settings[LINT_IGNORE]
    found = lint(Subject(pack, full), RULES, strict=True, select=select, ignore=ignore)
    return (finding for finding in found if finding.severity is Severity.ERROR)
