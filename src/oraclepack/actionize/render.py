"""Records → `normalized.jsonl` and `backlog.md`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from oraclepack.actionize.prose import (
    bullets,
    evidence_lines,
    listed,
    listed_markdown,
    named,
    origin,
)
from oraclepack.core.backlog import PackAnswers, Priority, Record, WorkStatus
from oraclepack.pack.model import CATEGORIES
from oraclepack.system import kept_text as keeping
from oraclepack.system.digests import canonical_line
from oraclepack.system.markdown_text import code_span, escape_keeping_code
from oraclepack.system.printable import screen_json

_RANK = {priority: number for number, priority in enumerate(Priority)}
_HEAD = """\
# Backlog

{about}

Made by `oraclepack actionize`, and made anew each time. Your own text survives between a line
`<!-- keep: NAME -->` and the next `<!-- /keep -->`; there is such a place below every task.

{notes}
{counts}
"""
REHEARSAL_NOTE = "These answers come from a rehearsal and say nothing about the code."


def normalized(records: Iterable[Record]) -> str:
    """`normalized.jsonl`: one record a line, by id."""
    return "".join(f"{screen_json(canonical_line(record)).decode()}\n" for record in records)


def about(pack: PackAnswers) -> str:
    """Which pack the artifacts belong to."""
    title = f"Pack {code_span(pack.pack_name)}, " if pack.pack_name else "Pack "
    run = f", run {code_span(pack.pack_id)}" if pack.pack_id else ""
    line = f"{title}hash {code_span(pack.pack_hash[:16])}{run}."
    return f"{line}\n\n**{REHEARSAL_NOTE}**" if pack.rehearsal else line


def by_urgency(record: Record) -> tuple[int, int, int, str]:
    place = CATEGORIES.index(record.category)
    return _RANK[record.priority], place, -record.score, record.task_id


def backlog(pack: PackAnswers, records: Sequence[Record], kept: Mapping[str, str]) -> str:
    """`backlog.md`: work by priority and category; conflicts and blocked questions apart."""
    of = {status: [r for r in records if r.status is status] for status in WorkStatus}
    counts = ", ".join(f"{len(of[status])} {status}" for status in WorkStatus)
    head = _HEAD.format(
        about=about(pack), notes=keeping.slot(keeping.NOTES, kept), counts=f"{counts}."
    )
    parts = [head, *_work(of[WorkStatus.ACTIONABLE], kept)]
    for status, title, write in (
        (WorkStatus.CONFLICT, "Conflicts", _conflict),
        (WorkStatus.BLOCKED, "Blocked", _blocked),
    ):
        if of[status]:
            parts.append(f"\n## {title}\n")
        parts += [write(record, kept) for record in sorted(of[status], key=by_urgency)]
    parts += _no_work(of[WorkStatus.NOOP])
    return "".join([*parts, *_left_over(records, kept)])


def _work(records: Sequence[Record], kept: Mapping[str, str]) -> Iterator[str]:
    ordered = sorted(records, key=by_urgency)
    for (priority, category), group in groupby(ordered, lambda r: (r.priority, r.category)):
        yield f"\n## {priority}: {category}\n"
        for record in group:
            yield _task(record, kept)


def _title(record: Record) -> str:
    return f"\n### {record.task_id} {escape_keeping_code(record.title)}\n\n{origin(record)}\n\n"


def _task(record: Record, kept: Mapping[str, str]) -> str:
    return (
        _title(record)
        + bullets(record.actions, "- [ ]")
        + "\n"
        + _common(record)
        + keeping.slot(record.task_id, kept)
    )


def _common(record: Record) -> str:
    parts = listed_markdown("Evidence:", evidence_lines(record)) + listed("Notes:", record.notes)
    if record.status is WorkStatus.ACTIONABLE:
        parts += listed_markdown("Would be surer with:", map(named, record.missing_inputs))
    if record.depends_on:
        parts += f"Comes after: {', '.join(record.depends_on)}\n\n"
    if record.merged:
        parts += f"Also raised as: {', '.join(record.merged)}\n\n"
    return parts


def _conflict(record: Record, kept: Mapping[str, str]) -> str:
    sides = [
        escape_keeping_code(f"step {side.step_id}: {side.text}")
        + (f" ({', '.join(map(code_span, side.citations))})" if side.citations else "")
        for side in record.statements
    ]
    return (
        _title(record)
        + listed_markdown("The statements that disagree:", sides)
        + listed_markdown("What decides:", map(named, record.missing_inputs))
        + f"Next experiment: {escape_keeping_code(record.next_experiment or '')}\n\n"
        + _common(record)
        + keeping.slot(record.task_id, kept)
    )


def _blocked(record: Record, kept: Mapping[str, str]) -> str:
    return (
        _title(record)
        + bullets(record.actions, "- [ ]")
        + ("\n" if record.actions else "")
        + listed_markdown("Missing:", map(named, record.missing_inputs))
        + f"Next experiment: {escape_keeping_code(record.next_experiment or '')}\n\n"
        + _common(record)
        + keeping.slot(record.task_id, kept)
    )


def _no_work(records: Sequence[Record]) -> Iterator[str]:
    if records:
        yield "\n## No work\n\n"
        yield from (
            f"- {record.task_id} {escape_keeping_code(record.title)}\n" for record in records
        )


def _left_over(records: Iterable[Record], kept: Mapping[str, str]) -> Iterator[str]:
    """Text whose place is gone is kept at the end, never dropped."""
    quiet = {record.task_id for record in records if record.status is not WorkStatus.NOOP}
    gone = sorted(set(kept) - quiet - {keeping.NOTES})
    if gone:
        yield "\n## Kept text\n"
        yield from (f"\n{keeping.slot(name, kept)}" for name in gone)
