"""A descriptor that becomes readable when a child ends, so that one poll can wait for it too."""

import os
import subprocess
import threading
from contextlib import ExitStack

from oraclepack.adapters import processes


def exit_fd(process: subprocess.Popen[bytes], stack: ExitStack) -> int:
    """For a child of ours; the stack closes it. Where the kernel can, the child stays unreaped."""
    descriptor = processes.open_pidfd(process.pid)
    if descriptor is None:
        descriptor = _exit_pipe(process)
    stack.callback(os.close, descriptor)
    return descriptor


def _exit_pipe(process: subprocess.Popen[bytes]) -> int:
    """Where the kernel has no such descriptor: a thread waits and closes a pipe."""
    readable, held = os.pipe()

    def wait() -> None:
        process.wait()
        os.close(held)

    threading.Thread(target=wait, daemon=True).start()
    return readable
