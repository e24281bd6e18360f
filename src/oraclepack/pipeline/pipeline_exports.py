"""What a pipeline writes for CI: JUnit XML, GitHub's summary page and annotations."""

import os
from collections.abc import Iterator, Mapping
from enum import StrEnum
from io import BytesIO
from pathlib import Path

import msgspec

from oraclepack.answers.verification import FailedOutput
from oraclepack.errors import OraclePackError, UsageError
from oraclepack.lint.finding import Finding, Severity
from oraclepack.lint.validate import CheckedPack
from oraclepack.pack.model import PRELUDE, Pack
from oraclepack.pack.questions import short_title
from oraclepack.pack.script import Span
from oraclepack.pipeline.pipeline_report import (
    PipelineReport,
    PipelineStage,
    StageStatus,
    pipeline_summary,
)
from oraclepack.run.run_report import RunReport, StepReport
from oraclepack.shell.logs import last_lines
from oraclepack.system import disk, files
from oraclepack.system.environment import (
    GITHUB_SUMMARY_VARIABLE,
    environment,
    refuse_to_write_out,
)
from oraclepack.system.printable import visible
from oraclepack.system.secrets import Redactor
from oraclepack.view.report.github import annotations, summary

_SPACES = frozenset({0x9, 0xA, 0xD})
_LETTERS = ((0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF))
"""What XML 1.0 can hold."""
_ROLLED_BACK = "it went well, and the rollback took it back"


class CaseResult(StrEnum):
    """How a case ended, in the words of the format."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


class Case(msgspec.Struct, frozen=True):
    """One case: a step, or an error that belongs to no step."""

    name: str
    ending: CaseResult = CaseResult.PASSED
    kind: str = ""
    """A stable code of the error."""
    message: str = ""
    text: str = ""
    seconds: float = 0.0


def cases(
    report: PipelineReport, titles: Mapping[str, str], tails: Mapping[str, str]
) -> tuple[Case, ...]:
    """The cases of a pipeline; `tails` are the ends of the logs of failed steps."""
    lacks: dict[str, list[str]] = {}
    for failure in report.verify.failures if report.verify else ():
        lacks.setdefault(failure.step_id, []).append(_lack(failure))
    run = report.run
    steps = [
        _step(step, run, titles, tails.get(step.step_id, ""), lacks.get(step.step_id, []))
        for step in (run.steps if run else ())
    ]
    return (*_invalid(report), *_prelude(report, tails), *steps, *_afterwards(report))


def junit(report: PipelineReport, listed: tuple[Case, ...]) -> bytes:
    """The XML of these cases, in one suite named after the pack."""
    # Imported here: only this function needs the XML library.
    import junitparser as xml

    kinds = {
        CaseResult.FAILURE: xml.Failure,
        CaseResult.ERROR: xml.Error,
        CaseResult.SKIPPED: xml.Skipped,
    }
    suite = xml.TestSuite(_line(report.pack))
    if report.run is not None:
        suite.add_property("run_id", report.run.run_id)
    for case in listed:
        written = xml.TestCase(_line(case.name), _line(report.pack), round(case.seconds, 3))
        if case.ending in kinds:
            result = kinds[case.ending](_line(case.message), case.kind)
            if case.text:
                result.text = _clean(case.text)
            written.result = [result]
        suite.add_testcase(written)
    whole = xml.JUnitXml("oraclepack")
    whole.add_testsuite(suite)
    whole.update_statistics()  # type: ignore[no-untyped-call]
    output = BytesIO()
    whole.write(output, pretty=True)
    return output.getvalue()


def _step(
    step: StepReport, run: RunReport | None, titles: Mapping[str, str], tail: str, lacks: list[str]
) -> Case:
    assert run is not None
    name = f"{step.step_id} {titles.get(step.step_id, '')}".strip()
    case = Case(name, seconds=(step.duration_ms or 0) / 1000)
    if step.step_id in run.failed_steps:
        kind, message = step.error or "FAILED", step.message or "the step failed"
        return _as(case, CaseResult.FAILURE, kind, message, tail)
    if step.step_id in run.rolled_back_steps:
        return _as(case, CaseResult.SKIPPED, "rolled_back", _ROLLED_BACK)
    if lacks:
        return _as(case, CaseResult.FAILURE, "CONTRACT", lacks[0], "\n".join(lacks))
    if step.status in {"ok", "accepted"}:
        return case
    unasked = step.decision == "not_selected" or step.status == "skipped"
    reason = step.reason if unasked else f"not run: {step.reason}"
    return _as(case, CaseResult.SKIPPED, step.status, reason)


def _as(case: Case, ending: CaseResult, kind: str, message: str, text: str = "") -> Case:
    return msgspec.structs.replace(case, ending=ending, kind=kind, message=message, text=text)


def _invalid(report: PipelineReport) -> Iterator[Case]:
    if report.status(PipelineStage.VALIDATE) is not StageStatus.FAILED or report.validate is None:
        return
    errors = [one for one in report.validate.findings if one.severity == "error"]
    lines = [f"{report.pack}:{one.line}:{one.column} {one.rule} {one.message}" for one in errors]
    yield Case(
        "validate", CaseResult.ERROR, "INVALID_PACK", report.stages[0].reason, "\n".join(lines)
    )


def _prelude(report: PipelineReport, tails: Mapping[str, str]) -> Iterator[Case]:
    if report.failed_step == PRELUDE:
        text = tails.get(PRELUDE, "")
        yield Case(PRELUDE, CaseResult.ERROR, "PRELUDE", "the prelude failed", text)


def _afterwards(report: PipelineReport) -> Iterator[Case]:
    last = report.stages[-1]
    if last.status is StageStatus.FAILED:
        yield Case(last.stage, CaseResult.ERROR, "PARTIAL_FAILURE", last.reason)
    if report.policy is not None and report.policy.applies and not report.policy.met:
        yield Case("policy", CaseResult.FAILURE, "POLICY", "; ".join(report.policy.shortfalls))


def _lack(failure: FailedOutput) -> str:
    return f"{failure.path}: {failure.description}"


def _line(text: str) -> str:
    """What an attribute can hold: one line."""
    return _clean(" ".join(text.split()))


def _clean(text: str) -> str:
    """Without characters that XML cannot hold, or that would control a terminal."""
    return "".join(sign if _is_allowed(sign) else "\N{REPLACEMENT CHARACTER}" for sign in text)


def _is_allowed(sign: str) -> bool:
    code = ord(sign)
    if code in _SPACES:
        return True
    return visible(sign) == sign and any(low <= code <= high for low, high in _LETTERS)


def append(path: Path, text: str) -> str | None:
    """Append to a file; returns why it failed, or nothing."""
    try:
        descriptor = disk.open_append(path, 0o666)
        try:
            disk.write(descriptor, text.encode("utf-8", "backslashreplace"), path)
        finally:
            os.close(descriptor)
    except OSError as trouble:
        return f"cannot write to {path}: {trouble.strerror or trouble}"
    return None


def append_run_summary(report: RunReport, pack: Pack) -> tuple[str, ...]:
    """Append a table to the page, where there is one; trouble with it is only a warning."""
    variables = environment()
    place = variables.get(GITHUB_SUMMARY_VARIABLE)
    if not place:
        return ()
    redactor = Redactor.of(variables)
    titles = {str(step.id): redactor.clean(short_title(step)) for step in pack.steps}
    text = summary(redactor.clean_record(report), pack.path, titles)
    trouble = append(Path(place), text)
    return () if trouble is None else (f"{GITHUB_SUMMARY_VARIABLE}: {trouble}",)


_LINES = 20
_ON_GITHUB = "GITHUB_ACTIONS"


def refuse_bad_place(path: Path, cwd: str) -> None:
    """Say so before anything runs when a report could never be written there."""
    refuse_to_write_out(path.parent, cwd)
    if path.is_dir():
        raise UsageError(f"--junit {path} is a directory", hint="name a file in it")


def write_junit(
    path: Path, report: PipelineReport, pack: Pack | None, root: Path
) -> tuple[str, ...]:
    """Write the JUnit file; trouble with it is only a warning, since the work is done."""
    redactor = Redactor.of(environment())
    titles = {str(step.id): short_title(step) for step in pack.steps} if pack else {}
    tails = dict(_tails(report, root))
    clean = redactor.clean_record(report)
    listed = cases(clean, _cleaned(redactor, titles), _cleaned(redactor, tails))
    try:
        files.make_directories(path.absolute().parent)
        files.write_atomic(path.absolute(), junit(clean, listed), mode=files.PUBLIC_FILE)
    except OraclePackError as trouble:
        return (f"--junit: {trouble.message}",)
    return ()


def append_pipeline_summary(report: PipelineReport, pack: Pack | None) -> tuple[str, ...]:
    """Append to GitHub's summary page, where there is one: the stages, then the steps."""
    variables = environment()
    place = variables.get(GITHUB_SUMMARY_VARIABLE)
    if not place:
        return ()
    text = pipeline_summary(Redactor.of(variables).clean_record(report))
    trouble = append(Path(place), text)
    if trouble is not None:
        return (f"{GITHUB_SUMMARY_VARIABLE}: {trouble}",)
    return (
        append_run_summary(report.run, pack) if report.run is not None and pack is not None else ()
    )


def annotations_for_github(
    report: PipelineReport, checked: CheckedPack | None, pack: Pack | None
) -> str:
    """Workflow commands for every fault that has a place in the pack; empty elsewhere."""
    variables = environment()
    if variables.get(_ON_GITHUB) != "true":
        return ""
    findings = [*(checked.report.findings if checked else ()), *_faults(report, pack)]
    return Redactor.of(variables).clean(annotations({report.pack: findings}))


def _faults(report: PipelineReport, pack: Pack | None) -> Iterator[Finding]:
    """What went wrong with the steps, each at its header; the policy at the top of the pack."""
    places = {str(step.id): step.header.span for step in pack.steps} if pack else {}
    top = Span.at(1)
    for step in report.run.steps if report.run else ():
        if step.step_id in report.failed_steps:
            message = f"{step.error or 'failed'}: {step.message or 'the step failed'}"
            yield _fault("step-failed", places.get(step.step_id, top), message, step.step_id)
    for lack in report.verify.failures if report.verify else ():
        what = lack.io_error or f"missing sections: {', '.join(lack.missing_sections)}"
        place = places.get(lack.step_id, top)
        yield _fault("contract-not-met", place, f"{lack.path}: {what}", lack.step_id)
    if report.policy is not None and report.policy.applies:
        for shortfall in report.policy.shortfalls:
            yield _fault("policy-not-met", top, shortfall, None)


def _fault(name: str, span: Span, message: str, step: str | None) -> Finding:
    where = (span.line, span.column, span.end_line, span.end_column)
    return Finding("oraclepack", name, Severity.ERROR, step, *where, message)


def _tails(report: PipelineReport, root: Path) -> Iterator[tuple[str, str]]:
    """The ends of the logs of what failed."""
    run = report.run
    if run is None:
        return
    if run.failed_step == PRELUDE:
        yield PRELUDE, _tail(root / run.run_dir, run.prelude_stderr_log, run.prelude_stdout_log)
    for step in run.steps:
        if step.step_id in run.failed_steps:
            yield step.step_id, _tail(root / run.run_dir, step.stderr_log, step.stdout_log)


def _tail(run_dir: Path, *logs: str | None) -> str:
    """The end of the first log that says something."""
    lines = (last_lines(run_dir / log, _LINES) for log in logs if log)
    return "\n".join(next(filter(None, lines), ()))


def _cleaned(redactor: Redactor, texts: Mapping[str, str]) -> dict[str, str]:
    return {name: redactor.clean(text) for name, text in texts.items()}
