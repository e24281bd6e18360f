"""Generates packs in tests and reads them back."""

from pathlib import Path

from oraclepack.authoring.generate import GenerateRequest, GenerateResult, generate
from oraclepack.lint.bash_syntax import check_syntax
from oraclepack.lint.engine import lint
from oraclepack.lint.external_checks import facts_for, path_facts
from oraclepack.lint.facts import Facts
from oraclepack.lint.finding import Finding, Severity
from oraclepack.lint.registry import RULES
from oraclepack.lint.rule import Subject
from oraclepack.pack.model import Pack
from oraclepack.pack.parse.read_pack import parse_pack


def made(root: Path, **wishes: object) -> tuple[GenerateResult, Pack]:
    """What `generate` answers in a repository, and the pack it wrote."""
    outcome = generate(GenerateRequest(root=root, **wishes))  # type: ignore[arg-type]
    path = root / outcome.data.path
    return outcome, parse_pack(path.read_text(encoding="utf-8"), path.as_posix())


def strict_findings(root: Path, pack: Pack, *, shellcheck: bool = False) -> list[Finding]:
    """Errors and warnings of `validate --strict`; shellcheck is slow, so it is asked seldom."""
    facts = Facts(syntax=check_syntax(pack), paths=path_facts(pack, root))
    facts = facts_for(pack, root) if shellcheck else facts
    found = lint(Subject(pack, facts), RULES, strict=True)
    return [finding for finding in found if finding.severity is not Severity.ADVICE]
