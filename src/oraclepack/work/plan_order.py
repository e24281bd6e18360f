"""The order in which to do the work: by place in the code, each after what it depends on."""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush

from oraclepack.work.backlog import Record

Place = tuple[str, int, str]
_LAST = "\U0010ffff"


def place_of(record: Record) -> Place:
    """The first file and line that a record cites, or the first file that it names, and its id."""
    cited = record.evidence.citations
    if cited:
        return cited[0].path, cited[0].first_line, record.task_id
    paths = record.evidence.paths
    return paths[0] if paths else "", 0, record.task_id


def in_order(records: Sequence[Record]) -> tuple[Record, ...]:
    """The work by place, without a place last; where answers made a cycle, its first goes first."""
    work = {record.task_id: record for record in records if record.is_work}
    names = _resolved(records)
    waits = {
        name: {names[one] for one in record.depends_on if names.get(one) in work} - {name}
        for name, record in work.items()
    }
    frees: dict[str, list[str]] = {}
    for name, before in waits.items():
        for other in before:
            frees.setdefault(other, []).append(name)
    ready = [_key(work[name]) for name, before in waits.items() if not before]
    stuck = [_key(work[name]) for name, before in waits.items() if before]
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
                heappush(ready, _key(work[later]))
    return tuple(done.values())


def _key(record: Record) -> Place:
    path, line, name = place_of(record)
    return path or _LAST, line, name


def _resolved(records: Iterable[Record]) -> dict[str, str]:
    """Every id, and the record that contains it now."""
    return {name: r.task_id for r in records for name in (r.task_id, *r.merged)}
