"""What a pipeline leaves for its surroundings: JUnit XML, GitHub's summary page and annotations."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from oraclepack.adapters import step_summary
from oraclepack.app.step_summary import VARIABLE, tell_github
from oraclepack.core.pipeline_report import PipelineTold
from oraclepack.errors import OraclePackError, UsageError
from oraclepack.lint.finding import Finding, Severity
from oraclepack.lint.validate import Checked
from oraclepack.pack.model import PRELUDE, Pack
from oraclepack.pack.questions import title_of
from oraclepack.pack.script import Span
from oraclepack.shell.log_files import last_lines
from oraclepack.system import environment as surroundings
from oraclepack.system import files
from oraclepack.system.environment import refuse_to_write_out
from oraclepack.system.secrets import Redactor

_LINES = 20
_ON_GITHUB = "GITHUB_ACTIONS"


def refuse_bad_place(path: Path, cwd: str) -> None:
    """Say so before anything runs when a report could never be written there."""
    refuse_to_write_out(path.parent, cwd)
    if path.is_dir():
        raise UsageError(f"--junit {path} is a directory", hint="name a file in it")


def write_junit(path: Path, told: PipelineTold, pack: Pack | None, root: Path) -> tuple[str, ...]:
    """Write the JUnit file; trouble with it is only a warning, since the work is done."""
    from oraclepack.report.junit import cases, junit  # noqa: PLC0415 - only who asks for it

    redactor = Redactor.of(surroundings.environment())
    titles = {str(step.id): title_of(step) for step in pack.steps} if pack else {}
    tails = dict(_tails(told, root))
    clean = redactor.clean_record(told)
    listed = cases(clean, _cleaned(redactor, titles), _cleaned(redactor, tails))
    try:
        files.make_directories(path.absolute().parent)
        files.write_atomic(path.absolute(), junit(clean, listed), mode=files.PUBLIC_FILE)
    except OraclePackError as trouble:
        return (f"--junit: {trouble.message}",)
    return ()


def tell_summary(told: PipelineTold, pack: Pack | None) -> tuple[str, ...]:
    """Append to GitHub's summary page, where there is one: the stages, then the steps."""
    environment = surroundings.environment()
    place = environment.get(VARIABLE)
    if not place:
        return ()
    from oraclepack.report.pipeline_summary import pipeline_summary  # noqa: PLC0415 - on GitHub

    text = pipeline_summary(Redactor.of(environment).clean_record(told))
    trouble = step_summary.append(Path(place), text)
    if trouble is not None:
        return (f"{VARIABLE}: {trouble}",)
    return tell_github(told.run, pack) if told.run is not None and pack is not None else ()


def annotations_for_github(told: PipelineTold, checked: Checked | None, pack: Pack | None) -> str:
    """Workflow commands for every fault that has a place in the pack; empty elsewhere."""
    environment = surroundings.environment()
    if environment.get(_ON_GITHUB) != "true":
        return ""
    from oraclepack.report.github import annotations  # noqa: PLC0415 - only on GitHub

    found = [*(checked.findings if checked else ()), *_faults(told, pack)]
    return Redactor.of(environment).clean(annotations({told.pack: found}))


def _faults(told: PipelineTold, pack: Pack | None) -> Iterator[Finding]:
    """What went wrong with the steps, each at its header; the policy at the top of the pack."""
    places = {str(step.id): step.header.span for step in pack.steps} if pack else {}
    top = Span.at(1)
    for step in told.run.steps if told.run else ():
        if step.step_id in told.failed_steps:
            said = f"{step.error or 'failed'}: {step.message or 'the step failed'}"
            yield _fault("step-failed", places.get(step.step_id, top), said, step.step_id)
    for lack in told.verify.failures if told.verify else ():
        what = lack.io_error or f"missing sections: {', '.join(lack.missing_sections)}"
        place = places.get(lack.step_id, top)
        yield _fault("contract-not-met", place, f"{lack.path}: {what}", lack.step_id)
    if told.policy is not None and told.policy.applies:
        for shortfall in told.policy.shortfalls:
            yield _fault("policy-not-met", top, shortfall, None)


def _fault(name: str, span: Span, message: str, step: str | None) -> Finding:
    return Finding("oraclepack", name, Severity.ERROR, span, message, step=step)


def _tails(told: PipelineTold, root: Path) -> Iterator[tuple[str, str]]:
    """The ends of the logs of what failed."""
    run = told.run
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
