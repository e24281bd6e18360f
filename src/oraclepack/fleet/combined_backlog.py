"""One backlog over the runs of many repositories: the same work is listed once. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from oraclepack.fleet.fleet_reports import CollectedRun
from oraclepack.system.markdown_text import escape_keeping_code
from oraclepack.work.backlog import Record, WorkStatus
from oraclepack.work.compare import (
    ComparedStatement,
    asks_the_same_elsewhere,
    statement_of,
)

_WORD = re.compile(r"[a-z0-9]+")
_OPEN = (WorkStatus.ACTIONABLE, WorkStatus.CONFLICT, WorkStatus.BLOCKED)
_WORTH_COMPARING = 0.5
"""The share of equal words from which a task is compared with a group."""
_ORDER = {"critical": 0, "high": 1, "medium": 2, "low": 3}


class SharedTask(msgspec.Struct, frozen=True):
    """A task, the project it belongs to, and the repository of that project."""

    project: str
    record: Record
    repository: str = ""


class MergedTask(msgspec.Struct, frozen=True):
    """The same work in one or several repositories; the first one speaks for all."""

    record: Record
    projects: tuple[str, ...]
    task_ids: tuple[str, ...]
    """Each with its project, in the same order."""
    repositories: int = 1


def merge_across(tasks: Iterable[SharedTask]) -> tuple[MergedTask, ...]:
    """Tasks of one kind with the same subject are the same work: see `_Groups`.

    What most repositories need comes first, then the priority.
    """
    groups = _Groups()
    for task in tasks:
        if task.record.status in _OPEN and not task.record.same_as:
            groups.add(task)
    merged = [
        MergedTask(
            members[0].record,
            tuple(member.project for member in members),
            tuple(member.record.task_id for member in members),
            len({member.repository or member.project for member in members}),
        )
        for members in groups.members
    ]
    return tuple(
        sorted(
            merged,
            key=lambda one: (
                -one.repositories,
                _ORDER.get(str(one.record.priority), len(_ORDER)),
                one.projects,
                one.task_ids,
            ),
        )
    )


class _Groups:
    """Groups of tasks with one subject: the words of their titles are equal, or say the same.

    A task joins the first group whose first task it fits. Groups are found by the words of that
    task, so that the tasks of a thousand repositories are not compared with each other. Two tasks
    of one project are the same only if their titles are equal: `actionize` compared them before.
    """

    def __init__(self) -> None:
        self.members: list[list[SharedTask]] = []
        self._subjects: list[ComparedStatement] = []
        self._by_title: dict[tuple[str, ...], int] = {}
        self._by_word: dict[tuple[str, str], list[int]] = {}

    def add(self, task: SharedTask) -> None:
        """Put a task into the group it belongs to, or begin one."""
        kind = str(task.record.kind)
        title = (kind, *_WORD.findall(task.record.title.casefold()))
        number = self._by_title.get(title)
        if number is None:
            subject = statement_of(task.record.title)
            number = self._of_subject(subject, kind, task.project)
            if number is None:
                number = self._begin(subject, kind)
            self._by_title[title] = number
        self.members[number].append(task)

    def _of_subject(self, subject: ComparedStatement, kind: str, project: str) -> int | None:
        shared: Counter[int] = Counter()
        for word in subject.words:
            shared.update(self._by_word.get((kind, word), ()))
        near = (number for number, words in shared.items() if self._is_near(number, words, subject))
        for number in sorted(near):
            if asks_the_same_elsewhere(self._subjects[number], subject) and all(
                member.project != project for member in self.members[number]
            ):
                return number
        return None

    def _is_near(self, number: int, shared: int, subject: ComparedStatement) -> bool:
        total = len(self._subjects[number].words) + len(subject.words)
        return 2 * shared >= _WORTH_COMPARING * total

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
        f"{len(tasks)} tasks of {brought} runs; {shared} of them in several repositories.",
        "",
    ]
    if missing := [run for run in runs if run.problem]:
        lines += ["## Needs a person", ""]
        lines += [f"- {run.project}: {escape_keeping_code(run.problem)}" for run in missing]
        lines.append("")
    lines += ["## Tasks", ""]
    lines += [_line(task) for task in tasks] or ["None."]
    return "\n".join(lines) + "\n"


def _line(task: MergedTask) -> str:
    record = task.record
    pairs = zip(task.projects, task.task_ids, strict=True)
    where = ", ".join(f"{project} {task_id}" for project, task_id in pairs)
    nature = record.kind or record.status
    return f"- [ ] {escape_keeping_code(record.title)} — {record.priority}, {nature}; {where}"
