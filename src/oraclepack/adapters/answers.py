"""Answers and the files they cite, as the disk has them."""

import re
from pathlib import Path

import msgspec

from oraclepack.core.evidence import AskedFile
from oraclepack.errors import InputError
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import read_content
from oraclepack.system.text_limits import regex

WORDS = (".md", ".markdown", ".txt", "")
"""Endings of files that hold an answer in words."""

_ANSWER = regex(r"(?P<step>\d\d)(?:[-_ .].*)?\.(?:md|markdown|txt)", re.IGNORECASE)


def find_answers(directory: Path) -> dict[str, tuple[Path, ...]]:
    """The files `01-*.md` … of a directory by step, those of one step sorted by name."""
    try:
        names = sorted(entry.name for entry in directory.iterdir() if entry.is_file())
    except OSError as trouble:
        reason = trouble.strerror or str(trouble)
        raise InputError(
            f"{directory}: cannot be read: {reason}", hint="name the directory with the answers"
        ) from None
    found: dict[str, list[Path]] = {}
    for name in names:
        match = _ANSWER.fullmatch(name)
        if match is not None:
            found.setdefault(match["step"], []).append(directory / name)
    return {step: tuple(paths) for step, paths in found.items()}


class AnswerFile(msgspec.Struct, frozen=True):
    """An answer as it lies on disk."""

    text: str
    sha256: str


def read_answer(path: Path) -> AnswerFile | None:
    """An answer, whatever its bytes; None when there is no such file."""
    data = read_content(path).data
    if data is None:
        return None
    return AnswerFile(data.decode("utf-8-sig", "replace"), sha256_bytes(data))


def asked_file(root: Path, path: str, recorded: str | None) -> AskedFile:
    """A file that a question was asked about, as it is now."""
    data = read_content(root / path).data
    if data is None:
        return AskedFile(path, recorded)
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    return AskedFile(path, recorded, sha256_bytes(data), lines)
