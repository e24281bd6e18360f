"""Asking a family of rules about a piece of bash."""

from collections.abc import Mapping, Sequence

from oraclepack.lint.engine import lint
from oraclepack.lint.finding import Facts, Finding, PathFact, PathKind
from oraclepack.lint.rule import Rule, Subject
from oraclepack.lint.rule_registry import RULES
from tests.packs import a_pack

MISSING = PathFact(PathKind.MISSING)
OUTSIDE = PathFact(PathKind.OUTSIDE)
FOLDER = PathFact(PathKind.DIRECTORY)
FILE = PathFact(PathKind.FILE, 10)
LARGE = PathFact(PathKind.FILE, 2_000_000)


def findings(
    bash: str,
    rules: Sequence[Rule],
    *,
    paths: Mapping[str, PathFact] | None = None,
    strict: bool = False,
    after: str = "",
) -> tuple[Finding, ...]:
    """What the rules say about a pack; a step header is put before bare commands."""
    text = bash if "# 0" in bash else f"# 01) step\n{bash}\n"
    subject = Subject(a_pack(text, after=after), Facts(paths=paths or {}))
    return lint(subject, rules, strict=strict)


def only(*ids: str) -> tuple[Rule, ...]:
    """The rules whose ids begin so."""
    return tuple(rule for rule in RULES if rule.id.startswith(ids))
