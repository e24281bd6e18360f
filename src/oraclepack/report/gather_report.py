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
from oraclepack.errors import InputError, OraclePackError
from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.activity import open_decisions
from oraclepack.journal.costs import total_cost
from oraclepack.journal.line_format import AnyEvent
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState, fold
from oraclepack.journal.step_state import Invocation, StepState
from oraclepack.lint.engine import lint
from oraclepack.lint.facts import Facts
from oraclepack.lint.rule import Subject
from oraclepack.lint.rule_registry import RULES
from oraclepack.pack.answer_sections import Section
from oraclepack.pack.model import PRELUDE, Pack
from oraclepack.pack.pack_files import read_pack
from oraclepack.report.attention import attention_of, is_capture
from oraclepack.report.call_times import RunTime, calls_of, sessions_of
from oraclepack.report.report_data import (
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
from oraclepack.report.source_quotes import SourceReader
from oraclepack.system.environment import environment
from oraclepack.system.files import open_regular
from oraclepack.system.path_jail import plain_file
from oraclepack.system.printable import readable_record
from oraclepack.system.secrets import Redactor
from oraclepack.system.text_limits import ANSWER
from oraclepack.view.manifests import Notice, StepEntry, run_manifest, steps_manifest
from oraclepack.view.past_runs import InspectedRun, RunListEntry, listing_of, step_word
from oraclepack.work.actionize import FOLDER, earlier_backlog
from oraclepack.work.backlog import AnsweredStep, AnswerPart, PackAnswers, Record
from oraclepack.work.engine_actionize import WorkItems, actionize
from oraclepack.work.load_answers import answers_of_state
from oraclepack.work.work_pages import by_worth, read_ticks

LOG_BYTES, FAILED_LOG_BYTES = 2_000, 8_000
"""Of the end of each log."""
MOST_LOG_BYTES = 200_000
"""Of all logs together."""


class GatheredRun(msgspec.Struct, frozen=True):
    """A run as it was read: what the journal says, and what its answers contain."""

    run: RunDir
    state: RunState
    events: tuple[AnyEvent, ...]
    listing: RunListEntry
    pack: Pack | None
    answers: PackAnswers | None
    work: WorkItems | None
    warnings: tuple[str, ...] = ()


def read_run(run: RunDir) -> GatheredRun:
    """Everything a report or a comparison needs of a run."""
    try:
        examined = run_dir.examine(run)
    except InputError as trouble:
        looked = InspectedRun(run, damage=trouble.message)
        return GatheredRun(run, looked.state, (), listing_of(looked), None, None, None)
    damage = examined.reading.damage
    state = fold(examined.reading.events)
    looked = InspectedRun(
        run,
        state,
        f"line {damage.line}: {damage.reason}" if damage else None,
        len(examined.reading.events),
        examined.foreign,
    )
    listing = listing_of(looked)
    pack, note = _pack_of(run.root, state)
    warnings: tuple[str, ...] = (note,) if note else ()
    answers, work = None, None
    try:
        loaded = answers_of_state(
            run.path, run.root, state, is_foreign=examined.foreign is not None
        )
    except InputError as trouble:
        warnings += (trouble.message,)
    else:
        answers = loaded.answers
        work = actionize(answers)
        warnings += tuple(one for one in loaded.warnings if one not in warnings)
    return GatheredRun(
        run, state, tuple(examined.reading.events), listing, pack, answers, work, warnings
    )


def gather_report(run: RunDir) -> ReportData:
    """What a report shows of a run, without secrets."""
    gathered = read_run(run)
    data = _data(gathered)
    cleaned = Redactor.of(environment()).clean_record(data)
    return readable_record(cleaned)


def _data(gathered: GatheredRun) -> ReportData:
    state, listing = gathered.state, gathered.listing
    manifest = run_manifest(state)
    clock = RunTime.of(gathered.events)
    created = state.created
    data = ReportData(
        program=__version__,
        run_id=gathered.run.run_id,
        run_name=gathered.run.name,
        pack_path=created.pack_path if created else "",
        pack_hash=created.pack_hash if created else "",
        status=listing.status,
        created_at=listing.created_at,
        finished_at=listing.finished_at,
        worked_ms=listing.duration_ms,
        span_ms=clock.span_ms,
        git_sha=created.git_sha if created else None,
        git_dirty=created.git_dirty if created else None,
        engine=created.engine if created else None,
        oraclepack_version=created.oraclepack_version if created else None,
        oracle_version=created.oracle_version if created else None,
        models=manifest.models if manifest else (),
        providers=manifest.providers if manifest else (),
        is_rehearsal=listing.rehearsal or bool(gathered.answers and gathered.answers.rehearsal),
        foreign=listing.foreign,
        damage=listing.damage,
        is_held=listing.holder is not None,
        steps=tuple(_Steps(gathered, clock).all()),
        records=_records(gathered.work),
        issues=gathered.work.issues if gathered.work else (),
        ticked=_ticked(gathered),
        sessions=sessions_of(state, clock),
        cost=state.cost(),
        by_model=_money(state, "model"),
        by_provider=_money(state, "provider"),
        forecasts=_forecasts(state),
        reserved=_reserved(gathered.events),
        decisions=_decisions(gathered),
        settings=_settings(state),
        warnings=(*gathered.warnings, *_notices(manifest.warnings if manifest else ())),
        pack_text=gathered.pack.text if gathered.pack else "",
        pack_note="" if gathered.pack else next(iter(gathered.warnings), "the pack is not known"),
        findings=_findings(gathered.pack),
    )
    return replace(data, attention=attention_of(data))


def _pack_of(root: Path, state: RunState) -> tuple[Pack | None, str]:
    """The pack of a run, if it is still what it was; else why not."""
    if state.created is None:
        return None, ""
    path = state.created.pack_path
    try:
        pack = read_pack(root / path)
    except OraclePackError as trouble:
        return None, f"the pack is not read: {trouble.message}"
    if pack.pack_hash != state.created.pack_hash:
        return None, f"{path} was edited since the run; what the run recorded is used"
    return pack, ""


def _records(work: WorkItems | None) -> tuple[Record, ...]:
    distinct = (one for one in work.records if one.same_as is None) if work else ()
    return tuple(sorted(distinct, key=by_worth))


def _ticked(gathered: GatheredRun) -> tuple[str, ...]:
    """Tasks that a person ticked; a foreign backlog is not read."""
    if gathered.listing.foreign is not None:
        return ()
    return tuple(sorted(read_ticks(earlier_backlog(gathered.run.path / FOLDER))))


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


def _forecasts(state: RunState) -> tuple[ForecastRow, ...]:
    """The forecast of each command beside its cost: up to the next one, or up to now."""
    made = [session.forecast for session in state.sessions if session.forecast is not None]
    ends = [*(forecast.spent_before for forecast in made[1:]), state.cost().cost]
    return tuple(
        ForecastRow(
            at=forecast.at,
            to_ask=forecast.to_ask,
            low=forecast.low,
            likely=forecast.likely,
            high=forecast.high,
            actual=None if end is None else end - (forecast.spent_before or 0),
        )
        for forecast, end in zip(made, ends, strict=False)
    )


def _reserved(events: Sequence[AnyEvent]) -> Decimal | None:
    """The worst case of all tries that were reserved; None where no budget was asked."""
    made = [event for event in events if isinstance(event, j.BudgetReserved)]
    known = [event.cost for event in made if "cost" not in event.unknown]
    return sum(known, Decimal(0)) if known else None


def _decisions(gathered: GatheredRun) -> tuple[OpenDecision, ...]:
    """What the command that works on the run asks a person."""
    if gathered.listing.holder is None:
        return ()
    return tuple(
        OpenDecision(one.step, one.question, one.options) for one in open_decisions(gathered.events)
    )


def _settings(state: RunState) -> tuple[tuple[str, str], ...]:
    values = state.created.settings if state.created else {}
    return tuple((name, _display_path(values[name])) for name in sorted(values))


def _display_path(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _notices(notices: Sequence[Notice]) -> Iterator[str]:
    for one in notices:
        yield f"step {one.step_id}: {one.message}" if one.step_id else one.message


def _findings(pack: Pack | None) -> tuple[ReportFinding, ...]:
    """What the rules say of the text of the pack; nothing outside of it is asked."""
    findings = lint(Subject(pack, Facts()), RULES) if pack is not None else ()
    return tuple(
        ReportFinding(
            rule=one.rule,
            severity=one.severity,
            line=one.span.line,
            message=one.message,
            hint=one.hint,
            step_id=one.step,
        )
        for one in findings
    )


class _Steps:
    """Makes the steps of a report."""

    def __init__(self, gathered: GatheredRun, clock: RunTime) -> None:
        self._found = gathered
        self._answered = {
            step.question.step_id: step
            for step in (gathered.answers.steps if gathered.answers else ())
        }
        self._calls = calls_of(gathered.events, gathered.state, clock)
        self._sources = SourceReader(
            gathered.run.root, quotes=gathered.listing.foreign is None and not _rehearsed(gathered)
        )
        self._log_bytes = MOST_LOG_BYTES

    def all(self) -> Iterator[ReportStep]:
        entries = steps_manifest(self._found.pack, self._found.state).steps
        for entry in entries:
            if entry.step_id != PRELUDE:
                yield self._step(entry)

    def _step(self, entry: StepEntry) -> ReportStep:
        state = self._found.state.step(entry.step_id)
        held = self._found.listing.holder is not None
        answered = self._answered.get(entry.step_id)
        step = self._found.pack.step(entry.step_id) if self._found.pack else None
        prompts = (call.prompt.text for call in step.calls if call.prompt) if step else ()
        error = entry.last_error
        question = answered.question if answered else None
        check = entry.verification
        return ReportStep(
            step_id=entry.step_id,
            title=(question.title if question else "") or entry.title or "",
            question=question.text if question else "",
            prompts=tuple(dict.fromkeys(text for text in prompts if text.strip())),
            question_id=entry.question_id,
            category=entry.category,
            reference=entry.reference,
            roi=entry.roi,
            effort=entry.effort,
            state=step_word(self._found.state, entry.step_id, held=held),
            reason=(error.message if error else "") or entry.skip_reason or "",
            error_code=error.code if error else "",
            attempts=entry.attempts,
            started_at=entry.started_at,
            finished_at=entry.finished_at,
            duration_ms=entry.duration_ms,
            imported=entry.imported,
            is_checked=check is not None,
            failures=check.failures if check else (),
            doubts=check.doubts if check else (),
            accepted=tuple(_accepted(one.path, one.reason) for one in entry.accepted),
            answers=tuple(self._answers(entry, answered)) if answered else (),
            attached=tuple(one.path for one in answered.attached or ()) if answered else (),
            changed_files=entry.changes.files if entry.changes else (),
            calls=self._calls.get(entry.step_id, ()),
            logs=tuple(self._logs(entry, state)),
            cost=entry.cost,
        )

    def _answers(self, entry: StepEntry, answered: AnsweredStep) -> Iterator[ReportAnswer]:
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

    def _logs(self, entry: StepEntry, state: StepState) -> Iterator[LogExcerpt]:
        wanted = FAILED_LOG_BYTES if state.has_bad_attempt else LOG_BYTES
        for path in filter(None, (entry.stdout_log, entry.stderr_log)):
            place = plain_file(self._found.run.path, path)
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
