"""The audit of every file that tickets and the steps of their pack make."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from oraclepack.system.digests import sha256_bytes
from oraclepack.tickets import ticket as names
from oraclepack.tickets.tasks import MalformedTasks, read_complexity, read_tasks
from oraclepack.tickets.ticket import (
    OWNED,
    Acceptance,
    Actions,
    Audit,
    AuditedFile,
    NextWork,
    Owner,
    Review,
    TasksReport,
    TicketCheck,
    TicketIndex,
    TicketManifest,
)

_SHAPES: dict[str, type] = {
    names.INDEX: TicketIndex,
    names.ACTIONS: Actions,
    names.MANIFEST: TicketManifest,
    names.CHECK: TicketCheck,
    names.DETERMINISM: TicketCheck,
    names.TM_TASKS: TasksReport,
    names.TM_EXPANDED: TasksReport,
    names.TM_CHECK: TasksReport,
    names.TM_SYNC: TasksReport,
    names.NEXT: NextWork,
    names.REVIEW: Review,
    names.ACCEPTANCE: Acceptance,
}
_NEEDED = frozenset({names.INDEX, names.ACTIONS, names.ACTIONS_PAGE, names.MANIFEST, names.PACK})


def audit(
    out_dir: str, prd_path: str, contents: Mapping[str, bytes | None], inside: Iterable[str]
) -> Audit:
    """Check every file that `ticketify` and its steps write.

    `contents` has them by path from the project root, `inside` the paths below `out_dir`.
    """
    own = {f"{out_dir}/{owned.name}": owned for owned in OWNED}
    audited = [
        _audited(path, owned.owner, owned.step, contents.get(path), owned.name)
        for path, owned in own.items()
        if owned.name != names.AUDIT
    ]
    audited.append(_audited(prd_path, Owner.TICKETIFY, "03", contents.get(prd_path), ""))
    tasks = contents.get(names.TASKS)
    audited.append(_audited(names.TASKS, Owner.TASK_MASTER, "05", tasks, names.TASKS))
    strangers = sorted(path for path in inside if path not in own and path != prd_path)
    return Audit(
        ok=all(file.problem is None for file in audited),
        files=tuple(audited),
        strangers=tuple(strangers),
    )


def _audited(
    path: str, owner: Owner, step: str | None, data: bytes | None, name: str
) -> AuditedFile:
    if data is None:
        problem = "missing" if name in _NEEDED or not name else None
        return AuditedFile(path=path, owner=owner, step=step, present=False, problem=problem)
    return AuditedFile(
        path=path,
        owner=owner,
        step=step,
        present=True,
        sha256=sha256_bytes(data),
        problem=_problem(name, data),
    )


def _problem(name: str, data: bytes) -> str | None:
    if not data.strip():
        return "empty"
    readers: dict[str, Callable[[bytes | None], object]] = {
        names.TM_COMPLEXITY: read_complexity,
        names.TASKS: read_tasks,
    }
    if name in readers:
        read = readers[name](data)
        return read.reason if isinstance(read, MalformedTasks) else None
    if name in _SHAPES:
        try:
            msgspec.json.decode(data, type=_SHAPES[name])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as trouble:
            return f"wrong format: {trouble}"
        return None
    try:
        data.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    return None
