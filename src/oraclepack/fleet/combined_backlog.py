"""One backlog over the runs of many repositories: the same work is listed once. Pure."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from oraclepack.fleet.fleet_reports import CollectedRun
from oraclepack.system.markdown_text import escape_keeping_code
from oraclepack.work.backlog import Record, WorkStatus

_WORD = re.compile(r"[a-z0-9]+")
_OPEN = (WorkStatus.ACTIONABLE, WorkStatus.CONFLICT, WorkStatus.BLOCKED)
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
    """Tasks with the same kind, category and words in their titles are the same work.

    What most repositories need comes first, then the priority.
    """
    groups: dict[tuple[object, ...], list[SharedTask]] = {}
    for task in tasks:
        record = task.record
        if record.status in _OPEN and not record.same_as:
            key = (record.kind, record.category, *_WORD.findall(record.title.casefold()))
            groups.setdefault(key, []).append(task)
    merged = [
        MergedTask(
            members[0].record,
            tuple(member.project for member in members),
            tuple(member.record.task_id for member in members),
            len({member.repository or member.project for member in members}),
        )
        for members in groups.values()
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
