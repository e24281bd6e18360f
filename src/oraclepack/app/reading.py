"""Reading a pack from disk: the first thing every command that works on packs does."""

import os
from pathlib import Path, PurePosixPath

import msgspec

from oraclepack.adapters.packs import read_pack_text
from oraclepack.core.pack import Pack
from oraclepack.errors import UsageError
from oraclepack.parse.pack import parse_pack, uses_out_dir, with_out_dir
from oraclepack.parse.steps import Complete
from oraclepack.system.path_jail import Refused, jail


def _complete(text: str) -> bool:
    # Hardly a pack needs this, and it takes as long to load as the rest of reading.
    from oraclepack.shell.checker import complete  # noqa: PLC0415

    return complete(text)


def read_pack(path: Path) -> Pack:
    """The pack in a file; where the syntax tree cannot read it, bash is asked."""
    return parse_pack(read_pack_text(path), path.as_posix(), _complete)


class Directed(msgspec.Struct, frozen=True):
    """A pack whose answers go where the user says."""

    pack: Pack
    out_dir: str
    """As the variable has it: relative to the project root."""
    is_used: bool
    """The pack says `$out_dir` somewhere."""


def directed(
    pack: Pack, root: Path, out_dir: str, where: str, complete: Complete | None = _complete
) -> Directed:
    """The pack with another `out_dir` than its own, which must stay in the project.

    `where` tells who gave it; without `complete` no bash is asked.
    """
    verdict = jail(root, f"{out_dir.rstrip('/')}/x")
    if isinstance(verdict, Refused):
        hint = "give a directory inside the project, relative to its root"
        raise UsageError(f"{where} {out_dir}: {verdict.reason}", hint=hint)
    inside = PurePosixPath(verdict.relative).parent.as_posix()
    plain = inside if os.path.isabs(out_dir) else os.path.normpath(out_dir)  # noqa: PTH117
    if not uses_out_dir(pack):
        return Directed(pack, plain, is_used=False)
    return Directed(with_out_dir(pack, plain, complete), plain, is_used=True)
