"""Files that a step may replace: a copy of each is kept, so that a rollback can put it back."""

import stat
from collections.abc import Iterable
from pathlib import Path

from oraclepack.adapters import files, relocate
from oraclepack.adapters.jail import Allowed, jail
from oraclepack.app.calls.world import CallWorld
from oraclepack.core import journal as j
from oraclepack.core.digest import sha256_bytes
from oraclepack.core.invocation import LiveCall

BACKUPS = "backups"
"""In the run directory."""


def keep_older(world: CallWorld, call: LiveCall, outputs: Iterable[Allowed]) -> None:
    """Copy what stands at paths that only the running shell could name.

    The paths that the text names were seen to when the step began.
    """
    step = world.pack.step(call.step)
    declared = {output.path.value for output in step.outputs} if step else set()
    named = {_place(world, path) for path in declared if path}
    known = {_path(event) for event in world.journal.state.session_files}
    for output in outputs:
        path = output.relative
        if path in named or path in known or not world.shared.is_first_to_write(path):
            continue
        kept = keep_copy(world.run_dir, call.step, call.attempt, path, output.path)
        if kept is not None:
            world.tell(kept)


def keep_copy(run_dir: Path, step: str, attempt: int, path: str, place: Path) -> j.SetAside | None:
    """Keep a copy of a file in the run directory; None when there is no such file."""
    content = files.read(place) if place.is_file() else None
    if content is None:
        return None
    backup = f"{BACKUPS}/{step}.{attempt}/{path}"
    target = run_dir / backup
    files.make_directories(target.parent, files.PRIVATE_DIRECTORY)
    try:
        relocate.copy(place, target)
    except OSError as trouble:
        raise files.cannot("keep a copy of", place, trouble) from trouble
    return j.SetAside(
        step=step,
        attempt=attempt,
        path=path,
        backup=backup,
        sha256=sha256_bytes(content),
        bytes=len(content),
        mode=stat.S_IMODE(place.stat().st_mode),
    )


def _place(world: CallWorld, path: str) -> str:
    verdict = jail(world.root, path)
    return verdict.relative if isinstance(verdict, Allowed) else path


def _path(event: j.SetAside | j.OutputRecorded) -> str | None:
    return event.path if isinstance(event, j.SetAside) else event.declared_path
