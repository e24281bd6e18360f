"""Records → the order in which to do them, and `change-plan.md`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

from oraclepack.work.backlog import PackAnswers, Record, WorkStatus
from oraclepack.work.backlog_page import about
from oraclepack.work.prose import (
    acceptance,
    cited_lines,
    command_blocks,
    listed_markdown,
    origin,
    shown,
    work_text,
)

UNKNOWN_EFFORT = 3.0
EFFORT_OF_SIZE = {"S": 1.0, "M": UNKNOWN_EFFORT, "L": 5.0}
"""The sizes that answers state, on the scale of the efforts of questions."""

_HEAD = """\
# Change plan

{about}

Smallest first; what depends on something comes after it. Made by `oraclepack actionize`.
"""

Size = tuple[bool, float, int, int, int, str]


def size(record: Record) -> Size:
    """How big a piece of work looks: experiments first, then effort, places, actions.

    The size that the answer states counts before the effort of the question.
    """
    effort = UNKNOWN_EFFORT if record.effort is None else record.effort
    effort = EFFORT_OF_SIZE.get(record.size or "", effort)
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
    """Every id that was ever used, and the record that contains it now."""
    return {name: r.task_id for r in records for name in (r.task_id, *r.merged)}


def in_order(records: Sequence[Record]) -> tuple[Record, ...]:
    """Actionable records, smallest first, each after what it depends on.

    Where merging made a cycle, the smallest of it goes first.
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
    return "".join([_HEAD.format(about=about(pack)), body, *_open(records)])


def _step(record: Record) -> str:
    after = f"After: {', '.join(record.depends_on)}\n\n" if record.depends_on else ""
    places = ", ".join(cited_lines(record))
    text = "".join(f"{line}\n" for line in work_text(record))
    blocks = "".join(f"{block}\n" for block in command_blocks(record))
    return (
        f"\n## {record.task_id} {shown(record.title)}\n\n{origin(record)} · {record.category}\n\n"
        + after
        + (f"{text}\n" if text else "")
        + (f"Where: {places}\n\n" if places else "")
        + blocks
        + listed_markdown("Accepted when:", acceptance(record), "- [ ]")
    ).rstrip("\n") + "\n"


def _open(records: Sequence[Record]) -> Iterator[str]:
    """What cannot be planned before something else is known."""
    waiting = [r for r in records if r.status in {WorkStatus.BLOCKED, WorkStatus.CONFLICT}]
    if waiting:
        yield "\n## Not planned: a decision or evidence is missing\n\n"
    for record in waiting:
        title, first = map(shown, (record.title, record.next_step or ""))
        yield f"- {record.task_id} ({record.status}) {title}. First: {first}\n"
