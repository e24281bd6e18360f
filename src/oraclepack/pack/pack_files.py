"""Pack files on disk: which ones are meant, and their text."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

from oraclepack.errors import InputError, MissingFileError, Refusal, UsageError
from oraclepack.pack.model import Pack
from oraclepack.pack.parse.read_pack import parse_pack, uses_out_dir, with_out_dir
from oraclepack.pack.parse.step_boundaries import Complete
from oraclepack.shell.checker import complete
from oraclepack.system import files
from oraclepack.system.path_jail import jail
from oraclepack.system.printable import readable
from oraclepack.system.text_limits import PACK

LARGEST = PACK.size
"""Bytes. A pack is prose and prompts; anything larger is a mistake."""

LONGEST_NAME = 240
"""Bytes; most systems take 255, and `<pack>.report.json` has to fit."""

MOST_LINES = PACK.lines
"""The longest known packs have less than half of it."""

_PASSED_OVER = frozenset({"node_modules", "__pycache__", "_failed"})
_OPENS_BASH = re.compile(rb"^[ >]*(?:```+|~~~+)[ \t]*bash\b", re.MULTILINE)
_OPENS_STEP = re.compile(rb"^[ >]*#[ \t]*\d\d(?:\)|[ \t])", re.MULTILINE)


def find_packs(paths: Iterable[str]) -> tuple[Path, ...]:
    """The packs that paths name: files as they are, in folders every Markdown file that is one."""
    packs: dict[Path, None] = {}
    for name in paths:
        if not name:
            # Python would take it for the current directory; it is an unset variable.
            raise InputError("an empty path names no pack", hint="name a file or a directory")
        path = Path(name)
        if path.is_dir():
            inside = sorted(_packs_below(path))
            if not inside:
                raise InputError(
                    f"{name}: no packs below this directory",
                    hint="a pack is a .md file with a bash block that holds steps like `# 01) …`",
                )
            packs |= dict.fromkeys(inside)
        else:
            packs[path] = None
    return tuple(packs)


def check_name(path: Path) -> None:
    """Refuse a pack that cannot be run: records contain its path, and files are named after it."""
    try:
        encoded = str(path).encode()
    except UnicodeEncodeError:
        printable = readable(str(path))
        raise InputError(
            f"{printable}: the path is not valid UTF-8", hint="rename the file"
        ) from None
    if len(encoded.rpartition(b"/")[2]) > LONGEST_NAME:
        raise InputError(
            f"{path}: a name of more than {LONGEST_NAME} bytes is too long for a pack",
            hint="rename the file; others are named after it and have longer endings",
        )


def read_pack_text(path: Path) -> str:
    """The text of a pack, or an error that says why it cannot be one."""
    content = _content(path)
    if len(content) > LARGEST:
        raise InputError(
            f"{path}: more than {LARGEST} bytes are too large for a pack",
            hint="attach large files instead of quoting them",
        )
    if content.count(b"\n") + content.count(b"\r") - content.count(b"\r\n") > MOST_LINES:
        raise InputError(
            f"{path}: more than {MOST_LINES} lines are too many for a pack",
            hint="if it is a pack, split it, or attach long files instead of quoting them",
        )
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise InputError(
            f"{path}: line {line} holds a NUL byte, so this is not a text file",
            hint="is it binary, or saved as UTF-16? save it as UTF-8",
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise InputError(
            f"{path}: line {line} is not UTF-8 (byte 0x{byte:02x})",
            hint=f"convert it, for example: iconv -f latin1 -t utf-8 {path}",
        ) from None


def _content(path: Path) -> bytes:
    try:
        # Reading a named pipe would block until it has a writer; /dev/stdin has one.
        if not path.is_relative_to("/dev") and path.is_fifo():
            raise InputError(f"{path} is a named pipe", hint="save the pack to a file first")
        if path.is_relative_to("/dev"):
            with path.open("rb") as file:
                return file.read(LARGEST + 1)
        return files.read_beginning(path, LARGEST + 1)
    except FileNotFoundError:
        raise MissingFileError(f"{path}: no such file", hint="check the path") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a directory", hint="name the pack file inside it") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{path}: cannot be read: {reason}", hint="check permissions") from None


def _packs_below(folder: Path) -> Iterator[Path]:
    for parent, folders, names in files.walk(folder):
        folders[:] = [name for name in folders if is_searched(name)]
        for path in (Path(parent, name) for name in names if is_searched(name)):
            if path.suffix.lower() == ".md" and path.is_file() and _is_pack(path):
                yield path


def is_searched(name: str) -> bool:
    """Whether a file or folder of this name may hold something that people wrote."""
    return not name.startswith(".") and name not in _PASSED_OVER


def _is_pack(path: Path) -> bool:
    try:
        content = files.read_beginning(path, LARGEST + 1)
    except OSError:
        return False
    return _OPENS_BASH.search(content) is not None and _OPENS_STEP.search(content) is not None


def read_pack(path: Path) -> Pack:
    """The pack in a file; where the syntax tree cannot read it, bash is asked."""
    return parse_pack(read_pack_text(path), path.as_posix(), complete)


class RedirectedPack(msgspec.Struct, frozen=True):
    """A pack whose answers go where the user says."""

    pack: Pack
    out_dir: str
    """As the variable has it: relative to the project root."""
    is_used: bool
    """The pack says `$out_dir` somewhere."""


def directed(
    pack: Pack, root: Path, out_dir: str, where: str, complete: Complete | None = complete
) -> RedirectedPack:
    """The pack with another `out_dir` than its own, which must stay in the project.

    `where` names its source; without `complete` bash is not started.
    """
    verdict = jail(root, f"{out_dir.rstrip('/')}/x")
    if isinstance(verdict, Refusal):
        hint = "give a directory inside the project, relative to its root"
        raise UsageError(f"{where} {out_dir}: {verdict.reason}", hint=hint)
    inside = PurePosixPath(verdict.relative).parent.as_posix()
    plain = inside if os.path.isabs(out_dir) else os.path.normpath(out_dir)
    if not uses_out_dir(pack):
        return RedirectedPack(pack, plain, is_used=False)
    return RedirectedPack(with_out_dir(pack, plain, complete), plain, is_used=True)
