"""What answers of each model were like on this machine: tokens and seconds, for forecasts.

A file in the user's state directory gets one line for each answer. It only helps to forecast, so
failing to read or to write it is not an error.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from oraclepack.errors import OraclePackError
from oraclepack.system import disk, files
from oraclepack.system.digests import canonical_line, sha256_text
from oraclepack.system.environment import state_directory
from oraclepack.system.locks import turn

_NAME, _LOCK = "answers.jsonl", "answers.lock"
_MOST_BYTES = 400_000
"""Beyond that the older half is dropped."""
_PATIENCE = 1.0
_LATEST = 200
"""Answers of a model that a forecast considers."""


_ALIKE = 4.0
"""Questions are of similar size while neither has more than so many times the tokens."""


class AnswerFigures(msgspec.Struct, frozen=True):
    """One answer: its model as oracle resolves it, its tokens, and how long it took."""

    model: str
    output_tokens: int
    seconds: float
    input_tokens: int | None = None
    project: str = ""
    """Which project asked: a hash of its root, so that no path is kept here."""


class AnswerHistory:
    """Past answers, for those to come."""

    def __init__(self, figures: Sequence[AnswerFigures] = (), project: str = "") -> None:
        self._figures, self._project = figures, project

    def like(self, model: str, input_tokens: int | None) -> Sequence[AnswerFigures]:
        """The latest answers of the model to questions of similar size, of this project if any.

        Where the size is not known, answers to questions of any size.
        """
        similar = [
            one
            for one in self._figures
            if one.model == model and _is_similar(one.input_tokens, input_tokens)
        ]
        own = [one for one in similar if one.project == self._project]
        return (own or similar)[-_LATEST:]


def _is_similar(one: int | None, other: int | None) -> bool:
    if other is None:
        return True
    return one is not None and max(one, other) <= _ALIKE * max(min(one, other), 1)


def project_mark(root: Path) -> str:
    """What the history knows a project by."""
    return sha256_text(os.path.realpath(root))[:16]


def history_directory() -> Path:
    return state_directory() / "history"


def note_answer(figures: AnswerFigures, directory: Path | None = None) -> None:
    """Remember an answer."""
    folder = directory or history_directory()
    with suppress(OSError, OraclePackError):
        files.make_private(folder)
        with turn(folder / _LOCK, _PATIENCE):
            path = folder / _NAME
            line = canonical_line(figures) + b"\n"
            data = files.read(path) or b""
            if len(data) > _MOST_BYTES:
                rest = data[len(data) // 2 :].partition(b"\n")[2] + line
                files.write_atomic(path, rest, mode=files.PRIVATE_FILE, durable=False)
                return
            descriptor = disk.open_append(path, files.PRIVATE_FILE)
            try:
                disk.write(descriptor, line, path)
            finally:
                os.close(descriptor)


def answer_history(root: Path, directory: Path | None = None) -> AnswerHistory:
    """The answers that are remembered, for a project."""
    figures = []
    data = b""
    with suppress(OSError, OraclePackError):
        data = files.read((directory or history_directory()) / _NAME) or b""
    for line in data.splitlines():
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            figures.append(msgspec.json.decode(line, type=AnswerFigures))
    return AnswerHistory(figures, project_mark(root))
