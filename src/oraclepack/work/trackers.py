"""Records → `github-issues.json` and `taskmaster.json`."""

from collections.abc import Mapping, Sequence
from typing import Any

from oraclepack.system.digests import canonical_file
from oraclepack.system.markdown_text import without_live_text
from oraclepack.work.backlog import Record, WorkStatus
from oraclepack.work.change_plan import in_order, resolved
from oraclepack.work.prose import (
    acceptance,
    bullets,
    done_when,
    evidence_lines,
    listed,
    listed_markdown,
    named,
    origin,
)
from oraclepack.work.titles import shortened

LONGEST_ISSUE_BODY = 60_000
"""GitHub takes 65,536 characters; the rest is room for how it counts them."""

_OPEN = frozenset({WorkStatus.ACTIONABLE, WorkStatus.BLOCKED, WorkStatus.CONFLICT})


def marker(task_id: str) -> str:
    """The line by which an issue that was filed before is found again."""
    return f"<!-- oraclepack-task: {task_id} -->"


def github_issues(records: Sequence[Record], *, rehearsal: bool = False) -> str:
    """A list of bodies for "create an issue", nothing else in them."""
    more = ["rehearsal"] if rehearsal else []
    entries = [_issue(record, more) for record in records if record.status in _OPEN]
    return canonical_file(entries).decode()


def _issue(record: Record, more_labels: Sequence[str]) -> dict[str, Any]:
    body = _body(record)
    if len(body) > LONGEST_ISSUE_BODY:
        body = (
            f"{body[:LONGEST_ISSUE_BODY].rpartition(chr(10))[0]}\n\n… shortened, see backlog.md\n"
        )
    labels = ["oraclepack", f"category: {record.category}", f"priority: {record.priority}"]
    if record.status is not WorkStatus.ACTIONABLE:
        labels.append(f"status: {record.status}")
    labels += more_labels
    return {
        "title": without_live_text(shortened(record.title)),
        "body": f"{marker(record.task_id)}\n{body}",
        "labels": labels,
    }


def _body(record: Record) -> str:
    sides = [f"step {side.step_id}: {side.text}" for side in record.statements]
    is_work = record.status is WorkStatus.ACTIONABLE
    parts = [
        f"{record.task_id} · {origin(record)}\n\n",
        listed("## To do", record.actions, "- [ ]"),
        listed("## The statements that disagree", sides),
        listed_markdown("## Evidence", evidence_lines(record)),
        listed_markdown("## Missing", map(named, record.missing_inputs)),
        f"## Next step\n\n{bullets([record.next_step])}\n" if record.next_step else "",
        listed("## Notes", (*record.notes, *record.remarks)),
        listed_markdown("## Accepted when", acceptance(record), "- [ ]") if is_work else "",
        f"Done when: {done_when(record)}\n" if is_work else "",
    ]
    return "".join(parts)


def taskmaster(records: Sequence[Record], *, rehearsal: bool = False) -> str:
    """A tasks file of Task Master, under its tag `master`."""
    planned = in_order(records)
    place = {record.task_id: number for number, record in enumerate(planned)}
    names = resolved(records)
    entries = [
        _entry(record, _before(record, names, place))
        for record in records
        if record.status in _OPEN
    ]
    source = "a rehearsal, in which no model was asked" if rehearsal else "the answers of a pack"
    description = f"Made by oraclepack from {source}"
    tagged = {"master": {"tasks": entries, "metadata": {"description": description}}}
    return canonical_file(tagged).decode()


def number_of(task_id: str) -> int:
    """Task Master's number for an id: the step and the task, so that it never moves."""
    step, task = task_id.rsplit("-", 2)[1:]
    return int(step) * 100 + int(task)


def _before(record: Record, names: Mapping[str, str], place: Mapping[str, int]) -> list[int]:
    """What comes first, as far as it is planned; never in a circle, since plans have none."""
    mine = place.get(record.task_id, -1)
    known = {names[name] for name in record.depends_on if name in names}
    return sorted(number_of(name) for name in known if place.get(name, mine) < mine)


def _entry(record: Record, dependencies: list[int]) -> dict[str, Any]:
    is_work = record.status is WorkStatus.ACTIONABLE
    todo = [record.next_step] if record.next_step else list(record.actions)
    return {
        "id": number_of(record.task_id),
        "title": record.title,
        "description": todo[0] if todo else record.title,
        "status": "pending" if is_work else "blocked",
        "priority": str(record.priority),
        "dependencies": dependencies,
        "details": _body(record),
        "testStrategy": "".join(f"- {line}\n" for line in acceptance(record)) if is_work else "",
        "subtasks": [_subtask(n, text) for n, text in enumerate(record.actions, 1)]
        if len(record.actions) > 1
        else [],
        "metadata": {"oraclepack": record.task_id, "sources": list(record.sources)},
    }


def _subtask(number: int, text: str) -> dict[str, Any]:
    return {
        "id": number,
        "title": shortened(text),
        "description": text,
        "status": "pending",
        "dependencies": [],
        "details": "",
    }
