"""Which files of ours a pattern of `--file` must not take in: records, quarantine, outputs.

Without that every run would send the journal and the answers of the last one, and ask a new
question each time. An exclusion changes how oracle treats literal files (they go through its
patterns too), so one is added only where a pattern, a directory or an exclusion is there already.
"""

import os
import posixpath
from collections.abc import Iterable, Sequence

import msgspec

from oraclepack.system.path_jail import CACHE, REHEARSALS, RUNS
from oraclepack.tools.oracle_attachments import (
    FileArgumentKind,
    is_plain,
    kind_of,
    literal_part,
    only_plain,
)

RECORDS = (RUNS, CACHE, REHEARSALS, ".oraclepack/_failed", ".oraclepack/published")
_SPECIAL = frozenset("*?[]{}()!+@,\\")


class OwnFiles(msgspec.Struct, frozen=True):
    """Paths relative to the project root that are not attached by a pattern."""

    folders: tuple[str, ...] = RECORDS
    files: tuple[str, ...] = ()
    """State and report of the pack."""
    outputs: tuple[str, ...] = ()
    """Of the whole pack: taken in by patterns that begin with their directory, for a synthesis."""
    mine: tuple[str, ...] = ()
    """Of the step itself: never taken in, it would ask another question the next time."""


def exclusions(root: str, cwd: str, values: Sequence[str], own: OwnFiles) -> tuple[str, ...]:
    """The values of `--file` to add to a call, so that none of these files is sent."""
    plain = [value for value in values if is_plain(value)]
    named = [value for value in plain if kind_of(cwd, value) is not FileArgumentKind.DIRECTORY]
    if only_plain(values) and len(named) == len(values):
        return ()
    literal = {os.path.normpath(os.path.join(cwd, value)) for value in named}
    starts = [
        os.path.normpath(os.path.join(cwd, value if is_plain(value) else literal_part(value)))
        for value in values
        if value not in named and not value.startswith("!")
    ]
    folders = (os.path.join(root, path) for path in own.folders)
    excluded = [
        f"{path}/**" for path in folders if not any(name.startswith(f"{path}/") for name in literal)
    ]
    files = {os.path.normpath(os.path.join(root, path)) for path in (*own.files, *own.mine)}
    files |= set(_not_asked_for(root, own.outputs, starts))
    excluded += sorted(files - literal)
    return tuple(f"!{_escaped(os.path.relpath(path, cwd))}" for path in excluded)


def _not_asked_for(root: str, outputs: Iterable[str], starts: Sequence[str]) -> Iterable[str]:
    """The outputs whose directory no pattern begins with."""
    for path in outputs:
        place = os.path.normpath(os.path.join(root, path))
        folder = posixpath.dirname(place)
        begins = (start == folder or start.startswith(f"{folder}/") for start in starts)
        if folder == os.path.normpath(root) or not any(begins):
            yield place


def _escaped(path: str) -> str:
    """A pattern that matches a path: what oracle reads as a sign of its own becomes `?`."""
    body, ending = (path[:-3], "/**") if path.endswith("/**") else (path, "")
    return "".join("?" if char in _SPECIAL else char for char in body) + ending
