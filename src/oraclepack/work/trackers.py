"""Issues of the backlog → `github-issues.json` and `taskmaster.json`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from oraclepack.system.digests import canonical_file
from oraclepack.system.markdown_text import without_live_text
from oraclepack.system.printable import spelled
from oraclepack.work.backlog import Issue, IssuesPer, Record, WorkStatus
from oraclepack.work.plan_order import in_order
from oraclepack.work.titles import LONGEST, title_of, without_emphasis
from oraclepack.work.work_pages import Permalinks, by_worth, issue_body

LONGEST_ISSUE_BODY = 60_000
"""GitHub takes 65,536 characters; the rest is room for how it counts them."""
TASK_MARK = "<!-- oraclepack-task: "
ISSUE_MARK = "<!-- oraclepack-issue: "
END_MARK = "<!-- /oraclepack -->"
"""What is below it in an issue on GitHub belongs to people."""
MARKER = re.compile(
    r"^<!-- oraclepack-(?:task|issue): (?P<id>OP3-[0-9a-f]{8}-\d\d(?:-\d\d+)?) -->[ \t]*\r?$",
    re.MULTILINE,
)

_OPEN = frozenset({WorkStatus.ACTIONABLE, WorkStatus.BLOCKED, WorkStatus.CONFLICT})
_CUT = "\n… shortened, see backlog.md\n"
_TASK_HYPHENS = 3


class GithubIssue(msgspec.Struct, frozen=True):
    """One issue for GitHub, and the stable id by which it is found again."""

    id: str
    title: str
    body: str
    labels: tuple[str, ...]

    def fields(self) -> dict[str, Any]:
        """The body of a request that creates it."""
        return {"title": self.title, "body": self.body, "labels": list(self.labels)}


def marker(name: str) -> str:
    """The line by which an issue that was filed before is found again."""
    is_task = name.count("-") == _TASK_HYPHENS
    return f"{TASK_MARK if is_task else ISSUE_MARK}{name} -->"


def github_entries(
    issues: Sequence[Issue], links: Permalinks, per: IssuesPer, *, rehearsal: bool = False
) -> tuple[GithubIssue, ...]:
    """What to file on GitHub: one issue per question with open work, or one per task."""
    more = ("rehearsal",) if rehearsal else ()
    entries: list[GithubIssue] = []
    for issue in issues:
        records = [record for record in issue.records if record.status in _OPEN]
        if per is IssuesPer.TASK:
            entries += [
                _entry(one.task_id, one.title, issue, [one], links, more) for one in records
            ]
        elif records:
            entries.append(_entry(issue.issue_id, issue.title, issue, records, links, more))
    return tuple(entries)


def _entry(
    name: str,
    title: str,
    issue: Issue,
    records: Sequence[Record],
    links: Permalinks,
    more: tuple[str, ...],
) -> GithubIssue:
    per_task = name.count("-") == _TASK_HYPHENS
    body = issue_body(issue, records, links, per_task=per_task)
    if len(body) > LONGEST_ISSUE_BODY:
        body = f"{body[:LONGEST_ISSUE_BODY].rpartition(chr(10))[0]}\n{_CUT}"
    best = min(records, key=by_worth)
    waiting = {record.status for record in records} - {WorkStatus.ACTIONABLE}
    labels = ["oraclepack", f"category: {best.category}", f"priority: {best.priority}"]
    labels += sorted(f"status: {status}" for status in waiting)
    whole = f"{marker(name)}\n{body.rstrip()}\n\n{END_MARK}\n"
    shown = without_live_text(title)
    if len(shown) > LONGEST:  # code spans around mentions are part of a title
        added = max(0, len(shown) - len(title))
        shown = without_live_text(title_of(title, LONGEST - min(added, LONGEST // 2)))
    return GithubIssue(name, shown, whole, (*labels, *more))


def taskmaster(issues: Sequence[Issue], *, rehearsal: bool = False) -> str:
    """A tasks file of Task Master, under its tag `master`: questions with their work below."""
    records = [record for issue in issues for record in issue.records]
    place = {record.task_id: number for number, record in enumerate(in_order(records))}
    entries = [
        _question_task(issue, work, place)
        for issue in issues
        if (work := [record for record in issue.records if record.status in _OPEN])
    ]
    source = "a rehearsal, in which no model was asked" if rehearsal else "the answers of a pack"
    description = f"Made by oraclepack from {source}"
    tagged = {"master": {"tasks": entries, "metadata": {"description": description}}}
    return canonical_file(tagged).decode()


def _question_task(
    issue: Issue, records: Sequence[Record], place: Mapping[str, int]
) -> dict[str, Any]:
    return {
        "id": int(issue.step_id),
        "title": spelled(issue.title),
        "description": _one_line(issue.answer or issue.title),
        "status": "pending" if any(record.is_work for record in records) else "blocked",
        "priority": str(min(records, key=by_worth).priority),
        "dependencies": [],
        "details": issue_body(issue, [], Permalinks("")),
        "testStrategy": "",
        "subtasks": [_subtask(record, issue, records, place) for record in records],
        "metadata": {"oraclepack": issue.issue_id},
    }


def _subtask(
    record: Record, issue: Issue, siblings: Sequence[Record], place: Mapping[str, int]
) -> dict[str, Any]:
    names = {name: one.task_id for one in siblings for name in (one.task_id, *one.merged)}
    mine = place.get(record.task_id, -1)
    # The plan has no cycles, so a task may depend on any earlier one.
    before = {names[name] for name in record.depends_on if name in names}
    todo = record.next_step or next(iter(record.actions), record.title)
    return {
        "id": number_of(record.task_id),
        "title": spelled(record.title),
        "description": _one_line(todo),
        "status": "pending" if record.is_work else "blocked",
        "priority": str(record.priority),
        "dependencies": sorted(number_of(name) for name in before if place.get(name, mine) < mine),
        "details": issue_body(issue, [record], Permalinks(""), per_task=True),
        "testStrategy": _one_line(record.done_when),
        "metadata": {"oraclepack": record.task_id, "sources": list(record.sources)},
    }


def _one_line(text: str) -> str:
    """A text of an answer for a program that shows it as it is."""
    return spelled(" ".join(without_emphasis(text).split()))


def number_of(task_id: str) -> int:
    """Task Master's number for the work of a question, which never moves."""
    return int(task_id.rpartition("-")[2])
