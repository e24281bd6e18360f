"""Processes as listed in /proc. Without /proc little is known."""

import os
import signal
import threading
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import msgspec

from oraclepack.system.environment import MARKER_VARIABLE

_PROC = Path("/proc")


class ProcessInfo(msgspec.Struct, frozen=True):
    """One process at one moment."""

    pid: int
    command: str
    state: str
    parent: int
    group: int
    session: int
    start_time: str

    @property
    def is_dead(self) -> bool:
        """It has ended; at most its exit code is still waiting to be read."""
        return self.state in "ZX"


@cache
def has_proc() -> bool:
    return (_PROC / "self/stat").exists()


def process_info(pid: int) -> ProcessInfo | None:
    """The process of this id, None when there is none."""
    try:
        # Called twice per step, so without Path, which is four times slower.
        descriptor = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            text = os.read(descriptor, 4096).decode("utf-8", "replace")
        finally:
            os.close(descriptor)
    except OSError:
        return None
    # The name is in brackets and may hold brackets and spaces itself.
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return ProcessInfo(
        pid, name, fields[0], int(fields[1]), int(fields[2]), int(fields[3]), fields[19]
    )


def exists(pid: int) -> bool:
    """Whether some process has this number; all that is known without /proc."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def start_time(pid: int) -> str:
    info = process_info(pid)
    return info.start_time if info else ""


def all_processes() -> Iterator[ProcessInfo]:
    try:
        with os.scandir(_PROC) as entries:
            names = [entry.name for entry in entries]
    except OSError:
        return
    for name in names:
        if name.isdigit() and (info := process_info(int(name))):
            yield info


def children_of_ours() -> frozenset[int] | None:
    """The children of this thread and of the first one; None where the kernel does not list them.

    Orphans come to the first thread, on old kernels to the one whose descendants they are. Those
    of other threads were all started on purpose.
    """
    listed = b""
    try:
        for thread in {os.getpid(), threading.get_native_id()}:
            # Called once per step, so without Path, which is three times slower.
            descriptor = os.open(f"/proc/self/task/{thread}/children", os.O_RDONLY | os.O_CLOEXEC)
            try:
                while part := os.read(descriptor, 65_536):
                    listed += part
            finally:
                os.close(descriptor)
    except OSError:
        return None
    return frozenset(map(int, listed.split()))


def has_token(pid: int, token: str | None) -> bool:
    """Whether a process was started with the marker of this attempt in its environment."""
    marker = f"{MARKER_VARIABLE}={token}".encode()
    try:
        return bool(token) and marker in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def runs_from(pid: int, folder: str) -> bool:
    """Whether a process runs a program or script of this directory."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.startswith(os.fsencode(f"{folder}/")) for word in words[:3])


def ignores(pid: int, number: signal.Signals) -> bool:
    """Whether a process would not even notice this signal."""
    try:
        lines = (_PROC / str(pid) / "status").read_text("utf-8", "replace").splitlines()
    except OSError:
        return False
    mask = next((line.split()[1] for line in lines if line.startswith("SigIgn:")), "0")
    return bool(int(mask, 16) >> (number - 1) & 1)


def family(roots: Iterable[int], everyone: Iterable[ProcessInfo]) -> frozenset[int]:
    """The given processes and all their descendants."""
    children: dict[int, list[int]] = {}
    for process in everyone:
        children.setdefault(process.parent, []).append(process.pid)
    members: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        if pid not in members:
            members.add(pid)
            waiting.extend(children.get(pid, ()))
    return frozenset(members)


def send(process: ProcessInfo, number: signal.Signals) -> bool:
    """Signal exactly this process, not a later one of the same id; whether it was there."""
    descriptor = open_pidfd(process.pid)
    try:
        if start_time(process.pid) != process.start_time:
            return False
        if descriptor is None:
            os.kill(process.pid, number)
        else:
            signal.pidfd_send_signal(descriptor, number)
    except OSError:
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return True


def open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends; None where there is no such thing.

    For a process that is already gone there is none either.
    """
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
