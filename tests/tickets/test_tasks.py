"""Task Master's results, read and judged."""

import json
from typing import Any

import pytest

from oraclepack.tickets.tasks import (
    MalformedTasks,
    Task,
    problems,
    read_complexity,
    read_tasks,
    task_of,
    tasks_report,
    unexpanded_tasks,
)


def _file(*tasks: dict[str, Any], tag: str = "master") -> bytes:
    return json.dumps({tag: {"tasks": list(tasks), "metadata": {}}}).encode()


def _one(number: int, *needs: int | str, **more: Any) -> dict[str, Any]:
    return {"id": number, "title": f"t{number}", "dependencies": list(needs), **more}


def _weighing(task_id: int, subtasks: int) -> bytes:
    entry = {"taskId": task_id, "recommendedSubtasks": subtasks}
    return json.dumps({"complexityAnalysis": [entry]}).encode()


def _read(data: bytes) -> tuple[Task, ...]:
    found = read_tasks(data)
    assert not isinstance(found, MalformedTasks)
    return found


@pytest.mark.parametrize(
    ("data", "ids"),
    [
        pytest.param(None, [], id="no file"),
        pytest.param(b"", [], id="an empty file"),
        pytest.param(_file(_one(1), _one(2)), ["1", "2"], id="the usual form"),
        pytest.param(_file(_one(1), tag="feature"), ["1"], id="another tag"),
        pytest.param(b'{"tasks": [{"id": "1"}]}', ["1"], id="the old form"),
    ],
)
def test_ids(data: bytes | None, ids: list[str]) -> None:
    found = read_tasks(data)

    assert not isinstance(found, MalformedTasks)
    assert [task.id for task in found] == ids


@pytest.mark.parametrize("data", [b"{", b"[]", b"3", b'{"master": 1}', b'{"tasks": [1]}'])
def test_what_is_no_tasks_file(data: bytes) -> None:
    assert isinstance(read_tasks(data), MalformedTasks)


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [
        pytest.param([_one(1), _one(2, 1)], [], id="good"),
        pytest.param([_one(1, status="todo")], ["1 unknown status 'todo'"], id="status"),
        pytest.param([_one(1, priority="urgent")], ["1 unknown priority 'urgent'"], id="priority"),
        pytest.param([{"id": 1}], ["1 it has no title"], id="title"),
        pytest.param([_one(1, 7)], ["1 it depends on 7, which is not there"], id="unknown"),
        pytest.param([_one(1, 1)], ["1 it depends on itself"], id="itself"),
        pytest.param([_one(1), _one(1)], ["1 2 tasks have this id"], id="twice"),
        pytest.param([_one(1, 2), _one(2, 1)], ["1 a circle of dependencies: 1, 2"], id="a circle"),
        pytest.param([_one(1, subtasks=[_one(1), _one(2, 1)])], [], id="siblings by number"),
        pytest.param(
            [_one(1, subtasks=[_one(1, "1.9")])],
            ["1.1 it depends on 1.9, which is not there"],
            id="an unknown subtask",
        ),
    ],
)
def test_problems(tasks: list[dict[str, Any]], expected: list[str]) -> None:
    found = problems(_read(_file(*tasks)))

    assert [f"{one.task_id} {one.problem}" for one in found] == expected


def test_figures() -> None:
    tasks = _read(_file(_one(1, status="done"), _one(2, subtasks=[_one(1)])))

    figures = tasks_report(tasks, prd_sha256="a" * 64)

    assert (figures.tasks, figures.subtasks) == (2, 1)
    assert figures.statuses == {"done": 1, "pending": 1}


@pytest.mark.parametrize(
    ("title", "found"),
    [
        pytest.param("T-1: limit", True, id="at its beginning"),
        pytest.param("[t-1] limit", True, id="in brackets and small letters"),
        pytest.param("T-10: limit", False, id="a longer id"),
        pytest.param("About T-1", False, id="elsewhere"),
    ],
)
def test_the_task_of_a_ticket(title: str, found: bool) -> None:
    tasks = _read(_file(_one(1) | {"title": title}))

    assert (task_of("T-1", tasks) is not None) is found


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(None, None, id="no report"),
        pytest.param(b'{"complexityAnalysis": [{}, {}]}', 2, id="two tasks"),
    ],
)
def test_complexity(data: bytes | None, expected: int | None) -> None:
    assert read_complexity(data) == expected


@pytest.mark.parametrize("data", [b"{", b"{}", b'{"complexityAnalysis": []}'])
def test_what_is_no_complexity_report(data: bytes) -> None:
    assert isinstance(read_complexity(data), MalformedTasks)


@pytest.mark.parametrize(
    ("task", "complexity", "left"),
    [
        pytest.param(_one(1), None, ("1",), id="nothing came of it"),
        pytest.param(_one(1, subtasks=[_one(1)]), None, (), id="broken down"),
        pytest.param(_one(1, status="done"), None, (), id="done before"),
        pytest.param(_one(1), _weighing(1, 0), (), id="too simple to break down"),
        pytest.param(_one(1), _weighing(1, 3), ("1",), id="to be broken down"),
        pytest.param(_one(1), _weighing(2, 0), ("1",), id="another one is too simple"),
        pytest.param(_one(1), b"{", ("1",), id="a report that cannot be read"),
        pytest.param(_one(1), b"[]", ("1",), id="a report of another shape"),
    ],
)
def test_what_expand_left_whole(
    task: dict[str, Any], complexity: bytes | None, left: tuple[str, ...]
) -> None:
    assert unexpanded_tasks(_read(_file(task)), complexity) == left
