"""The use cases behind `tickets`: what the steps of the ticket action pack need of us."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from oraclepack.errors import InputError, Refusal, UsageError
from oraclepack.system import files
from oraclepack.system.digests import canonical_file, sha256_bytes
from oraclepack.system.environment import environment
from oraclepack.system.git import changed_files
from oraclepack.system.path_jail import jail, refuse_link_out
from oraclepack.system.printable import quantity
from oraclepack.tickets import tasks as tm
from oraclepack.tickets import ticket as names
from oraclepack.tickets.agent_answers import UnusableAnswer, judgement, selection, text_of
from oraclepack.tickets.build import changed_tickets, compared, read_manifest
from oraclepack.tickets.closing import audit
from oraclepack.tickets.pages import (
    TurnSummary,
    changes_page,
    close_out_page,
    select_prompt,
    work_prompt,
)
from oraclepack.tickets.read_tickets import list_files
from oraclepack.tickets.ticket import (
    Acceptance,
    Actions,
    AgentStage,
    Audit,
    ChangedFile,
    FileState,
    NextWork,
    Review,
    TasksReport,
    TicketCheck,
    TicketIndex,
    TicketManifest,
)
from oraclepack.tickets.ticketify import TicketifyRequest, TicketsReply, manifest_of, read_tickets

T = TypeVar("T")

_MADE_AGAIN = "run `oraclepack tickets build` first"
_TEXT_FILES = {
    AgentStage.IMPLEMENT: "{}-implement.md",
    AgentStage.DOCS: "{}-docs.md",
    AgentStage.REGRESSIONS: "{}-regressions.md",
    AgentStage.PR: names.PR,
}
_REPORTS = ("codex-implement.md", "gemini-implement.md", "codex-verify.md", names.REVIEW)
_FIGURES = {
    "made": names.TM_TASKS,
    "kept": names.TM_TASKS,
    "expanded": names.TM_EXPANDED,
    "check": names.TM_CHECK,
    "sync": names.TM_SYNC,
}


@dataclass(frozen=True, slots=True)
class TicketSteps:
    """What the steps of the ticket action pack ask of oraclepack, for one out dir."""

    root: Path
    out_dir: str

    @classmethod
    def at(cls, root: Path, out_dir: str) -> "TicketSteps":
        verdict = jail(root, f"{out_dir}/x")
        if isinstance(verdict, Refusal):
            raise UsageError(f"--out-dir {out_dir}: {verdict.reason}")
        return cls(root, verdict.relative.removesuffix("/x"))

    def path(self, name: str) -> str:
        return f"{self.out_dir}/{name}"

    def content(self, name: str) -> bytes | None:
        return files.read(self.root / self.out_dir / name)

    def write(self, name: str, data: bytes) -> str:
        place = self.root / self.out_dir / name
        files.make_directories(place.parent)
        files.write_atomic(place, data)
        return self.path(name)

    def shape(self, name: str, shape: type[T]) -> T | None:
        """A JSON file of ours, or None when it is not there; a broken one is an error."""
        data = self.content(name)
        if data is None:
            return None
        try:
            return msgspec.json.decode(data, type=shape)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as trouble:
            raise InputError(
                f"{self.path(name)} has the wrong format: {trouble}",
                hint="run the step that makes it again",
            ) from None

    def needed(self, name: str, shape: type[T]) -> T:
        value = self.shape(name, shape)
        if value is None:
            raise InputError(f"{self.path(name)} is missing", hint=_MADE_AGAIN)
        return value

    def prd_path(self, manifest: TicketManifest) -> str:
        """Where the manifest says the PRD is. It may have come with the repository."""
        path = manifest.options.prd_path
        verdict = jail(self.root, path)
        if isinstance(verdict, Refusal):
            raise InputError(
                f"{self.path(names.MANIFEST)} names {path}: {verdict.reason}", hint=_MADE_AGAIN
            )
        return path

    def tasks_data(self) -> bytes | None:
        """Task Master's own file, unless a link of the project leads elsewhere."""
        refuse_link_out(self.root, self.root / names.TASKS)
        return files.read(self.root / names.TASKS)

    def read_tasks(self) -> tuple[tm.Task, ...]:
        tasks = tm.read_tasks(self.tasks_data())
        if isinstance(tasks, tm.MalformedTasks):
            raise InputError(
                f"{names.TASKS}: {tasks.reason}",
                hint="fix it, or `oraclepack tickets build --regenerate` moves it away",
            )
        return tasks

    def prompt(self, stage: AgentStage) -> TicketsReply:
        """What an agent is to be asked, or a line that begins with SKIP and says why nothing is."""
        actions = self.needed(names.ACTIONS, Actions)
        if stage is AgentStage.SELECT:
            index = self.needed(names.INDEX, TicketIndex)
            text = select_prompt(index, actions, has_tasks=bool(self.read_tasks()))
            return TicketsReply(text=text or "SKIP: no ticket has an open action")
        work = self.shape(names.NEXT, NextWork)
        if work is None:
            return TicketsReply(
                text=f"SKIP: {self.path(names.NEXT)} is missing, nothing was selected"
            )
        states = {action.action_id: action.done for action in actions.actions}
        if stage is AgentStage.IMPLEMENT and all(states.get(one, True) for one in work.action_ids):
            return TicketsReply(text="SKIP: everything that was selected is done")
        known = [name for name in _REPORTS if self.content(name)]
        reports = [] if stage is AgentStage.IMPLEMENT else [self.path(name) for name in known]
        return TicketsReply(text=work_prompt(stage, work, actions, reports))

    def take(self, stage: AgentStage, raw: str, agent: str) -> TicketsReply:
        """Check an agent's answer and write it down, whole or not at all."""
        name, value = self._answer_content(stage, raw, agent)
        if isinstance(value, UnusableAnswer):
            raise InputError(f"the answer cannot be used: {value.reason}", hint="ask again")
        data = f"{value}\n".encode() if isinstance(value, str) else canonical_file(value)
        path = self.write(name, data)
        return TicketsReply(text=f"wrote {path}", written=path)

    def _answer_content(
        self, stage: AgentStage, raw: str, agent: str
    ) -> tuple[str, NextWork | Acceptance | Review | str | UnusableAnswer]:
        """The file an answer goes to, and what goes into it."""
        match stage:
            case AgentStage.SELECT:
                return names.NEXT, self._selected(raw)
            case AgentStage.ACCEPT:
                work = self.needed(names.NEXT, NextWork)
                return names.ACCEPTANCE, judgement(raw, work, self.needed(names.ACTIONS, Actions))
            case AgentStage.VERIFY:
                text = text_of(raw)
                if isinstance(text, UnusableAnswer):
                    return names.REVIEW, text
                return names.REVIEW, Review(tool=agent, status="answered", answer=text)
            case _:
                return _TEXT_FILES[stage].format(agent), text_of(raw)

    def note_missing(self, tool: str) -> TicketsReply:
        """Record that a reviewer was not installed, so that its answer is not missed."""
        note = f"{tool} was not found; it reviewed nothing."
        if tool == "codex":
            path = self.write("codex-verify.md", f"SKIP: {note}\n".encode())
        else:
            missing = Review(tool=tool, status="missing", answer=note)
            path = self.write(names.REVIEW, canonical_file(missing))
        return TicketsReply(text=f"wrote {path}", written=path)

    def _selected(self, raw: str) -> NextWork | UnusableAnswer:
        index, actions = self.needed(names.INDEX, TicketIndex), self.needed(names.ACTIONS, Actions)
        selected = selection(raw, index, actions)
        if isinstance(selected, UnusableAnswer):
            return selected
        task = tm.task_of(selected.ticket_id, self.read_tasks())
        return msgspec.structs.replace(selected, task_id=task.id if task else None)

    def tasks(self, text: str) -> tuple[TicketsReply, tuple[str, ...]]:
        """Answer about Task Master's results; some questions also leave their figures in a file."""
        match text:
            case "found":
                return TicketsReply(text="some" if self.read_tasks() else "none"), ()
            case "wanted":
                return TicketsReply(
                    text=str(self.needed(names.INDEX, TicketIndex).selected_count)
                ), ()
            case "complexity":
                return TicketsReply(text="none" if self._complexity_count() is None else "some"), ()
            case "weighed":
                count = self._complexity_count()
                if count is None:
                    raise InputError(f"{self.path(names.TM_COMPLEXITY)} was not written")
                return TicketsReply(text=f"{quantity(count, 'task')} weighed"), ()
            case "selected":
                task = self._current()
                return TicketsReply(text=task.id if task and tm.is_movable(task) else ""), ()
        return self._figures(text)

    def _complexity_count(self) -> int | None:
        complexity = tm.read_complexity(self.content(names.TM_COMPLEXITY))
        if isinstance(complexity, tm.MalformedTasks):
            raise InputError(
                f"{self.path(names.TM_COMPLEXITY)}: {complexity.reason}",
                hint="`oraclepack tickets build --regenerate` moves it away",
            )
        return complexity

    def _current(self) -> tm.Task | None:
        work = self.shape(names.NEXT, NextWork)
        return tm.task_of(work.ticket_id, self.read_tasks()) if work else None

    def _figures(self, question: str) -> tuple[TicketsReply, tuple[str, ...]]:
        tasks = self.read_tasks()
        if not tasks:
            raise InputError(f"{names.TASKS} holds no tasks", hint="step 05 makes them")
        if question == "expanded" and (
            whole := tm.unexpanded_tasks(tasks, self.content(names.TM_COMPLEXITY))
        ):
            raise InputError(
                f"Task Master broke down nothing of task {', '.join(whole)}",
                hint="see its own messages above; run the step again, what has subtasks stays",
            )
        before = self.shape(names.TM_TASKS, TasksReport)
        prd = self._prd_hash()
        made_of = prd if question == "made" else before.prd_sha256 if before else None
        task = self._current() if question == "sync" else None
        figures = tm.tasks_report(tasks, prd_sha256=made_of, task_id=task.id if task else None)
        path = self.write(_FIGURES[question], canonical_file(figures))
        warnings: tuple[str, ...] = ()
        if made_of is not None and prd is not None and made_of != prd:
            warnings = (
                (
                    "the tasks were made of an older PRD; `oraclepack tickets build --regenerate` "
                    "sets them aside, so that step 05 makes new ones"
                ),
            )
        text = f"{quantity(figures.tasks, 'task')}, {quantity(figures.subtasks, 'subtask')}"
        if question == "check" and figures.problems:
            lines = [f"task {one.task_id}: {one.problem}" for one in figures.problems]
            return TicketsReply(text="\n".join([text, *lines]), written=path, ok=False), warnings
        return TicketsReply(text=f"{text}: wrote {path}", written=path), warnings

    def _prd_hash(self) -> str | None:
        manifest = read_manifest(self.content(names.MANIFEST))
        data = files.read(self.root / self.prd_path(manifest)) if manifest else None
        return None if data is None else sha256_bytes(data)

    def report(self, about: str) -> TicketsReply:
        """Write one of the reports at the end of a turn."""
        match about:
            case "changes":
                return self._changes()
            case "audit":
                return self._audit()
            case _:
                return self._close_out()

    def _changes(self) -> TicketsReply:
        self.needed(names.INDEX, TicketIndex)
        changes = changed_files(self.root, environment())
        diff = None
        if changes is not None:
            own = (*_NOT_WORK, f"{self.out_dir}/")
            diff = [ChangedFile(state, path) for state, path in changes if not path.startswith(own)]
        page = changes_page(diff, self.shape(names.NEXT, NextWork))
        path = self.write(names.CHANGES, page.encode())
        count = "no repository" if diff is None else quantity(len(diff), "file")
        return TicketsReply(text=f"{count}: wrote {path}", written=path)

    def _audit(self) -> TicketsReply:
        manifest = self.needed(names.MANIFEST, TicketManifest)
        prd = self.prd_path(manifest)
        inside = [self.path(name) for name in list_files(self.root, self.out_dir)]
        paths = {*inside, prd, names.TASKS}
        contents = {path: _content(self.root / path) for path in paths}
        result = audit(self.out_dir, prd, contents, inside)
        path = self.write(names.AUDIT, canonical_file(result))
        wrong = [f"{file.path}: {file.problem}" for file in result.files if file.problem]
        there = sum(file.present for file in result.files)
        text = "\n".join([f"{quantity(there, 'file')}: wrote {path}", *wrong])
        return TicketsReply(text=text, written=path, ok=result.ok)

    def _close_out(self) -> TicketsReply:
        turn = TurnSummary(
            index=self.needed(names.INDEX, TicketIndex),
            actions=self.needed(names.ACTIONS, Actions),
            work=self.shape(names.NEXT, NextWork),
            acceptance=self.shape(names.ACCEPTANCE, Acceptance),
            audit=self.shape(names.AUDIT, Audit),
            tasks=self.tasks_data(),
        )
        path = self.write(names.CLOSE_OUT, close_out_page(turn, self.out_dir).encode())
        return TicketsReply(text=f"wrote {path}", written=path)


_NOT_WORK = (".oraclepack/", ".taskmaster/", "ticket-action-pack.")
"""Ours and Task Master's, and the state of the run: no part of what was worked on."""


def _content(path: Path) -> bytes | None:
    try:
        return files.read(path)
    except InputError:
        return b""


REPORTS = {"check": names.CHECK, "determinism": names.DETERMINISM}


def check_tickets(
    request: TicketifyRequest, report: str | None
) -> tuple[TicketCheck, tuple[str, ...]]:
    """Make everything again in memory, twice, and compare it with the files.

    The report `determinism` is about the files of steps 01 to 03 alone, and tickets that were
    edited since do not count against them: an agent may have ticked what it finished.
    """
    read = read_tickets(request)
    again = read_tickets(request, backwards=True)
    options = read.options
    old = manifest_of(request.root, options.out_dir)
    expected = read.built.files
    if report == "determinism":
        own = (names.INDEX, names.ACTIONS, names.ACTIONS_PAGE)
        chosen = {f"{options.out_dir}/{name}" for name in own} | {options.prd_path}
        expected = {path: data for path, data in expected.items() if path in chosen}
    existing = {path: files.read(request.root / path) for path in expected}
    checked = compared(expected, existing, old)
    accepted = {FileState.SAME, FileState.STALE} if report == "determinism" else {FileState.SAME}
    repeatable = read.built.files == again.built.files
    now = {ticket.path: ticket.sha256 for ticket in read.built.index.tickets}
    result = TicketCheck(
        ok=repeatable and all(file.state in accepted for file in checked),
        repeatable=repeatable,
        changed_tickets=changed_tickets(old, now),
        files=checked,
    )
    if report is not None:
        write_report(request.root / options.out_dir / REPORTS[report], result)
    return result, read.warnings


def write_report(path: Path, value: object) -> None:
    """Put a file of ours in place, whole."""
    files.make_directories(path.parent)
    files.write_atomic(path, canonical_file(value))
