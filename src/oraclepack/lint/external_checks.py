"""External facts about a pack: bash, shellcheck, and the paths that the pack names."""

import functools
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from oraclepack.lint.bash_syntax import check_syntax, start_reading
from oraclepack.lint.facts import CheckStatus, Facts, PathFact, PathKind
from oraclepack.lint.shellcheck import Shellcheck
from oraclepack.pack.model import Fence, Pack
from oraclepack.pack.tool_call import AttachmentKind
from oraclepack.shell.checker import complete
from oraclepack.system.path_jail import inside


def path_facts(pack: Pack, project_root: Path) -> dict[str, PathFact]:
    """The literal attachments and known outputs of a pack, as they are in the project."""
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
        place = _true_place(os.path.join(root, path), folder)  # Path would fold `a/..`
        if inside(root, place) is None:
            return PathFact(PathKind.OUTSIDE)
        status = os.stat(place)  # a string is what realpath gives
    except (OSError, ValueError):
        return PathFact(PathKind.MISSING)
    if stat.S_ISDIR(status.st_mode):
        return PathFact(PathKind.DIRECTORY)
    return PathFact(PathKind.FILE, status.st_size)


def _true_place(path: str, folder: Callable[[str], str]) -> str:
    """As `os.path.realpath`, with the folder looked up by `folder`."""
    above, _, name = path.rpartition("/")
    if name in {"", ".", ".."} or not above:
        return os.path.realpath(path)
    place = f"{folder(above).rstrip('/')}/{name}"
    return os.path.realpath(path) if os.path.islink(place) else place


__all__ = ["RunningChecks", "complete", "facts_for"]


class RunningChecks:
    """Shellcheck and bash at work on a block, while its pack is still being read."""

    def __init__(self, block: Fence | None) -> None:
        # Shellcheck is the slow one: it starts first.
        self.shellcheck = Shellcheck(block)
        self.bash = start_reading(block) if block is not None else None

    def stop(self) -> None:
        """End both: the pack cannot be read, so their results are not needed."""
        self.shellcheck.drop("the pack cannot be read")
        if self.bash is not None:
            self.bash.stop()


def facts_for(pack: Pack, project_root: Path, *, started: RunningChecks | None = None) -> Facts:
    """Everything outside the text that the rules may know, asked for now."""
    working = started or RunningChecks(pack.block)
    syntax = check_syntax(pack, working.bash)
    paths = path_facts(pack, project_root)
    if syntax.status is CheckStatus.FAILED:
        verdict = working.shellcheck.drop("bash -n found errors; fix them first")
    else:
        verdict = working.shellcheck.result()
    return Facts(syntax, verdict, paths)
