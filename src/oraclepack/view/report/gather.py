"""Reads a run, its answers, its work and its logs for a report. Starts no process, writes nothing.

Whatever is missing or damaged becomes a remark of the report: any run can be shown, up to where it
is damaged.
"""

import os
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack import __version__
from oraclepack.answers.answer_reader import open_sections
from oraclepack.answers.statements import body_lines
from oraclepack.errors import InputError
from oraclepack.journal import events as j
from oraclepack.journal.costs import total_cost
from oraclepack.journal.line_format import AnyEvent
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.step_state import Invocation, StepState
from oraclepack.lint.engine import lint
from oraclepack.lint.facts import Facts
from oraclepack.lint.rule import Subject
from oraclepack.lint.rule_registry import RULES
from oraclepack.pack.answer_sections import Section
from oraclepack.pack.model import Pack
from oraclepack.system.environment import environment
from oraclepack.system.files import open_regular
from oraclepack.system.path_jail import plain_file
from oraclepack.system.printable import readable_record
from oraclepack.system.secrets import Redactor
from oraclepack.system.text_limits import ANSWER
from oraclepack.view.report.attention import attention_of, is_capture
from oraclepack.view.report.call_times import RunTime, calls_of, sessions_of
from oraclepack.view.report.data import (
    REPORT_VERSION,
    ForecastRow,
    LogExcerpt,
    MoneyRow,
    OpenDecision,
    ReportAnswer,
    ReportData,
    ReportFinding,
    ReportStep,
    SectionStart,
)
from oraclepack.view.report.quotes import SourceReader
from oraclepack.view.run import RunView, read_view
from oraclepack.view.step import StepView, shaped
from oraclepack.work.actionize import earlier_backlog
from oraclepack.work.backlog import AnsweredStep, AnswerPart, PackAnswers, Record
from oraclepack.work.engine_actionize import WorkItems, actionize
from oraclepack.work.load_answers import FOLDER, answers_of_state
from oraclepack.work.work_pages import by_worth, read_ticks

LOG_BYTES, FAILED_LOG_BYTES = 2_000, 8_000
"""Of the end of each log."""
MOST_LOG_BYTES = 200_000
"""Of all logs together."""


class GatheredRun(msgspec.Struct, frozen=True):
    """A run as it was read: what the journal says, and what its answers contain."""

    view: RunView
    answers: PackAnswers | None = None
    work: WorkItems | None = None
    warnings: tuple[str, ...] = ()


def read_run(run: RunDir) -> GatheredRun:
    """Everything a report or a comparison needs of a run."""
    view = read_view(run, with_pack=True)
    if view.created is None and view.damage is not None:
        return GatheredRun(view)
    warnings = (view.pack_note,) if view.pack_note else ()
    try:
        loaded = answers_of_state(
            run.path, run.root, view.state, is_foreign=view.foreign is not None
        )
    except InputError as trouble:
        return GatheredRun(view, warnings=(*warnings, trouble.message))
    more = (one for one in loaded.warnings if one not in warnings)
    return GatheredRun(view, loaded.answers, actionize(loaded.answers), (*warnings, *more))


def gather_report(run: RunDir) -> ReportData:
    """What a report shows of a run, without secrets."""
    gathered = read_run(run)
    data = _data(gathered)
    cleaned = Redactor.of(environment()).clean_record(data)
    return readable_record(cleaned)


def _data(gathered: GatheredRun) -> ReportData:
    view = gathered.view
    clock = RunTime.of(view.events)
    data = shaped(
        ReportData,
        view,
        view.created,
        version=REPORT_VERSION,
        program=__version__,
        run_name=view.name,
        pack_path=view.created.pack_path if view.created else "",
        pack_hash=view.created.pack_hash if view.created else "",
        worked_ms=view.duration_ms,
        span_ms=clock.span_ms,
        is_rehearsal=view.rehearsal or _rehearsed(gathered),
        foreign=view.foreign.reason if view.foreign else None,
        is_held=view.locked_by is not None,
        steps=tuple(map(_Steps(gathered, clock).step, view.steps)),
        records=_records(gathered.work),
        issues=gathered.work.issues if gathered.work else (),
        ticked=_ticked(gathered),
        sessions=sessions_of(view.state, clock),
        by_model=_money(view.state, "model"),
        by_provider=_money(view.state, "provider"),
        forecasts=_forecasts(view),
        reserved=_reserved(view.events),
        decisions=_decisions(view),
        settings=_settings(view.state),
        warnings=(*gathered.warnings, *_notices(view)),
        pack_text=view.pack.text if view.pack else "",
        pack_note="" if view.pack else next(iter(gathered.warnings), "the pack is not known"),
        findings=_findings(view.pack),
    )
    return replace(data, attention=attention_of(data))


def _records(work: WorkItems | None) -> tuple[Record, ...]:
    distinct = (one for one in work.records if one.same_as is None) if work else ()
    return tuple(sorted(distinct, key=by_worth))


def _ticked(gathered: GatheredRun) -> tuple[str, ...]:
    """Tasks that a person ticked; a foreign backlog is not read."""
    if gathered.view.foreign is not None:
        return ()
    return tuple(sorted(read_ticks(earlier_backlog(gathered.view.run.path / FOLDER))))


def _money(state: RunState, attribute: str) -> tuple[MoneyRow, ...]:
    """The cost of all calls by model or by provider."""
    groups: dict[str, list[Invocation]] = {}
    for step in state.steps.values():
        for call in step.invocations:
            record = call.outcome or call.intent
            name = getattr(record, attribute) if record is not None else None
            groups.setdefault(name or "unknown", []).append(call)
    rows = (MoneyRow(name, total_cost(groups[name])) for name in sorted(groups))
    return tuple(row for row in rows if row.cost.calls or row.cost.saved_calls)


def _forecasts(view: RunView) -> tuple[ForecastRow, ...]:
    """The forecast of each command beside its cost: up to the next one, or up to now."""
    made = [session.forecast for session in view.state.sessions if session.forecast is not None]
    ends = [*(forecast.spent_before for forecast in made[1:]), view.cost.cost]
    return tuple(
        shaped(
            ForecastRow,
            forecast,
            actual=None if end is None else end - (forecast.spent_before or 0),
        )
        for forecast, end in zip(made, ends, strict=False)
    )


def _reserved(events: Sequence[AnyEvent]) -> Decimal | None:
    """The worst case of all tries that were reserved; None where no budget was asked."""
    made = [event for event in events if isinstance(event, j.BudgetReserved)]
    known = [event.cost for event in made if "cost" not in event.unknown]
    return sum(known, Decimal(0)) if known else None


def _decisions(view: RunView) -> tuple[OpenDecision, ...]:
    """What the command that works on the run asks a person."""
    if view.locked_by is None:
        return ()
    return tuple(OpenDecision(one.step, one.question, one.options) for one in view.state.decisions)


def _settings(state: RunState) -> tuple[tuple[str, str], ...]:
    values = state.created.settings if state.created else {}
    return tuple((name, _display_path(values[name])) for name in sorted(values))


def _display_path(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _notices(view: RunView) -> Iterator[str]:
    for one in view.warnings if view.created else ():
        yield f"step {one.step_id}: {one.message}" if one.step_id else one.message


def _findings(pack: Pack | None) -> tuple[ReportFinding, ...]:
    """What the rules say of the text of the pack; nothing outside of it is asked."""
    findings = lint(Subject(pack, Facts()), RULES) if pack is not None else ()
    return tuple(shaped(ReportFinding, one) for one in findings)


class _Steps:
    """Makes the steps of a report."""

    def __init__(self, gathered: GatheredRun, clock: RunTime) -> None:
        view = gathered.view
        self._found = gathered
        self._view = view
        self._answered = {
            step.question.step_id: step
            for step in (gathered.answers.steps if gathered.answers else ())
        }
        self._calls = calls_of(view.events, view.state, clock)
        self._sources = SourceReader(
            view.run.root, quotes=view.foreign is None and not _rehearsed(gathered)
        )
        self._log_bytes = MOST_LOG_BYTES

    def step(self, entry: StepView) -> ReportStep:
        answered = self._answered.get(entry.step_id)
        step = self._view.pack.step(entry.step_id) if self._view.pack else None
        prompts = (call.prompt.text for call in step.calls if call.prompt) if step else ()
        error = entry.last_error
        question = answered.question if answered else None
        check = entry.verification
        return shaped(
            ReportStep,
            entry,
            title=(question.title if question else "") or entry.title or "",
            question=question.text if question else "",
            prompts=tuple(dict.fromkeys(text for text in prompts if text.strip())),
            reason=(error.message if error else "") or entry.skip_reason or "",
            error_code=error.code if error else "",
            is_checked=check is not None,
            failures=check.failures if check else (),
            doubts=check.doubts if check else (),
            accepted=tuple(_accepted(one.path, one.reason) for one in entry.accepted),
            answers=tuple(self._answers(entry, answered)) if answered else (),
            attached=tuple(one.path for one in answered.attached or ()) if answered else (),
            changed_files=entry.changes.files if entry.changes else (),
            calls=self._calls.get(entry.step_id, ()),
            logs=tuple(self._logs(entry, self._view.state.step(entry.step_id))),
        )

    def _answers(self, entry: StepView, answered: AnsweredStep) -> Iterator[ReportAnswer]:
        recorded = {output.path: output for output in entry.outputs}
        for part in answered.parts:
            data = part.text.encode()
            output = recorded.get(part.path)
            excess = ANSWER.excess(part.text)
            text = part.text.replace("\r\n", "\n")
            yield ReportAnswer(
                path=part.path,
                text="" if excess else text,
                sha256=output.sha256 if output else "",
                bytes=len(data),
                from_cache=bool(output and output.from_cache),
                is_capture=is_capture(text),
                is_used=output is not None,
                is_edited=any(part.path in one for one in self._edited()),
                cut=self._cut(entry.step_id),
                omitted=excess or "",
                sections=() if excess else tuple(_sections(part)),
                quotes=() if excess else self._sources.quotes_of(text, answered),
            )

    def _edited(self) -> Iterator[str]:
        return (one for one in self._found.warnings if "not what the run recorded" in one)

    def _cut(self, step_id: str) -> str:
        work = self._found.work
        issues = work.issues if work else ()
        return next((one.cut for one in issues if one.step_id == step_id), "")

    def _logs(self, entry: StepView, state: StepState) -> Iterator[LogExcerpt]:
        wanted = FAILED_LOG_BYTES if state.has_bad_attempt else LOG_BYTES
        for path in filter(None, (entry.stdout_log, entry.stderr_log)):
            place = plain_file(self._view.run.path, path)
            tail = _tail(place, min(wanted, self._log_bytes)) if place is not None else None
            if tail is None or not tail[0]:
                continue
            size, data = tail
            self._log_bytes -= len(data)
            yield LogExcerpt(
                path=path,
                bytes=size,
                text=data.decode("utf-8", "replace"),
                shown_bytes=len(data),
                attempt=entry.attempts,
            )


def _rehearsed(gathered: GatheredRun) -> bool:
    return bool(gathered.answers and gathered.answers.rehearsal)


def _accepted(path: str, reason: str) -> str:
    return f"{path}: {reason}" if reason else path


def _sections(part: AnswerPart) -> Iterator[SectionStart]:
    """The sections of an answer in its order, each where it begins first."""
    lines = body_lines(part.text.replace("\r\n", "\n").split("\n"))
    known: set[Section] = set()
    for opened in open_sections(lines, part.section or Section.DIRECT_ANSWER):
        line = opened.line or next((one.number for one in opened.body if one.text.strip()), 0)
        if line and opened.section not in known:
            known.add(opened.section)
            yield SectionStart(opened.section, opened.section.heading, line)


def _tail(place: Path, most: int) -> tuple[int, bytes] | None:
    """The size of a log and its last bytes, from the beginning of a line."""
    try:
        with os.fdopen(open_regular(place), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - most))
            data = file.read(most)
    except OSError:
        return None
    if len(data) < size and b"\n" in data:
        data = data.partition(b"\n")[2]
    return size, data
