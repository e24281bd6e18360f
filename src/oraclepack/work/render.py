"""Records → `normalized.jsonl` and `backlog.md`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import groupby

from oraclepack.pack.model import CATEGORIES
from oraclepack.system import kept_text as keeping
from oraclepack.system.digests import canonical_line
from oraclepack.system.markdown_text import code_span, escape_keeping_code
from oraclepack.system.printable import screen_json
from oraclepack.work.backlog import PackAnswers, Priority, Record, WorkStatus
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


UNKNOWN_EFFORT = 3.0

_PLAN_HEAD = """\
# Change plan

{about}

Smallest first; what depends on something comes after it. Made by `oraclepack actionize`.
"""

Size = tuple[bool, float, int, int, int, str]


def size(record: Record) -> Size:
    """How big a piece of work looks: experiments first, then effort, places, actions."""
    effort = UNKNOWN_EFFORT if record.effort is None else record.effort
    places = len(record.evidence.paths)
    return (
        not record.experiment,
        effort,
        places,
        len(record.actions),
        -record.score,
        record.task_id,
    )


def resolved(records: Iterable[Record]) -> dict[str, str]:
    """Every id that ever stood for something, and the record that holds it now."""
    return {name: r.task_id for r in records for name in (r.task_id, *r.merged)}


def in_order(records: Sequence[Record]) -> tuple[Record, ...]:
    """Actionable records, smallest first, each after what it depends on.

    Where merging made a circle, the smallest of it goes first.
    """
    work = {r.task_id: r for r in records if r.status is WorkStatus.ACTIONABLE}
    names = resolved(records)
    waits = {name: _waits_for(record, names, work) for name, record in work.items()}
    frees: dict[str, list[str]] = {}
    for name, before in waits.items():
        for other in before:
            frees.setdefault(other, []).append(name)
    ready = [size(work[name]) for name, before in waits.items() if not before]
    stuck = [size(work[name]) for name, before in waits.items() if before]
    heapify(ready)
    heapify(stuck)
    done: dict[str, Record] = {}
    while ready or stuck:
        name = heappop(ready or stuck)[-1]
        if name in done:
            continue
        done[name] = work[name]
        for later in frees.get(name, ()):
            waits[later].discard(name)
            if not waits[later]:
                heappush(ready, size(work[later]))
    return tuple(done.values())


def _waits_for(record: Record, names: Mapping[str, str], work: Mapping[str, Record]) -> set[str]:
    known = {names[name] for name in record.depends_on if name in names}
    return {name for name in known if name in work and name != record.task_id}


def change_plan(pack: PackAnswers, records: Sequence[Record]) -> str:
    """`change-plan.md`."""
    steps = [_step(record) for record in in_order(records)]
    body = "".join(steps) or "\nNothing can be planned yet.\n"
    return "".join([_PLAN_HEAD.format(about=about(pack)), body, *_open(records)])


def _step(record: Record) -> str:
    after = f"After: {', '.join(record.depends_on)}\n\n" if record.depends_on else ""
    title = escape_keeping_code(record.title)
    return (
        f"\n## {record.task_id} {title}\n\n{origin(record)} · {record.category}\n\n"
        + after
        + bullets(record.actions)
        + "\n"
        + listed_markdown("Where:", evidence_lines(record))
        + listed_markdown("Accepted when:", acceptance(record), "- [ ]")
        + f"Done when: {done_when(record)}\n"
    )


def _open(records: Sequence[Record]) -> Iterator[str]:
    """What cannot be planned before something else is known."""
    waiting = [r for r in records if r.status in {WorkStatus.BLOCKED, WorkStatus.CONFLICT}]
    if waiting:
        yield "\n## Not planned: a decision or evidence is missing\n\n"
    for record in waiting:
        title, first = map(escape_keeping_code, (record.title, record.next_experiment or ""))
        yield f"- {record.task_id} ({record.status}) {title}. First: {first}\n"
