"""One backlog over the runs of many repositories: the same work is listed once. Pure."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from oraclepack.fleet.fleet_reports import CollectedRun
from oraclepack.system.markdown_text import escape_keeping_code
from oraclepack.system.printable import quantity
from oraclepack.work.backlog import Record, WorkStatus
from oraclepack.work.compare import (
    ComparedStatement,
    asks_the_same_elsewhere,
    statement_of,
)

_WORD = re.compile(r"[^\W_]+[+#]*")
_OPEN = (WorkStatus.ACTIONABLE, WorkStatus.CONFLICT, WorkStatus.BLOCKED)
_ORDER = {"critical": 0, "high": 1, "medium": 2, "low": 3}


class SharedTask(msgspec.Struct, frozen=True):
    """A task, the project it belongs to, and the repository of that project."""

    project: str
    record: Record
    repository: str = ""

    @property
    def place(self) -> str:
        """What tells its repository from others."""
        return self.repository or self.project


class MergedTask(msgspec.Struct, frozen=True):
    """The same work in one or several repositories; the most urgent one represents it."""

    record: Record
    members: tuple[SharedTask, ...]

    @property
    def repositories(self) -> int:
        return len({member.place for member in self.members})

    @property
    def other_titles(self) -> tuple[SharedTask, ...]:
        """The tasks that are named otherwise."""
        mine = _title_key(self.record)
        return tuple(one for one in self.members if _title_key(one.record) != mine)


def merge_across(tasks: Iterable[SharedTask]) -> tuple[MergedTask, ...]:
    """Tasks of one kind with the same subject are the same work: see `_Groups`.

    What most repositories need comes first, then the priority.
    """
    groups = _Groups()
    for task in sorted(tasks, key=lambda task: (task.project, task.record.task_id)):
        if task.record.status in _OPEN and not task.record.same_as:
            groups.add(task)
    merged = [
        MergedTask(min((one.record for one in members), key=_urgency), tuple(members))
        for members in groups.members
    ]
    return tuple(sorted(merged, key=lambda one: (-one.repositories, _urgency(one.record))))


def _urgency(record: Record) -> int:
    return _ORDER.get(str(record.priority), len(_ORDER))


def _title_key(record: Record) -> tuple[str, ...]:
    words = _WORD.findall(record.title.casefold())
    return (str(record.kind), *(words or [record.title]))


class _Groups:
    """Groups of tasks with one subject: their titles are equal, or ask for the same.

    Groups are found by the words of their first task, so that the tasks of a thousand
    repositories are not compared with each other. Tasks of one repository with different titles
    stay apart: `actionize` compared those of a run by their evidence, which says more.
    """

    def __init__(self) -> None:
        self.members: list[list[SharedTask]] = []
        self._subjects: list[ComparedStatement] = []
        self._by_title: dict[tuple[str, ...], list[int]] = {}
        self._by_word: dict[tuple[str, str], list[int]] = {}

    def add(self, task: SharedTask) -> None:
        """Put a task into the group it belongs to, or begin one."""
        key = _title_key(task.record)
        known = self._by_title.setdefault(key, [])
        number = next((one for one in known if self._has_room(one, task)), None)
        if number is None:
            subject = statement_of(task.record.title)
            number = self._of_subject(subject, task)
            if number is None:
                number = self._begin(subject, key[0])
            known.append(number)
        self.members[number].append(task)

    def _has_room(self, number: int, task: SharedTask) -> bool:
        """No task of the same repository with another title is in it."""
        key = _title_key(task.record)
        return all(
            member.place != task.place or _title_key(member.record) == key
            for member in self.members[number]
        )

    def _of_subject(self, subject: ComparedStatement, task: SharedTask) -> int | None:
        for number in sorted(self._near(subject, str(task.record.kind))):
            if asks_the_same_elsewhere(self._subjects[number], subject) and self._has_room(
                number, task
            ):
                return number
        return None

    def _near(self, subject: ComparedStatement, kind: str) -> set[int]:
        """Groups with as many words, one of them the same."""
        return {
            number
            for word in subject.words
            for number in self._by_word.get((kind, word), ())
            if len(self._subjects[number].words) == len(subject.words)
        }

    def _begin(self, subject: ComparedStatement, kind: str) -> int:
        number = len(self.members)
        self.members.append([])
        self._subjects.append(subject)
        for word in subject.words:
            self._by_word.setdefault((kind, word), []).append(number)
        return number


def combined_page(fleet: str, tasks: Sequence[MergedTask], runs: Sequence[CollectedRun]) -> str:
    """The backlog of a fleet in Markdown."""
    shared = sum(task.repositories > 1 for task in tasks)
    brought = sum(not run.problem for run in runs)
    lines = [
        f"# Backlog of fleet {fleet}",
        "",
        (
            f"Tasks: {len(tasks)}, of {quantity(brought, 'run')}; "
            f"{shared} of them in several repositories."
        ),
        "",
    ]
    if missing := [run for run in runs if run.problem]:
        lines += ["## Needs a person", ""]
        lines += [f"- {run.project}: {escape_keeping_code(run.problem)}" for run in missing]
        lines.append("")
    lines += ["## Tasks", ""]
    lines += [line for task in tasks for line in _lines(task)] or ["None."]
    return "\n".join(lines) + "\n"


def _lines(task: MergedTask) -> list[str]:
    record = task.record
    where = ", ".join(_reference(member) for member in task.members)
    nature = record.kind or record.status
    title = escape_keeping_code(record.title)
    return [
        f"- [ ] {title} — {record.priority}, {nature}; {where}",
        *(
            f"  - {_reference(other)}: {escape_keeping_code(other.record.title)}"
            for other in task.other_titles
        ),
    ]


def _reference(task: SharedTask) -> str:
    return f"{task.project} {task.record.task_id}"
