"""Task Master's tasks: read from its file, and checked more strictly than by its exit codes."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

import msgspec

from oraclepack.tickets.ticket import TaskProblem, TasksReport

STATUSES = ("pending", "in-progress", "done", "deferred", "cancelled", "blocked", "review")
PRIORITIES = ("low", "medium", "high", "critical")
TAG = "master"
_MOVABLE = frozenset({"pending", "in-progress"})
"""Only tasks in these states are moved to `review`."""


@dataclass(frozen=True, slots=True)
class Task:
    """The fields of a task or subtask that we use. Ids are text: Task Master writes both."""

    id: str
    title: str
    status: str
    priority: str | None
    dependencies: tuple[str, ...]
    subtasks: tuple["Task", ...] = ()


@dataclass(frozen=True, slots=True)
class MalformedTasks:
    """A file that Task Master did not write in this form, and the difference."""

    reason: str


def read_tasks(data: bytes | None) -> tuple[Task, ...] | MalformedTasks:
    """The tasks of `tasks.json`, empty when there is none: of `master`, else of the first tag."""
    if data is None or not data.strip():
        return ()
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as trouble:
        return MalformedTasks(f"not JSON: {trouble}")
    items = _list_of(value)
    if not isinstance(items, list):
        return MalformedTasks("no list of tasks in it")
    if not all(isinstance(one, dict) for one in items):
        return MalformedTasks("a task that is no object")
    return tuple(_task(one) for one in items)


def _list_of(value: object) -> object:
    match value:
        case {"tasks": list(tasks)}:
            return tasks
        case dict(tags):
            one = tags.get(TAG) or next(iter(tags.values()), None)
            return one.get("tasks") if isinstance(one, dict) else None
    return None


def _task(value: Mapping[str, Any]) -> Task:
    subtasks = value.get("subtasks")
    dependencies = value.get("dependencies")
    priority = value.get("priority")
    return Task(
        id=str(value.get("id", "")),
        title=str(value.get("title") or ""),
        status=str(value.get("status") or "pending"),
        priority=None if priority is None else str(priority),
        dependencies=tuple(map(str, dependencies)) if isinstance(dependencies, list) else (),
        subtasks=tuple(_task(one) for one in subtasks if isinstance(one, dict))
        if isinstance(subtasks, list)
        else (),
    )


def read_complexity(data: bytes | None) -> int | MalformedTasks | None:
    """How many tasks the complexity report rates; None when there is no report."""
    if data is None or not data.strip():
        return None
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as trouble:
        return MalformedTasks(f"not JSON: {trouble}")
    match value:
        case {"complexityAnalysis": list(entries)} if entries:
            return len(entries)
    return MalformedTasks("no complexityAnalysis in it")


def unexpanded_tasks(tasks: Iterable[Task], complexity: bytes | None) -> tuple[str, ...]:
    """The ids of open tasks that were to be broken down and have no subtasks.

    `expand --all` ends with 0 even when it failed for every one of them. A task for which the
    complexity report recommends none may stay whole.
    """
    simple = _simple(complexity)
    return tuple(
        task.id
        for task in tasks
        if is_movable(task) and not task.subtasks and task.id not in simple
    )


def _simple(complexity: bytes | None) -> frozenset[str]:
    """The ids of tasks that the complexity report would leave whole."""
    try:
        value = msgspec.json.decode(complexity or b"{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return frozenset()
    match value:
        case {"complexityAnalysis": list(entries)}:
            weighed = (entry for entry in entries if isinstance(entry, dict))
            return frozenset(
                str(entry.get("taskId"))
                for entry in weighed
                if entry.get("recommendedSubtasks") == 0
            )
    return frozenset()


def problems(tasks: Sequence[Task]) -> tuple[TaskProblem, ...]:
    """Everything that is wrong with the tasks, in their order."""
    return (*_each(tasks), *_repeated(tasks), *_dependencies(tasks))


def _each(tasks: Sequence[Task]) -> Iterator[TaskProblem]:
    for name, task in _all(tasks):
        if not task.title.strip():
            yield TaskProblem(task_id=name, problem="it has no title")
        if task.status not in STATUSES:
            yield TaskProblem(task_id=name, problem=f"unknown status {task.status!r}")
        if task.priority is not None and task.priority not in PRIORITIES:
            yield TaskProblem(task_id=name, problem=f"unknown priority {task.priority!r}")


def _repeated(tasks: Sequence[Task]) -> Iterator[TaskProblem]:
    counts = Counter(name for name, _ in _all(tasks))
    for name, count in counts.items():
        if count > 1:
            yield TaskProblem(task_id=name, problem=f"{count} tasks have this id")


def _dependencies(tasks: Sequence[Task]) -> Iterator[TaskProblem]:
    known = {name for name, _ in _all(tasks)}
    graph: dict[str, set[str]] = {}
    for name, task in _all(tasks):
        parent = name.rpartition(".")[0]
        for other in task.dependencies:
            # A subtask names its siblings by their own number.
            near = f"{parent}.{other}" if parent and "." not in other else other
            full = near if near in known else other
            if full == name:
                yield TaskProblem(task_id=name, problem="it depends on itself")
            elif full not in known:
                yield TaskProblem(
                    task_id=name, problem=f"it depends on {other}, which is not there"
                )
            else:
                graph.setdefault(name, set()).add(full)
    try:
        TopologicalSorter({one: sorted(graph[one]) for one in sorted(graph)}).prepare()
    except CycleError as circle:
        names = sorted(set(circle.args[1]))
        problem = f"a circle of dependencies: {', '.join(names)}"
        yield TaskProblem(task_id=names[0], problem=problem)


def _all(tasks: Sequence[Task]) -> Iterator[tuple[str, Task]]:
    for task in tasks:
        yield task.id, task
        for subtask in task.subtasks:
            yield f"{task.id}.{subtask.id}", subtask


def tasks_report(
    tasks: Sequence[Task], *, prd_sha256: str | None = None, task_id: str | None = None
) -> TasksReport:
    """The tasks in figures."""
    return TasksReport(
        tasks=len(tasks),
        subtasks=sum(len(task.subtasks) for task in tasks),
        statuses=dict(sorted(Counter(task.status for task in tasks).items())),
        problems=problems(tasks),
        prd_sha256=prd_sha256,
        task_id=task_id,
    )


def task_of(ticket_id: str, tasks: Sequence[Task]) -> Task | None:
    """The task whose title begins with the ticket's id, as the PRD asks for."""
    begins = re.compile(rf"\W*{re.escape(ticket_id)}(?![\w-])", re.IGNORECASE)
    return next((task for task in tasks if begins.match(task.title)), None)


def is_movable(task: Task) -> bool:
    return task.status in _MOVABLE
