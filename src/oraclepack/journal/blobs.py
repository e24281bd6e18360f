"""Byte strings of value in a run, each stored once under its SHA-256: `blobs/<sha256>`.

Events carry the hashes. A blob is written before the event that names it.
"""

from pathlib import Path

from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import plain_place, read_content

FOLDER = "blobs"
"""In a run directory."""


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
