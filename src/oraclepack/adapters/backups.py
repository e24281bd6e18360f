"""Copies of files that a step may replace, kept in the run directory for a rollback."""

import stat
from pathlib import Path

from oraclepack.journal import events as j
from oraclepack.journal.run_dir import BACKUPS, attempt_name
from oraclepack.system import file_moves, files
from oraclepack.system.digests import sha256_bytes


def keep_copy(run_dir: Path, step: str, attempt: int, path: str, place: Path) -> j.SetAside | None:
    """Keep a copy of a file in the run directory; None when there is no such file."""
    if not place.is_file():
        return None
    backup = f"{BACKUPS}/{attempt_name(step, attempt)}/{path}"
    target = run_dir / backup
    files.make_private(target.parent)
    try:
        file_moves.copy(place, target)
        # Told of the copy: the file may have changed since, and a rollback checks what was kept.
        content, mode = target.read_bytes(), stat.S_IMODE(target.stat().st_mode)
    except OSError as trouble:
        raise files.cannot("keep a copy of", place, trouble) from trouble
    return j.SetAside(
        step=step,
        attempt=attempt,
        path=path,
        backup=backup,
        sha256=sha256_bytes(content),
        bytes=len(content),
        mode=mode,
    )
