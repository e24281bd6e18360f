"""The process we are: its environment, its name, its private directory."""

import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def environment() -> dict[str, str]:
    """A copy of our environment, for the steps."""
    return dict(os.environ)


def process_id() -> int:
    return os.getpid()


def host() -> str:
    return socket.gethostname()


@contextmanager
def private_directory() -> Iterator[Path]:
    """A directory only we can read, with a short path (sockets need one), gone at the end."""
    path = Path(tempfile.mkdtemp(prefix="op-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
