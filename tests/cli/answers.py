"""Runs command lines through the boundary, in this process, and keeps what they print."""

import pytest

from oraclepack.cli.error_boundary import run
from tests.e2e.program import Ran


def answer(capsys: pytest.CaptureFixture[str], *args: str) -> Ran:
    code = run(args)
    printed = capsys.readouterr()
    return Ran(code, printed.out, printed.err)
