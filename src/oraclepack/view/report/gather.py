"""Reads a run, its answers, its work and its logs for a report. Starts no process, writes nothing.

Whatever is missing or damaged becomes a remark of the report: any run can be shown, up to where it
is damaged.
"""

import os
import re
from collections.abc import Iterator
from decimal import Decimal

import msgspec
from msgspec.structs import replace

from oraclepack import __version__
from oraclepack.answers.answer_reader import open_sections
from oraclepack.answers.statements import body_lines
from oraclepack.errors import InputError
from oraclepack.journal import events as j
from oraclepack.journal.costs import CostTotal, total_cost
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.step_state import Invocation
from oraclepack.lint.engine import lint
from oraclepack.lint.finding import Facts
from oraclepack.lint.rule import Subject
from oraclepack.lint.rule_registry import RULES
from oraclepack.pack.answer_sections import Section
from oraclepack.system.environment import environment
from oraclepack.system.files import open_regular
from oraclepack.system.path_jail import plain_file
from oraclepack.system.printable import readable_record
from oraclepack.system.secrets import Redactor
from oraclepack.system.text_limits import ANSWER
from oraclepack.view.calls import RunCall, RunTime
from oraclepack.view.past_runs import details_of
from oraclepack.view.report.attention import attention_of
from oraclepack.view.report.data import LogExcerpt, Report, ReportAnswer, ReportStep
from oraclepack.view.report.quotes import SourceReader
from oraclepack.view.run import RunView, read_view
from oraclepack.view.run_status import decisions
from oraclepack.view.step import StepView, shaped
from oraclepack.work.actionize import earlier_backlog
from oraclepack.work.backlog import AnsweredStep, AnswerPart, PackAnswers
from oraclepack.work.load_answers import FOLDER, answers_of_state
from oraclepack.work.records import WorkItems, actionize
from oraclepack.work.work_pages import by_worth, read_ticks

LOG_BYTES, FAILED_LOG_BYTES = 2_000, 8_000
"""Of the end of each log."""
MOST_LOG_BYTES = 200_000
"""Of all logs together."""
_MARKDOWN = re.compile(
    r"^ {0,3}#{1,6} |^\s*(?:[-*+]|\d{1,2}[.)])\s+\S|^ {0,3}(?:```|~~~)|^ {0,3}\|.*\||`[^`\n]+`"
    r"|\*\*[^*\n]+\*\*|^ {0,3}>\s",
    re.MULTILINE,
)


class GatheredRun(msgspec.Struct, frozen=True):
    """A run as it was read: what the journal says, and what its answers contain."""

    view: RunView
    answers: PackAnswers | None = None
    work: WorkItems | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_rehearsal(self) -> bool:
        return self.view.rehearsal or bool(self.answers and self.answers.rehearsal)


def gather_run(run: RunDir) -> GatheredRun:
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


def gather_report(run: RunDir) -> Report:
    """What a report shows of a run, without secrets."""
    gathered = gather_run(run)
    view, work = gathered.view, gathered.work
    details = details_of(view)
    distinct = (one for one in work.records if one.same_as is None) if work else ()
    reserved = [
        one.cost
        for one in view.events
        if isinstance(one, j.BudgetReserved) and "cost" not in one.unknown
    ]
    notices = view.warnings if view.created else ()
    # A foreign backlog is not read.
    backlog = "" if view.foreign else earlier_backlog(run.path / FOLDER)
    data = shaped(
        Report,
        details,
        run=replace(details.run, rehearsal=gathered.is_rehearsal),
        program=__version__,
        clock=RunTime.of(view.events),
        steps=tuple(map(_Steps(gathered).step, view.steps)),
        records=tuple(sorted(distinct, key=by_worth)),
        issues=work.issues if work else (),
        ticked=tuple(sorted(read_ticks(backlog))),
        by_model=_costs(view, "model"),
        by_provider=_costs(view, "provider"),
        forecasts=tuple(_forecasts(view)),
        reserved=sum(reserved, Decimal(0)) if reserved else None,
        decisions=decisions(view.state) if view.locked_by else (),
        warnings=(
            *gathered.warnings,
            *(
                f"step {one.step_id}: {one.message}" if one.step_id else one.message
                for one in notices
            ),
        ),
        pack_text=view.pack.text if view.pack else "",
        pack_note="" if view.pack else next(iter(gathered.warnings), "the pack is not known"),
        # Only the text of the pack is looked at, nothing outside of it.
        findings=tuple(lint(Subject(view.pack, Facts()), RULES)) if view.pack else (),
    )
    cleaned = Redactor.of(environment()).clean_record(replace(data, attention=attention_of(data)))
    return readable_record(cleaned)


def _costs(view: RunView, attribute: str) -> dict[str, CostTotal]:
    """The cost of all calls by model or by provider."""
    groups: dict[str, list[Invocation]] = {}
    for step in view.state.steps.values():
        for call in step.invocations:
            record = call.record
            name = getattr(record, attribute) if record is not None else None
            groups.setdefault(name or "unknown", []).append(call)
    costs = {name: total_cost(groups[name]) for name in sorted(groups)}
    return {name: cost for name, cost in costs.items() if cost.calls or cost.saved_calls}


def _forecasts(view: RunView) -> Iterator[tuple[j.ForecastRecorded, Decimal | None]]:
    """The forecast of each command beside its cost: up to the next one, or up to now."""
    made = [session.forecast for session in view.state.sessions if session.forecast is not None]
    ends = [*(forecast.spent_before for forecast in made[1:]), view.cost.cost]
    for forecast, end in zip(made, ends, strict=False):
        yield forecast, None if end is None else end - (forecast.spent_before or 0)


def is_capture(text: str) -> bool:
    """Whether an answer was copied from a page: it has no Markdown, so `*` and `_` are literal."""
    return bool(text.strip()) and _MARKDOWN.search(text) is None


class _Steps:
    """Makes the steps of a report."""

    def __init__(self, gathered: GatheredRun) -> None:
        view, answers = gathered.view, gathered.answers
        self._view = view
        self._answered = {one.question.step_id: one for one in answers.steps} if answers else {}
        self._cut = {
            one.step_id: one.cut for one in (gathered.work.issues if gathered.work else ())
        }
        self._edited = [one for one in gathered.warnings if "not what the run recorded" in one]
        self._calls: dict[str, list[RunCall]] = {}
        for call in sorted(view.calls, key=lambda one: (one.attempt, one.call)):
            self._calls.setdefault(call.step_id, []).append(call)
        self._sources = SourceReader(
            view.run.root, quotes=view.foreign is None and not gathered.is_rehearsal
        )
        self._log_bytes = MOST_LOG_BYTES

    def step(self, entry: StepView) -> ReportStep:
        answered = self._answered.get(entry.step_id)
        step = self._view.pack.step(entry.step_id) if self._view.pack else None
        prompts = (call.prompt.text for call in step.calls if call.prompt) if step else ()
        question = answered.question if answered else None
        return shaped(
            ReportStep,
            entry,
            title=(question.title if question else "") or entry.title or "",
            question=question.text if question else "",
            prompts=tuple(dict.fromkeys(text for text in prompts if text.strip())),
            answers=tuple(self._answers(entry, answered)) if answered else (),
            attached=tuple(one.path for one in answered.attached or ()) if answered else (),
            calls=tuple(self._calls.get(entry.step_id, ())),
            logs=tuple(self._logs(entry)),
        )

    def _answers(self, entry: StepView, answered: AnsweredStep) -> Iterator[ReportAnswer]:
        recorded = {output.path: output for output in entry.outputs}
        for number, part in enumerate(answered.parts, start=1):
            output = recorded.get(part.path)
            excess = ANSWER.excess(part.text)
            text = part.text.replace("\r\n", "\n")
            yield ReportAnswer(
                id=f"a{entry.step_id}-{number}",
                path=part.path,
                text="" if excess else text,
                sha256=output.sha256 if output else "",
                bytes=len(part.text.encode()),
                from_cache=bool(output and output.from_cache),
                is_capture=is_capture(text),
                is_used=output is not None,
                is_edited=any(part.path in one for one in self._edited),
                cut=self._cut.get(entry.step_id, ""),
                omitted=excess or "",
                sections=() if excess else tuple(_sections(part)),
                quotes=() if excess else self._sources.quotes_of(text, answered),
            )

    def _logs(self, entry: StepView) -> Iterator[LogExcerpt]:
        """The ends of its logs, each from the beginning of a line."""
        is_bad = self._view.state.step(entry.step_id).has_bad_attempt
        for path in filter(None, (entry.stdout_log, entry.stderr_log)):
            place = plain_file(self._view.run.path, path)
            most = min(FAILED_LOG_BYTES if is_bad else LOG_BYTES, self._log_bytes)
            try:
                if place is None:
                    continue
                with os.fdopen(open_regular(place), "rb") as file:
                    size = file.seek(0, os.SEEK_END)
                    file.seek(max(0, size - most))
                    data = file.read(most)
            except OSError:
                continue
            if len(data) < size and b"\n" in data:
                data = data.partition(b"\n")[2]
            self._log_bytes -= len(data)
            if size:
                text = data.decode("utf-8", "replace")
                yield LogExcerpt(path=path, bytes=size, text=text, shown_bytes=len(data))


def _sections(part: AnswerPart) -> Iterator[tuple[str, int]]:
    """The sections of an answer in its order, each where it begins first."""
    lines = body_lines(part.text.replace("\r\n", "\n").split("\n"))
    known: set[Section] = set()
    for opened in open_sections(lines, part.section or Section.DIRECT_ANSWER):
        line = opened.line or next((one.number for one in opened.body if one.text.strip()), 0)
        if line and opened.section not in known:
            known.add(opened.section)
            yield opened.section.heading, line
