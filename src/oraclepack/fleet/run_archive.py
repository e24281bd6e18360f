"""A run directory as bytes, to be kept in a store and unpacked on another machine."""

import io
import tarfile
from pathlib import Path

from oraclepack.errors import InputError
from oraclepack.system import files

LARGEST = 64 * 1024 * 1024
"""Bytes, packed. A larger directory stays where it is, and the job says where."""
_LARGEST_UNPACKED = 1024 * 1024 * 1024
_LEFT_OUT = frozenset({"lock"})


def pack_directory(folder: Path) -> bytes | None:
    """The files of a directory, the same bytes for the same files; None when they are too many."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if name in _LEFT_OUT or path.is_symlink() or not path.is_file():
                continue
            data = files.read(path)
            if data is None:
                continue  # removed meanwhile
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o600
            archive.addfile(member, io.BytesIO(data))
            if packed.tell() > LARGEST:
                return None
    return packed.getvalue() if packed.tell() <= LARGEST else None


def unpack_directory(data: bytes, folder: Path) -> None:
    """Put the files of an archive into a directory, which need not exist. Raises InputError."""
    total = 0
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:xz") as archive:
            for member in archive:
                content = archive.extractfile(member) if member.isreg() else None
                parts = member.name.split("/")
                total += member.size
                if content is None or not all(parts) or {"..", "."} & set(parts):
                    raise InputError(f"the archive of a run holds {member.name!r}")
                if total > _LARGEST_UNPACKED:
                    raise InputError("the archive of a run is too large")
                target = folder.joinpath(*parts)
                files.make_private(target.parent)
                files.write_atomic(target, content.read(), mode=files.PRIVATE_FILE)
    except (tarfile.TarError, EOFError, ValueError) as trouble:
        raise InputError(f"the archive of a run cannot be read: {trouble}") from None
