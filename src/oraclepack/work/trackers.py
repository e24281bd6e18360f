"""Issues of the backlog → `github-issues.json` and `taskmaster.json`."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

import msgspec

from oraclepack.system.digests import canonical_file
from oraclepack.system.markdown_text import code_span, without_live_text
from oraclepack.system.printable import spelled
from oraclepack.work.backlog import Issue, IssuesPer, Record, TaskKind, WorkStatus
from oraclepack.work.backlog_page import by_worth
from oraclepack.work.change_plan import in_order
from oraclepack.work.evidence import Citation, CitationState
from oraclepack.work.prose import (
    about,
    acceptance,
    bullets,
    cited_lines,
    command_blocks,
    evidence_note,
    flat,
    grounds,
    listed,
    listed_markdown,
    named,
    origin,
    other_risks,
    shown,
    task_points,
    work_text,
)
from oraclepack.work.titles import LONGEST, plain, shortened, without_emphasis

LONGEST_ISSUE_BODY = 60_000
"""GitHub takes 65,536 characters; the rest is room for how it counts them."""
TASK_MARK = "<!-- oraclepack-task: "
ISSUE_MARK = "<!-- oraclepack-issue: "
END_MARK = "<!-- /oraclepack -->"
"""What is below it in an issue on GitHub belongs to people."""
MARKER = re.compile(
    r"^<!-- oraclepack-(?:task|issue): (?P<id>OP3-[0-9a-f]{8}-\d\d(?:-\d\d)?) -->[ \t]*\r?$",
    re.MULTILINE,
)

_OPEN = frozenset({WorkStatus.ACTIONABLE, WorkStatus.BLOCKED, WorkStatus.CONFLICT})
_LINKED = frozenset({CitationState.VERIFIED, CitationState.STALE, CitationState.UNKNOWN})
_TEXT_HEADS = {
    TaskKind.CHANGE: "Task",
    TaskKind.EXPERIMENT: "Experiment",
    TaskKind.FINDING: "Finding",
    None: "What the answer says",
}
_CUT = "\n… shortened, see backlog.md\n"
_HEADS = (
    (TaskKind.CHANGE, "## Tasks"),
    (TaskKind.EXPERIMENT, "## Experiment"),
    (TaskKind.FINDING, "## Findings, without a stated change"),
)


class GithubIssue(msgspec.Struct, frozen=True):
    """One issue for GitHub, and the stable id by which it is found again."""

    id: str
    title: str
    body: str
    labels: tuple[str, ...]

    def fields(self) -> dict[str, Any]:
        """The body of a request that creates it."""
        return {"title": self.title, "body": self.body, "labels": list(self.labels)}


class Permalinks(msgspec.Struct, frozen=True):
    """Links to lines of files as they were in the commit that the questions were about."""

    repository: str
    """The page of the repository: an address, or `..` as seen from one of its issues."""
    commit: str | None = None

    def of(self, citation: Citation) -> str:
        """Markdown for a citation: a link where the commit is known and may have the line."""
        code = code_span(str(citation))
        place = PurePosixPath(citation.path)
        inside = not place.is_absolute() and ".." not in place.parts
        # Text that a code span cannot hold is escaped text, which could end the link.
        is_code = code.startswith("`") and "]" not in code
        if not (self.commit and inside and is_code and citation.state in _LINKED):
            return code
        last = f"-L{citation.last_line}" if citation.last_line != citation.first_line else ""
        lines = f"#L{citation.first_line}{last}"
        return f"[{code}]({self.repository}/blob/{self.commit}/{quote(str(place))}{lines})"

    def evidence(self, record: Record) -> list[str]:
        """What a record names, one line of Markdown for each thing, linked where possible."""
        citations = record.evidence.citations
        links = [self.of(one) for one in citations]
        known = cited_lines(record)
        with_state = [
            line.replace(code_span(str(one)), link, 1)
            for one, link, line in zip(citations, links, known, strict=False)
        ]
        return with_state + known[len(citations) :]


def marker(name: str) -> str:
    """The line by which an issue that was filed before is found again."""
    is_task = name.count("-") == _TASK_HYPHENS
    return f"{TASK_MARK if is_task else ISSUE_MARK}{name} -->"


_TASK_HYPHENS = 3


def github_entries(
    issues: Sequence[Issue], links: Permalinks, per: IssuesPer, *, rehearsal: bool = False
) -> tuple[GithubIssue, ...]:
    """What to file on GitHub: one issue per question with open work, or one per task."""
    more = ("rehearsal",) if rehearsal else ()
    entries: list[GithubIssue] = []
    for issue in issues:
        records = [record for record in issue.records if record.status in _OPEN]
        if per is IssuesPer.TASK:
            entries += [_task_entry(record, issue.question, links, more) for record in records]
        elif records:
            entries.append(_question_entry(issue, records, links, more))
    return tuple(entries)


def _question_entry(
    issue: Issue, records: Sequence[Record], links: Permalinks, more: tuple[str, ...]
) -> GithubIssue:
    best = min(records, key=by_worth)
    labels = ["oraclepack", f"category: {issue.category}", f"priority: {best.priority}"]
    waiting = {record.status for record in records} - {WorkStatus.ACTIONABLE}
    labels += sorted(f"status: {status}" for status in waiting)
    body = "".join(_question_parts(issue, records, links))
    return _entry(issue.issue_id, issue.title, body, (*labels, *more))


def _task_entry(
    record: Record, question: str, links: Permalinks, more: tuple[str, ...]
) -> GithubIssue:
    labels = ["oraclepack", f"category: {record.category}", f"priority: {record.priority}"]
    if record.status is not WorkStatus.ACTIONABLE:
        labels.append(f"status: {record.status}")
    body = _body(record, question, links)
    return _entry(record.task_id, record.title, body, (*labels, *more))


def _entry(name: str, title: str, body: str, labels: tuple[str, ...]) -> GithubIssue:
    if len(body) > LONGEST_ISSUE_BODY:
        body = f"{body[:LONGEST_ISSUE_BODY].rpartition(chr(10))[0]}\n{_CUT}"
    whole = f"{marker(name)}\n{body.rstrip()}\n\n{END_MARK}\n"
    return GithubIssue(
        name, without_live_text(title if len(title) <= LONGEST else shortened(title)), whole, labels
    )


def _question_parts(issue: Issue, records: Sequence[Record], links: Permalinks) -> Iterator[str]:
    yield f"`{issue.issue_id}` · question {issue.step_id}{about(issue.reference)}\n\n"
    asked = issue.question if plain(issue.question) != issue.title else ""
    yield f"Question: {flat(asked)}\n\n" if asked else ""
    yield f"> {flat(issue.answer)}\n\n" if issue.answer else ""
    for kind, head in _HEADS:
        work = [r for r in records if r.status is WorkStatus.ACTIONABLE and r.kind is kind]
        if work:
            yield f"{head}\n\n"
        yield from (_task(record, links) for record in sorted(work, key=by_worth))
    for record in records:
        if record.status is not WorkStatus.ACTIONABLE:
            yield from _waiting(record)
    yield listed_markdown("## Risks", other_risks(issue))
    yield listed_markdown("## Missing evidence", map(named, issue.missing_inputs))
    if issue.cut:
        yield f"The answer is cut off: {flat(issue.cut)}\n\n"
    files = ", ".join(map(code_span, issue.answer_files))
    yield f"Answer: {files}\n" if files else ""


def _task(record: Record, links: Permalinks) -> str:
    """A line of a task list, with what belongs to it indented below."""
    head = f"- [ ] `{record.task_id}` {flat(record.title)}\n"
    points = [f"  {line}\n" for line in task_points(record, links.evidence(record))]
    text = "".join([head, *points, "\n"])
    for block in command_blocks(record):
        text += "".join(f"  {line}".rstrip() + "\n" for line in block.splitlines()) + "\n"
    return text


def _waiting(record: Record) -> Iterator[str]:
    word = "Conflict" if record.status is WorkStatus.CONFLICT else "Blocked"
    yield f"## {word}: {flat(record.title)}\n\n"
    sides = [f"question {side.step_id}: {flat(side.text)}" for side in record.statements]
    more = [*record.remarks, *([record.next_step] if record.next_step else [])]
    yield listed_markdown("", [*sides, *map(shown, more)]).lstrip("\n")


def _body(record: Record, question: str, links: Permalinks) -> str:
    """A record as the body of an issue of its own."""
    sides = [f"question {side.step_id}: {flat(side.text)}" for side in record.statements]
    is_work = record.status is WorkStatus.ACTIONABLE
    text = "".join(f"{line}\n" for line in work_text(record))
    blocks = "".join(f"{block}\n" for block in command_blocks(record))
    notes = map(evidence_note, record.notes)
    missing = ", ".join(map(named, record.missing_inputs))
    merged = ", ".join(map(code_span, record.merged))
    parts = [
        f"`{record.task_id}` · {origin(record)}\n\n",
        f"Question: {flat(question)}\n\n" if question else "",
        f"## {_TEXT_HEADS[record.kind]}\n\n{text}\n" if text else "",
        blocks,
        listed_markdown("## The statements that disagree", sides),
        listed_markdown("## Evidence", [*notes, *grounds(record, links.evidence(record))]),
        f"Missing evidence: {missing}\n\n" if missing else "",
        f"## Next step\n\n{bullets([record.next_step])}\n" if record.next_step else "",
        listed("## Notes", record.remarks),
        f"Also raised as: {merged}\n\n" if merged else "",
        listed_markdown("## Accepted when", acceptance(record), "- [ ]") if is_work else "",
    ]
    return "".join(parts).rstrip("\n") + "\n"


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
    best = min(records, key=by_worth)
    is_work = any(record.status is WorkStatus.ACTIONABLE for record in records)
    return {
        "id": int(issue.step_id),
        "title": spelled(issue.title),
        "description": _one_line(issue.answer or issue.question or issue.title),
        "status": "pending" if is_work else "blocked",
        "priority": str(best.priority),
        "dependencies": [],
        "details": "".join(_question_parts(issue, [], Permalinks(""))),
        "testStrategy": "",
        "subtasks": [_subtask(record, issue.question, records, place) for record in records],
        "metadata": {"oraclepack": issue.issue_id},
    }


def _subtask(
    record: Record, question: str, siblings: Iterable[Record], place: Mapping[str, int]
) -> dict[str, Any]:
    is_work = record.status is WorkStatus.ACTIONABLE
    todo = [record.next_step] if record.next_step else list(record.actions)
    names = {name: one for one in siblings for name in (one.task_id, *one.merged)}
    mine = place.get(record.task_id, -1)
    # The plan has no cycles, so a task may depend on any earlier one.
    before = {names[name].task_id for name in record.depends_on if name in names}
    return {
        "id": number_of(record.task_id),
        "title": spelled(record.title),
        "description": _one_line(todo[0] if todo else record.title),
        "status": "pending" if is_work else "blocked",
        "priority": str(record.priority),
        "dependencies": sorted(number_of(name) for name in before if place.get(name, mine) < mine),
        "details": _body(record, question, Permalinks("")),
        "testStrategy": "".join(f"- {line}\n" for line in acceptance(record)) if is_work else "",
        "metadata": {"oraclepack": record.task_id, "sources": list(record.sources)},
    }


def _one_line(text: str) -> str:
    """A text of an answer for a program that shows it as it is."""
    return spelled(" ".join(without_emphasis(text).split()))


def number_of(task_id: str) -> int:
    """Task Master's number for the work of a question, which never moves."""
    return int(task_id.rpartition("-")[2])
