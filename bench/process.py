"""One process, run to its end: what it took of the clock, of the processor and of memory."""

import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_LINUX = sys.platform == "linux"


@dataclass(frozen=True)
class Usage:
    """What one process and those it waited for have used."""

    seconds: float
    own: float
    """Processor seconds of the process itself, all threads."""
    others: float
    """Processor seconds of the processes that it started and waited for."""
    memory: float
    """Megabytes resident at the highest point, of whichever of them had most."""

    @property
    def cpu(self) -> float:
        return self.own + self.others


def spent(argv: Sequence[str], env: Mapping[str, str], code: int | None = 0) -> Usage:
    """Run a command line in this directory. It must end with `code`, if there is one.

    Spawned and waited for by hand: the time that `subprocess` adds would favour slow programs.
    """
    program = shutil.which(argv[0], path=env["PATH"]) or argv[0]
    with tempfile.TemporaryFile() as errors:
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, errors.fileno(), 2),
        ]
        started = time.perf_counter()
        pid = os.posix_spawn(program, list(argv), env, file_actions=actions)
        own = _waited(pid)
        seconds = time.perf_counter() - started
        _, status, used = os.wait4(pid, 0)
        ended = os.waitstatus_to_exitcode(status)
        if code is not None and ended != code:
            errors.seek(0)
            message = errors.read().decode(errors="replace")[-400:]
            raise RuntimeError(f"{' '.join(argv)} ended with {ended}: {message}")
    cpu = used.ru_utime + used.ru_stime
    own = cpu if own is None else min(own, cpu)
    return Usage(seconds, own, cpu - own, _megabytes(used.ru_maxrss))


def _waited(pid: int) -> float | None:
    """Wait for the end, and read the process's own clock while it can still be read."""
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    if not _LINUX:
        return None
    # How Linux names the clock of another process; what rusage says includes its children.
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9


def mean(usages: Sequence[Usage]) -> Usage:
    """The mean of the times, and the most of the memory."""
    count = len(usages)
    return Usage(
        sum(one.seconds for one in usages) / count,
        sum(one.own for one in usages) / count,
        sum(one.others for one in usages) / count,
        max(one.memory for one in usages),
    )


def least_memory() -> float:
    """The least that can be measured: a child process begins with the memory of its parent."""
    return _megabytes(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def _megabytes(reported: int) -> float:
    return reported * (1024 if _LINUX else 1) / 1e6
