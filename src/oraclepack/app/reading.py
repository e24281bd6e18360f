"""Reading a pack from disk: the first thing every command that works on packs does."""

from pathlib import Path

from oraclepack.adapters.packs import read_pack_text
from oraclepack.core.pack import Pack
from oraclepack.parse.pack import parse_pack


def _complete(text: str) -> bool:
    # Hardly a pack needs this, and it takes as long to load as the rest of reading.
    from oraclepack.adapters.syntax import complete  # noqa: PLC0415

    return complete(text)


def read_pack(path: Path) -> Pack:
    """The pack in a file; where the syntax tree cannot read it, bash is asked."""
    return parse_pack(read_pack_text(path), path.as_posix(), _complete)
