"""Byte strings of value in a run, each stored once under its SHA-256: `blobs/<sha256>`.

Events carry the hashes. A blob is written before the event that names it.
"""

from pathlib import Path

from oraclepack.journal import events as j
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.file_moves import PreviousFile, read_previous
from oraclepack.system.path_jail import plain_file, plain_place, read_content

FOLDER = "blobs"
"""In a run directory."""
BACKUPS = "backups"
"""The same of runs before 0.3: copies of files that steps replaced, under their names."""


def keep_blob(run_dir: Path, data: bytes) -> str:
    """Store a byte string, synced, unless it is there; its SHA-256."""
    sha256 = sha256_bytes(data)
    if read_blob(run_dir, sha256) is None:
        files.make_private(run_dir / FOLDER)
        files.write_atomic(run_dir / FOLDER / sha256, data, mode=files.PRIVATE_FILE)
    return sha256


def read_blob(run_dir: Path, sha256: str | None) -> bytes | None:
    """The byte string with this hash; None where the run does not have it whole."""
    place = plain_place(run_dir, f"{FOLDER}/{sha256}") if sha256 else None
    data = read_content(place).data if place is not None else None
    return data if data is not None and sha256_bytes(data) == sha256 else None


def back_up(
    run_dir: Path, step: str, attempt: int, path: str, place: Path
) -> j.OutputBackedUp | None:
    """Keep the file at a place before it is replaced; None when there is none."""
    before = read_previous(place) if place.is_file() else None
    if before is None:
        return None
    sha256 = keep_blob(run_dir, before.content)
    return j.OutputBackedUp(
        step=step,
        attempt=attempt,
        path=path,
        backup=f"{FOLDER}/{sha256}",
        sha256=sha256,
        bytes=len(before.content),
        mode=before.mode,
        modified_ns=before.modified_ns,
    )


def read_backup(run_dir: Path, before: j.OutputBackedUp) -> PreviousFile | None:
    """The file that was kept, if the run has it whole, among its blobs or its copies."""
    is_ours = before.backup.startswith((f"{FOLDER}/", f"{BACKUPS}/"))
    place = plain_file(run_dir, before.backup) if is_ours else None
    kept = read_previous(place) if place is not None else None
    if kept is None or sha256_bytes(kept.content) != before.sha256:
        return None
    moment = kept.modified_ns if before.modified_ns is None else before.modified_ns
    mode = kept.mode if before.mode is None else before.mode
    return PreviousFile(kept.content, mode, moment, moment)


def read_output(run_dir: Path, output: j.RecordedOutput) -> bytes | None:
    """A recorded output, from its blob or its visible copy; None where neither is whole."""
    data = read_blob(run_dir, output.sha256)
    place = plain_place(run_dir, output.path) if data is None else None
    copy = read_content(place).data if place is not None else None
    return copy if copy is not None and sha256_bytes(copy) == output.sha256 else data
