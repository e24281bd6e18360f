"""`actionize` as a whole: read answers, turn them into work, write what changed."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from oraclepack.actionize.engine import BACKLOG, EXPORTS, Work, actionize
from oraclepack.adapters import files, lock, surroundings
from oraclepack.adapters.clock import SystemClock
from oraclepack.app.actionize.loading import Loaded, from_directory, from_run
from oraclepack.core.backlog import (
    Actionized,
    Artifact,
    Export,
    PackAnswers,
    WorkStatus,
    WrittenArtifact,
)
from oraclepack.core.digest import sha256_bytes
from oraclepack.core.errors import LockedError, UsageError
from oraclepack.core.moment import rfc3339

FOLDER = "actionizer"


class Request(msgspec.Struct, frozen=True):
    """What to actionize, and where to put it."""

    run_dir: str = ""
    answers: str = ""
    pack: str = ""
    out_dir: str = ""
    exports: tuple[Export, ...] = ()


class Done(msgspec.Struct, frozen=True):
    """What an actionize came to."""

    told: Actionized
    work: Work
    warnings: tuple[str, ...] = ()


def actionize_request(request: Request, root: Path) -> Done:
    """Answer a request of the command line. `root` is the project the answers speak of."""
    if bool(request.run_dir) == bool(request.answers):
        raise UsageError("give --run-dir DIR, or --answers DIR with --pack PACK")
    if bool(request.answers) != bool(request.pack):
        raise UsageError("--answers and --pack belong together")
    if request.answers:
        source = Path(request.answers)
        loaded = from_directory(source, Path(request.pack), root)
        return _done(loaded, _place(request, source), request.exports)
    source = Path(request.run_dir)
    if not source.is_dir():
        raise UsageError(f"--run-dir {source}: no such directory")
    with locked(source):
        return actionize_run(source, root, request.exports, request.out_dir)


def actionize_run(
    run_dir: Path, root: Path, exports: Sequence[Export] = (), out_dir: str = ""
) -> Done:
    """Actionize a run whose lock the caller holds."""
    place = Path(out_dir) if out_dir else run_dir / FOLDER
    return _done(from_run(run_dir, root), place, exports)


def _place(request: Request, source: Path) -> Path:
    return Path(request.out_dir) if request.out_dir else source / FOLDER


def _done(loaded: Loaded, place: Path, exports: Iterable[Export]) -> Done:
    # An export that was made before would otherwise go stale beside a new backlog.
    wanted = {*exports, *(one for one, name in EXPORTS.items() if (place / name).exists())}
    work = actionize(loaded.answers, wanted, earlier_backlog(place))
    written = write_artifacts(place, work.artifacts)
    return Done(told(loaded.answers, work, place, written), work, loaded.warnings)


def earlier_backlog(place: Path) -> str:
    """The backlog that stands there, with a person's text in it."""
    data = files.read(place / BACKLOG)
    return "" if data is None else data.decode("utf-8", "replace")


def write_artifacts(place: Path, artifacts: Iterable[Artifact]) -> tuple[WrittenArtifact, ...]:
    """Write what differs from what is there; a second time writes nothing."""
    files.make_directories(place)
    files.sweep(place)
    return tuple(_written(place, artifact) for artifact in artifacts)


def _written(place: Path, artifact: Artifact) -> WrittenArtifact:
    data = artifact.text.encode("utf-8", "replace")
    changed = files.read(place / artifact.path) != data
    if changed:
        files.write_atomic(place / artifact.path, data)
    return WrittenArtifact(
        path=artifact.path, sha256=sha256_bytes(data), bytes=len(data), changed=changed
    )


def told(
    answers: PackAnswers, work: Work, place: Path, written: tuple[WrittenArtifact, ...]
) -> Actionized:
    """The figures of an actionize."""
    counted = Counter(record.status for record in work.records)
    tasks = {status: counted[status] for status in WorkStatus}
    answered = sum(step.is_answered for step in answers.steps)
    share = tasks[WorkStatus.ACTIONABLE] / answered if answered else 0.0
    return Actionized(
        pack_id=answers.pack_id,
        pack_hash=answers.pack_hash,
        out_dir=place.as_posix(),
        steps=len(answers.steps),
        answered=answered,
        tasks=tasks,
        action_yield=round(share, 4),
        artifacts=written,
    )


@contextmanager
def locked(run_dir: Path) -> Iterator[None]:
    """Hold a run's lock, so that nobody runs its steps meanwhile."""
    holder = lock.Holder(
        pid=surroundings.process_id(),
        host=surroundings.host(),
        started_at=rfc3339(SystemClock().now()),
        command="actionize",
    )
    held = lock.acquire(run_dir, holder)
    if isinstance(held, lock.Holder):
        raise LockedError(f"run {run_dir.name} is in use by {held}", hint="wait for it to end")
    with held:
        yield
