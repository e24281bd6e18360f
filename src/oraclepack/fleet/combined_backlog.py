"""One backlog over the runs of many repositories: the same work is listed once. Pure."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from oraclepack.fleet.fleet_reports import CollectedRun
from oraclepack.system.markdown_text import escape_keeping_code
from oraclepack.system.printable import quantity
from oraclepack.work.backlog import Record, WorkStatus

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


def merge_across(tasks: Iterable[SharedTask]) -> tuple[MergedTask, ...]:
    """Open tasks of one kind whose titles have the same words in the same order are one.

    Nothing less is sure: "reading" and "writing", "from 3 to 4" and "from 4 to 3" are other work.
    What most repositories need comes first, then the priority.
    """
    groups: dict[tuple[str, ...], list[SharedTask]] = {}
    for task in sorted(tasks, key=lambda task: (task.project, task.record.task_id)):
        if task.record.status in _OPEN and not task.record.same_as:
            groups.setdefault(_title_key(task.record), []).append(task)
    merged = [
        MergedTask(min((one.record for one in members), key=_urgency), tuple(members))
        for members in groups.values()
    ]
    return tuple(sorted(merged, key=lambda one: (-one.repositories, _urgency(one.record))))


def _urgency(record: Record) -> int:
    return _ORDER.get(str(record.priority), len(_ORDER))


def _title_key(record: Record) -> tuple[str, ...]:
    words = _WORD.findall(record.title.casefold())
    return (str(record.kind), *(words or [record.title]))


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
    lines += [_line(task) for task in tasks] or ["None."]
    return "\n".join(lines) + "\n"


def _line(task: MergedTask) -> str:
    record = task.record
    where = ", ".join(f"{one.project} {one.record.task_id}" for one in task.members)
    title = escape_keeping_code(record.title)
    return f"- [ ] {title} — {record.priority}, {record.kind or record.status}; {where}"
