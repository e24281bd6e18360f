"""What answers of each model were like on this machine: tokens and seconds, for forecasts.

A file in the user's state directory gets one line for each answer. It only helps to forecast, so
failing to read or to write it is not an error.
"""

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from oraclepack.errors import OraclePackError
from oraclepack.system import disk, files
from oraclepack.system.digests import canonical_line
from oraclepack.system.environment import state_directory
from oraclepack.system.locks import turn

_NAME, _LOCK = "answers.jsonl", "answers.lock"
_MOST_BYTES = 400_000
"""Beyond that the older half is dropped."""
_PATIENCE = 1.0
_LATEST = 200
"""Answers of a model that a forecast considers."""


class AnswerFigures(msgspec.Struct, frozen=True):
    """One answer: its model as oracle resolves it, its output tokens, and how long it took."""

    model: str
    output_tokens: int
    seconds: float


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


def past_figures(directory: Path | None = None) -> Mapping[str, Sequence[tuple[int, float]]]:
    """Output tokens and seconds of the latest answers, by model."""
    past: dict[str, list[tuple[int, float]]] = defaultdict(list)
    data = b""
    with suppress(OSError, OraclePackError):
        data = files.read((directory or history_directory()) / _NAME) or b""
    for line in data.splitlines():
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            one = msgspec.json.decode(line, type=AnswerFigures)
            past[one.model].append((one.output_tokens, one.seconds))
    return {model: answers[-_LATEST:] for model, answers in past.items()}
