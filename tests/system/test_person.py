"""Questions at a real terminal."""

import os
import pty
import sys

import pytest

from oraclepack.system.terminal import ask, can_ask


@pytest.mark.parametrize(
    ("typed", "expected"),
    [("y\n", True), ("Yes\n", True), ("n\n", False), ("\n", False), ("what?\n", False)],
)
def test_only_yes_is_yes(monkeypatch: pytest.MonkeyPatch, typed: str, expected: bool) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r+b", buffering=0) as screen, open(theirs, closefd=False) as keys:
        monkeypatch.setattr(sys, "stdin", keys)
        os.write(ours, typed.encode())

        assert ask("again?", lambda _: True) is expected
        assert screen.isatty()
    os.close(ours)


def test_the_answer_is_no_longer_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs) as keys:
        monkeypatch.setattr(sys, "stdin", keys)

        assert ask("again?", lambda _: False) is False
    os.close(ours)


def test_a_pipe_cannot_be_asked() -> None:
    assert can_ask() is False
