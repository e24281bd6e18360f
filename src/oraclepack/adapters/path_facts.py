"""What the paths that a pack names stand for in the project."""

import functools
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from oraclepack.core.facts import PathFact, PathKind
from oraclepack.pack.model import Pack
from oraclepack.pack.tool_call import AttachmentKind
from oraclepack.system.path_jail import inside


def path_facts(pack: Pack, project_root: Path) -> dict[str, PathFact]:
    """The literal attachments and known outputs of a pack, as they stand in the project."""
    root = os.path.realpath(project_root)
    # Most of them share a folder, and to find the true place of one takes a look at each part.
    folder = functools.cache(os.path.realpath)
    return {path: _fact(root, path, folder) for path in sorted(set(_named(pack)))}


def _named(pack: Pack) -> Iterator[str]:
    for step in pack.steps:
        for call in step.calls:
            for attachment in call.attachments:
                if attachment.kind is AttachmentKind.LITERAL:
                    yield attachment.value
        for output in step.outputs:
            if output.path.value:
                yield output.path.value


def _fact(root: str, path: str, folder: Callable[[str], str]) -> PathFact:
    try:
        place = _true_place(os.path.join(root, path), folder)  # noqa: PTH118 - Path would fold `a/..`
        if inside(root, place) is None:
            return PathFact(PathKind.OUTSIDE)
        found = os.stat(place)  # noqa: PTH116 - a string is what realpath gives
    except (OSError, ValueError):
        return PathFact(PathKind.MISSING)
    if stat.S_ISDIR(found.st_mode):
        return PathFact(PathKind.DIRECTORY)
    return PathFact(PathKind.FILE, found.st_size)


def _true_place(path: str, folder: Callable[[str], str]) -> str:
    """As `os.path.realpath`, with the folder looked up by `folder`."""
    above, _, name = path.rpartition("/")
    if name in {"", ".", ".."} or not above:
        return os.path.realpath(path)
    place = f"{folder(above).rstrip('/')}/{name}"
    return os.path.realpath(path) if os.path.islink(place) else place  # noqa: PTH114
