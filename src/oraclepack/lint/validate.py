"""Validate packs: read, run the external checks, apply the rules, apply fixes."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.errors import InputError, UsageError
from oraclepack.lint.engine import lint, unknown_words
from oraclepack.lint.external_checks import facts_for, path_facts, quote_facts
from oraclepack.lint.finding import (
    CheckRun,
    Facts,
    Fields,
    Finding,
    Ordering,
    Severity,
    UnreadablePack,
    Validation,
    Validations,
    has_errors,
    in_order,
)
from oraclepack.lint.fix import apply_fixes
from oraclepack.lint.rule import Subject
from oraclepack.lint.rule_registry import BINDING, RULES
from oraclepack.lint.script_checks import RunningChecks, Shellcheck, check_syntax
from oraclepack.pack.model import HEADER_FIELDS, Pack
from oraclepack.pack.pack_files import find_packs, read_pack_text
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.pack.questions import count, roi_disorder
from oraclepack.settings.declaration import OWN
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import CWD, LINT_IGNORE, LINT_SELECT, STRICT, Settings
from oraclepack.shell.checker import Checker, complete
from oraclepack.system.environment import project_root, refuse_to_write_out
from oraclepack.system.files import sweep, write_atomic


def errors_that_stop(
    pack: Pack, root: Path, bash: Checker | None, strictly: Settings | None = None
) -> tuple[Finding, ...]:
    """The errors before which nothing may run; `bash` already reads the block.

    No comment allows them, and no setting hides them. With settings for it, every error of
    `validate --strict` counts as well, as these settings choose the rules.
    """
    facts = Facts(syntax=check_syntax(pack, bash), paths=path_facts(pack, root))
    errors = lint(Subject(pack, facts), BINDING)
    if strictly is None:
        return errors
    full = replace(
        facts, shellcheck=Shellcheck(pack.block).result(), quotes=quote_facts(pack, root)
    )
    findings = _chosen_findings(Subject(pack, full), strictly, strict=True)
    return in_order({*errors, *(one for one in findings if one.severity is Severity.ERROR)})


def _chosen_findings(subject: Subject, settings: Settings, *, strict: bool) -> tuple[Finding, ...]:
    """What the rules say that the settings choose. A project's choice hides no error."""
    select, ignore = settings[LINT_SELECT], settings[LINT_IGNORE]
    findings = lint(subject, RULES, strict=strict, select=select, ignore=ignore)
    own_select, own_ignore = (
        settings[setting] if settings.origin(setting).source in OWN else ()
        for setting in (LINT_SELECT, LINT_IGNORE)
    )
    if (own_select, own_ignore) == (select, ignore):
        return findings
    # Where the project itself asked for --strict, it may also choose what that means.
    strict = strict and settings.origin(STRICT).source in OWN
    all_of_it = lint(subject, RULES, strict=strict, select=own_select, ignore=own_ignore)
    return in_order(
        dict.fromkeys((*findings, *(one for one in all_of_it if one.severity is Severity.ERROR)))
    )


_MOST_PASSES = 8
"""A fix may make another one possible; more rounds than this would be a bug."""


class CheckedPack(msgspec.Struct, frozen=True):
    """A pack with everything that was found in it."""

    pack: Pack
    report: Validation


class ValidateResult(msgspec.Struct, frozen=True):
    """The result of validating several paths."""

    checked: tuple[CheckedPack, ...]
    unreadable: tuple[UnreadablePack, ...] = ()
    data: Validation | Validations | None = msgspec.field(default=None)

    @property
    def ok(self) -> bool:
        return not self.unreadable and all(pack.report.ok for pack in self.checked)


def validate_packs(
    packs: str | Sequence[str], settings: Settings | None = None, *, fix: bool = False
) -> ValidateResult:
    """Check packs, or all packs of directories, against every rule; with `fix` correct them.

    Several may fail without hiding each other.
    """
    paths = (packs,) if isinstance(packs, str) else packs
    settings = settings or load_settings(paths[0])
    _refuse_unknown_rules(settings)
    files = find_packs(paths)
    if len(files) == 1:
        one = check_pack(files[0], settings, fix=fix)
        return ValidateResult((one,), data=one.report)
    checked: list[CheckedPack] = []
    unreadable: list[UnreadablePack] = []
    for file in files:
        try:
            checked.append(check_pack(file, settings, fix=fix))
        except InputError as error:
            unreadable.append(UnreadablePack(file.as_posix(), False, error.message, error.hint))  # noqa: FBT003
    reports: list[Validation | UnreadablePack] = [*(pack.report for pack in checked), *unreadable]
    reports.sort(key=lambda pack: pack.path)
    totals = {
        "packs": len(reports),
        "ok": sum(pack.ok for pack in reports),
        "findings": sum(len(pack.report.findings) for pack in checked),
    }
    return ValidateResult(tuple(checked), tuple(unreadable), Validations(tuple(reports), totals))


def check_pack(file: Path, settings: Settings, *, fix: bool = False) -> CheckedPack:
    """Everything that is to be said about one pack; with `fix`, after fixing it."""
    raw = read_pack_text(file)
    text, checked = _fixed(raw, file, settings, most_passes=_MOST_PASSES if fix else 0)
    if text != raw:
        refuse_to_write_out(file, settings[CWD])
        sweep(file.resolve().parent)
        write_atomic(file, text.encode(), follow=True)
    return checked


class FixPreview(msgspec.Struct, frozen=True):
    """What `validate --fix` would change in a pack."""

    path: str
    diff: str
    """A unified diff; empty when nothing would change."""
    checked: CheckedPack
    """The pack as it would be then."""


def preview_fixes(pack: str | Path, settings: Settings) -> FixPreview:
    """Fix a pack without writing it."""
    file = Path(pack)
    raw = read_pack_text(file)
    text, checked = _fixed(raw, file, settings, most_passes=_MOST_PASSES)
    path = file.as_posix()
    before, after = raw.splitlines(keepends=True), text.splitlines(keepends=True)
    from difflib import unified_diff

    diff = unified_diff(before, after, fromfile=path, tofile=path)
    ended = (line if line.endswith("\n") else f"{line}\n" for line in diff)
    return FixPreview(path, "".join(ended), checked)


def _fixed(
    raw: str, file: Path, settings: Settings, *, most_passes: int
) -> tuple[str, CheckedPack]:
    """The text after so many rounds of fixes, and what is to be said about it then."""
    path = file.as_posix()
    root = project_root(path, settings[CWD])
    text, fixed, checked = raw, 0, _check(raw, path, root, settings)
    for _ in range(most_passes):
        findings = checked.report.findings
        offered = sum(finding.fix is not None for finding in findings)
        after = apply_fixes(text, findings) if offered else text
        if after == text:
            break
        text, fixed, checked = after, fixed + offered, _check(after, path, root, settings)
    return text, CheckedPack(checked.pack, replace(checked.report, fixed=fixed))


def _check(raw: str, path: str, root: Path, settings: Settings) -> CheckedPack:
    # Bash and shellcheck read the block while we do.
    started: list[RunningChecks] = []
    try:
        pack = parse_pack(raw, path, complete, lambda block: started.append(RunningChecks(block)))
    except BaseException:
        for checks in started:
            checks.stop()
        raise
    facts = facts_for(pack, root, started=started[0] if started else None)
    findings = _chosen_findings(Subject(pack, facts), settings, strict=settings[STRICT])
    disorder = roi_disorder(pack.steps)
    has_fields = {
        f"{step.id}": {name: bool(step.attribute(name)) for name in HEADER_FIELDS}
        for step in pack.steps
    }
    has_all = all(all(present.values()) for present in has_fields.values())
    report = Validation(
        path=path,
        ok=not has_errors(findings),
        strict=settings[STRICT],
        pack_hash=pack.pack_hash,
        counts=count(pack),
        ordering=Ordering(not disorder, disorder),
        fields=Fields(has_all, HEADER_FIELDS, has_fields),
        findings=findings,
        checks=tuple(
            CheckRun(check.name, check.status, check.reason)
            for check in (facts.syntax, facts.shellcheck)
        ),
    )
    return CheckedPack(pack, report)


def _refuse_unknown_rules(settings: Settings) -> None:
    for setting in (LINT_SELECT, LINT_IGNORE):
        words = settings[setting]
        for word in unknown_words(words, RULES):
            where = settings.origin(setting).where
            raise UsageError(
                f"{where}: there is no rule {word!r}", hint="`oraclepack explain` lists the rules"
            )
