"""Runs command lines through the boundary, in this process, and keeps what they print."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from oraclepack.cli.main import run


@dataclass(frozen=True)
class Answer:
    """What one command line gave."""

    code: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded


def answer(capsys: pytest.CaptureFixture[str], *args: str) -> Answer:
    code = run(args)
    printed = capsys.readouterr()
    return Answer(code, printed.out, printed.err)
