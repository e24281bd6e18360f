"""A place where a test and a step wait for each other: no sleeping, no guessing."""

import os
import select
from pathlib import Path

PATIENCE = 60_000
"""Milliseconds; only a broken program takes that long."""


class Meeting:
    """A named pipe: the step says that it is there with `echo here >NAME`."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        # Open for both, so that neither side ever waits in `open`.
        self._descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def wait(self) -> str:
        """Until the step has come; what it said."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        assert poll.poll(PATIENCE), "the step never came"
        return os.read(self._descriptor, 4096).decode()
