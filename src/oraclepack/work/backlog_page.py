"""Records and issues → `normalized.jsonl` and `backlog.md`, which is written for people."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from oraclepack.system import backlog_notes as keeping
from oraclepack.system.digests import canonical_line
from oraclepack.system.markdown_text import code_span
from oraclepack.system.printable import quantity, screen_json
from oraclepack.work.backlog import Issue, PackAnswers, Priority, Record, TaskKind, WorkStatus
from oraclepack.work.prose import (
    cited_lines,
    command_blocks,
    flat,
    named,
    other_risks,
    shown,
    task_points,
)

REHEARSAL_NOTE = "These answers come from a rehearsal and say nothing about the code."
MOST_WORTH = 10
_RANK = {priority: number for number, priority in enumerate(Priority)}
_TICKED = re.compile(r"\s*- \[[xX]\] `(?P<id>OP3-[0-9a-f]+-\d\d-\d\d)` (?P<title>.*?)\s*")
_HEAD = """\
# Backlog

{about}

Made by `oraclepack actionize`, and made anew each time. Ticks stay, and so does your own text
between a line `<!-- keep: NAME -->` and the next `<!-- /keep -->`.

{notes}
"""

Ticks = Mapping[str, str]
"""The ids that a person ticked, with their titles as they were shown."""


def normalized(records: Iterable[Record]) -> str:
    """`normalized.jsonl`: one record a line, by id."""
    return "".join(f"{screen_json(canonical_line(record)).decode()}\n" for record in records)


def about(pack: PackAnswers) -> str:
    """Which pack the artifacts belong to."""
    title = f"Pack {code_span(pack.pack_name)}, " if pack.pack_name else "Pack "
    run = f", run {code_span(pack.pack_id)}" if pack.pack_id else ""
    line = f"{title}hash {code_span(pack.pack_hash[:16])}{run}."
    return f"{line}\n\n**{REHEARSAL_NOTE}**" if pack.rehearsal else line


def read_ticks(text: str) -> dict[str, str]:
    """What a person ticked in an earlier backlog."""
    matches = (_TICKED.fullmatch(line) for line in text.split("\n"))
    return {match["id"]: match["title"] for match in matches if match is not None}


def by_worth(record: Record) -> tuple[int, int, int, str]:
    """The order of work: what is worth most first, changes before findings before experiments."""
    kinds = (TaskKind.CHANGE, TaskKind.FINDING, TaskKind.EXPERIMENT, None)
    return -record.score, _RANK[record.priority], kinds.index(record.kind), record.task_id


def backlog(
    pack: PackAnswers,
    issues: Sequence[Issue],
    records: Sequence[Record],
    texts: Mapping[str, str],
    ticks: Ticks,
) -> str:
    """`backlog.md`: a first page, then the issues in the order of their value."""
    page = _Page(records, texts, ticks)
    head = _HEAD.format(about=about(pack), notes=keeping.slot(keeping.NOTES, texts))
    parts = [head, *_first_page(issues, records, page)]
    ordered = sorted(issues, key=_issue_order)
    if ordered:
        parts.append("\n## Issues\n")
    parts += [page.issue(issue) for issue in ordered]
    return "".join([*parts, *page.left_over(issues)])


def _first_page(issues: Sequence[Issue], records: Sequence[Record], page: "_Page") -> Iterator[str]:
    work = [record for record in records if record.status is WorkStatus.ACTIONABLE]
    kinds = {kind: sum(record.kind is kind for record in work) for kind in TaskKind}
    status = {one: sum(record.status is one for record in records) for one in WorkStatus}
    cut = [issue for issue in issues if issue.cut]
    answered = sum(bool(issue.answer_files) for issue in issues)
    yield "\n## In short\n\n"
    yield (
        f"- {quantity(len(issues), 'question')}, {answered} answered"
        f"{f', {len(cut)} of the answers cut off' if cut else ''}\n"
    )
    yield (
        f"- {quantity(len(work), 'task')}: {quantity(kinds[TaskKind.CHANGE], 'change')}, "
        f"{quantity(kinds[TaskKind.EXPERIMENT], 'experiment')}, "
        f"{quantity(kinds[TaskKind.FINDING], 'finding')}\n"
    )
    yield (
        f"- {quantity(status[WorkStatus.CONFLICT], 'conflict')}, "
        f"{status[WorkStatus.BLOCKED]} blocked, {status[WorkStatus.NOOP]} without work\n"
    )
    best = sorted(work, key=by_worth)[:MOST_WORTH]
    if best:
        yield "\n### Worth most\n\n"
    for number, record in enumerate(best, start=1):
        worth = ", ".join(filter(None, (record.priority, shown(record.why))))
        yield f"{number}. {page.title(record)} — {worth}\n"
    waiting = [r for r in records if r.status in {WorkStatus.CONFLICT, WorkStatus.BLOCKED}]
    if waiting or cut:
        yield "\n### Needs a person\n\n"
    for record in waiting:
        word = "Conflict" if record.status is WorkStatus.CONFLICT else "Blocked"
        yield f"- {word}: {page.title(record)}. {shown(record.next_step or '')}\n"
    for issue in cut:
        files = ", ".join(map(code_span, issue.answer_files))
        unused = flat(issue.dropped)
        dropped = f"; not used: {unused}" if unused else ""
        yield f"- Cut off: question {issue.step_id} ({files}): {shown(issue.cut)}{dropped}\n"


def _issue_order(issue: Issue) -> tuple[bool, int, int, str]:
    scores = [r.score for r in issue.records if r.status is not WorkStatus.NOOP]
    return not scores, -max(scores, default=0), -sum(scores), issue.step_id


class _Page:
    """Writes the issues of one backlog."""

    def __init__(self, records: Sequence[Record], texts: Mapping[str, str], ticks: Ticks) -> None:
        self._texts = texts
        titles = {record.task_id: shown(record.title) for record in records}
        self._ticked, self._orphaned = _carried_ticks(titles, ticks)
        self._tasks = frozenset(titles)

    def title(self, record: Record) -> str:
        return f"`{record.task_id}` {shown(record.title)}"

    def issue(self, issue: Issue) -> str:
        parts = [f"\n### {issue.step_id} {shown(issue.title)}\n\n"]
        if issue.question:
            parts.append(f"Question: {flat(issue.question)}\n\n")
        if issue.answer:
            parts.append(f"> {flat(issue.answer)}\n\n")
        work = [r for r in issue.records if r.status is WorkStatus.ACTIONABLE]
        for kind, head in (
            (TaskKind.CHANGE, "Tasks"),
            (TaskKind.EXPERIMENT, "Experiment"),
            (TaskKind.FINDING, "Findings, without a stated change"),
        ):
            chosen = sorted((r for r in work if r.kind is kind), key=by_worth)
            if chosen:
                parts.append(f"{head}:\n\n")
            parts += [self._task(record) for record in chosen]
        parts += [self._waiting(r) for r in issue.records if r.status is not WorkStatus.ACTIONABLE]
        for name, into in issue.elsewhere:
            parts.append(f"- `{name}` went into `{into}`\n")
        if issue.elsewhere:
            parts.append("\n")
        parts.append(_listed("Risks", other_risks(issue)))
        parts.append(_listed("Missing evidence", map(named, issue.missing_inputs)))
        files = ", ".join(map(code_span, issue.answer_files))
        parts.append(f"Answer: {files}\n\n" if files else "")
        return "".join([*parts, keeping.slot(issue.issue_id, self._texts)])

    def _task(self, record: Record) -> str:
        box = "x" if record.task_id in self._ticked else " "
        points = (f"  {line}\n" for line in task_points(record, cited_lines(record)))
        text = "".join([f"- [{box}] {self.title(record)}\n", *points, "\n"])
        for block in command_blocks(record):
            text += "".join(f"  {line}\n" for line in block.splitlines()) + "\n"
        own = keeping.slot(record.task_id, self._texts) if record.task_id in self._texts else ""
        return f"{text}{own}\n" if own else text

    def _waiting(self, record: Record) -> str:
        if record.status is WorkStatus.NOOP:
            return f"No work: {self.title(record)}\n\n"
        sides = [f"question {side.step_id}: {flat(side.text)}" for side in record.statements]
        first = f"Next: {shown(record.next_step or '')}"
        word = "Conflict" if record.status is WorkStatus.CONFLICT else "Blocked"
        own = keeping.slot(record.task_id, self._texts) if record.task_id in self._texts else ""
        return (
            f"{word}: {self.title(record)}\n\n"
            + "".join(f"- {line}\n" for line in (*sides, *map(shown, record.remarks), first))
            + f"\n{own}"
        )

    def left_over(self, issues: Iterable[Issue]) -> Iterator[str]:
        """Text and ticks whose place is gone are kept at the end, never dropped."""
        known = {issue.issue_id for issue in issues} | self._tasks | {keeping.NOTES}
        orphaned = sorted(set(self._texts) - known)
        if orphaned or self._orphaned:
            yield "\n## Kept from before\n\n"
        yield from (f"- [x] `{name}` {title}\n" for name, title in sorted(self._orphaned.items()))
        yield from (f"\n{keeping.slot(name, self._texts)}" for name in orphaned)


def _carried_ticks(
    titles: Mapping[str, str], ticks: Ticks
) -> tuple[frozenset[str], dict[str, str]]:
    """Which tasks are ticked now, and the ticks whose task is gone.

    A tick belongs to a title: where an answer changed, its ids may mean other work.
    """
    places: dict[tuple[str, str], str] = {}
    for name, title in titles.items():
        places.setdefault((name.rpartition("-")[0], title), name)
    ticked: set[str] = set()
    orphaned: dict[str, str] = {}
    for name, title in ticks.items():
        now = name if titles.get(name) == title else places.get((name.rpartition("-")[0], title))
        if now is None:
            orphaned[name] = title
        else:
            ticked.add(now)
    return frozenset(ticked), orphaned


def _listed(head: str, lines: Iterable[str]) -> str:
    items = "".join(f"- {line}\n" for line in lines)
    return f"{head}:\n\n{items}\n" if items else ""
