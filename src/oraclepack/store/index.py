"""What many small files say, kept with their versions, so that a list of them reads none again.

The files stay the truth: what changed since is read again, and without an index all of them are.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from oraclepack import __version__
from oraclepack.errors import OraclePackError
from oraclepack.store.database import Cursor, Database
from oraclepack.store.sqlite import SqliteDatabase
from oraclepack.system.digests import keyed_digest
from oraclepack.system.ownership import tracked
from oraclepack.system.trust_key import find_key

Fact = TypeVar("Fact")

_FEW, _SMALL = 32, 1_000_000
"""Reading so many files, of so many bytes together, takes no longer than opening the store."""
_DAYS = 180 * 86_400
"""Seconds after which a row is made anew, so that those of projects that are gone do not stay."""


def version_of(*paths: str) -> str:
    """Another one after every change to one of these files."""
    return " ".join(map(_version, paths))


def _version(path: str) -> str:
    try:
        return version_in(os.lstat(path))
    except OSError:
        return "-"


def version_in(status: os.stat_result) -> str:
    # Unlike the time of its modification, nobody sets the time at which a file was changed.
    return f"{status.st_ino}.{status.st_size}.{status.st_ctime_ns}"


def _bytes(versions: Iterable[str]) -> int:
    known = (part.split(".") for one in versions for part in one.split() if part != "-")
    return sum(int(size) for _, size, _ in known)


def indexed(
    root: Path,
    folder: str,
    versions: Mapping[str, str],
    fact: type[Fact],
    read: Callable[[str], tuple[Fact | None, bool]],
    *,
    is_whole: bool = True,
    database: Database | None = None,
) -> dict[str, Fact]:
    """What each file of a folder below a project says, by its name; what says nothing is left out.

    `versions` are those of the files now, looked up before this is called. `read` also returns
    whether what a file says depends on that file alone, so that it may be kept. With `is_whole`
    the folder has no other files. What git tracks is read anew: its index decides whose it is.
    """
    key = find_key()
    is_little = len(versions) < _FEW and _bytes(versions.values()) < _SMALL
    if key is None or is_little or tracked(root, folder) is not None:
        read_now = ((name, read(name)[0]) for name in versions)
        return {name: one for name, one in read_now if one is not None}
    # With another key everything would be foreign. No path of a project is kept.
    parts = (str((root / folder).resolve()), fact.__name__, __version__)
    mark = keyed_digest(key, "index", *(part.encode() for part in parts))
    with closing(database or SqliteDatabase()) as store:
        known: dict[str, tuple[str, bytes]] = {}
        with suppress(OraclePackError):
            rows = store.rows(
                "select name, version, fact from file_index where folder = %s", (mark,)
            )
            known = {name: (version, data) for name, version, data in rows}
        decode = msgspec.json.Decoder(fact).decode
        facts: dict[str, Fact] = {}
        changed: dict[str, tuple[str, bytes]] = {}
        for name, version in versions.items():
            row = known.get(name)
            if row is not None and row[0] == version:
                with suppress(msgspec.MsgspecError):  # of another version of oraclepack
                    facts[name] = decode(row[1])
                    continue
            one, is_kept = read(name)
            if one is not None:
                facts[name] = one
            if is_kept:
                changed[name] = (version, msgspec.json.encode(one))
        gone = known.keys() - versions.keys() if is_whole else set()

        def work(cursor: Cursor) -> None:
            cursor.execute("delete from file_index where at < unix_now() - %s", (_DAYS,))
            for name in gone:
                cursor.execute(
                    "delete from file_index where folder = %s and name = %s", (mark, name)
                )
            for name, row in changed.items():
                cursor.execute(
                    "insert into file_index values (%s, %s, %s, %s, unix_now())"
                    " on conflict (folder, name) do update set version = excluded.version,"
                    " fact = excluded.fact, at = excluded.at",
                    (mark, name, *row),
                )

        if changed or gone:
            with suppress(OraclePackError):
                store.transaction(work)
    return facts
