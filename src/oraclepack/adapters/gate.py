"""The gate before a tool: its process is there, and known, before the tool itself begins."""

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from oraclepack import shims

_PROGRAM = Path(shims.__file__).with_name("gate.py")


class Gate:
    """Start `argv` with `fd` for its child; it becomes a tool when the gate is opened."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self.fd = self._theirs.fileno()
        self.argv = (sys.executable, "-IS", str(_PROGRAM), str(self.fd))

    def open(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Let the tool begin, and see that it did. Raises OSError."""
        self._theirs.close()
        words = [os.fsencode(word) for word in argv]
        variables = [os.fsencode(f"{name}={value}") for name, value in env.items()]
        order = b"\0".join((words[0], b"%d" % len(words), *words, *variables))
        self._ours.sendall(len(order).to_bytes(8, "big") + order)
        if error := self._ours.recv(16):
            raise OSError(int(error), os.strerror(int(error)), argv[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._theirs.close()
        self._ours.close()
