"""The use case behind `upgrade`: propose the strict form of a pack and prove it harmless."""

import difflib
from pathlib import Path

from oraclepack.core.generation import Proof, Upgraded
from oraclepack.generate.proof import prove
from oraclepack.generate.upgrade import upgrade
from oraclepack.lint.engine import lint
from oraclepack.lint.external_checks import facts_for
from oraclepack.lint.facts import Facts
from oraclepack.lint.finding import Severity
from oraclepack.lint.fix import apply_fixes
from oraclepack.lint.registry import RULES
from oraclepack.lint.rule import Subject
from oraclepack.pack.model import Pack
from oraclepack.pack.pack_files import read_pack_text
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.settings.registry import CWD, Settings
from oraclepack.shell.checker import complete
from oraclepack.system.environment import project_root, refuse_to_write_out
from oraclepack.system.files import sweep, write_atomic

_MOST_REASONS = 20
_NUMBERING = ("OP106", "OP107", "OP108")
"""Rules whose fixes touch nothing but headers."""


def upgrade_pack(path: str, settings: Settings, *, write: bool = False) -> Upgraded:
    """What would have to change, whether it may, and the proof; the file only with `write`."""
    file = Path(path)
    if write:
        refuse_to_write_out(file.parent, settings[CWD])
    raw = read_pack_text(file)
    pack = parse_pack(raw, path, complete)
    root = project_root(path, settings[CWD])
    if not _errors(pack, root):
        return Upgraded(path=path, upgradable=True, changed=False)
    numbered = _numbered(raw, pack)
    if not numbered.steps:
        return _refused(path, "there is no bash block with steps")
    proposal = upgrade(numbered)
    if proposal.reasons:
        return _refused(path, *proposal.reasons, notes=proposal.notes)
    after = parse_pack(proposal.text, path, complete)
    proof = prove(pack, parse_pack(proposal.unmoved, path, complete), after, proposal.moved)
    reasons = _errors(after, root)
    if not proof.equal:
        reasons = ("the commands would not be the same afterwards", *reasons)
    if reasons:
        return _refused(path, *reasons, notes=proposal.notes, proof=proof)
    if write:
        sweep(file.parent)
        write_atomic(file, proposal.text.encode())
    return Upgraded(
        path=path,
        upgradable=True,
        changed=True,
        written=write,
        diff=_diff(pack.text, proposal.text, path),
        notes=proposal.notes,
        proof=proof,
    )


def _numbered(raw: str, pack: Pack) -> Pack:
    """The pack with its headers numbered: one like `# 1)` is a mere comment otherwise."""
    found = lint(Subject(pack, Facts()), RULES, strict=True, select=_NUMBERING)
    return parse_pack(apply_fixes(raw, found), pack.path, complete)


def _refused(
    path: str, *reasons: str, notes: tuple[str, ...] = (), proof: Proof | None = None
) -> Upgraded:
    return Upgraded(
        path=path, upgradable=False, changed=False, notes=notes, reasons=reasons, proof=proof
    )


def _errors(pack: Pack, root: Path) -> tuple[str, ...]:
    """What `validate --strict` would refuse."""
    found = lint(Subject(pack, facts_for(pack, root)), RULES, strict=True)
    errors = [finding for finding in found if finding.severity is Severity.ERROR]
    told = (f"{e.rule} at line {e.span.line}: {e.message}; {e.hint}".rstrip("; ") for e in errors)
    return tuple(told)[:_MOST_REASONS]


def _diff(before: str, after: str, path: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), path, f"{path} (strict)", lineterm=""
    )
    return "".join(f"{line}\n" for line in lines)
