"""The output files that the calls of one command hold, so that no other run writes to them."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from oraclepack.calls.claims import ENDING, FileClaim, take_claim, wait_for_claim
from oraclepack.calls.store import Claim
from oraclepack.errors import MachineError
from oraclepack.journal.events import InvocationIntent
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.environment import state_directory
from oraclepack.tools.oracle_sessions import is_alive

_MOST_HELD = 128
"""Files; each needs a descriptor, of which a process often has 1024."""


class _HeldOutput(msgspec.Struct):
    claim: Claim
    steps: set[str]
    """Those that have not recorded their outputs yet."""
    calls: int
    """Those that may still write; a call may outlive its step."""


class HeldOutputs:
    """The files to which this command alone writes now. Safe in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[Path, _HeldOutput] = {}
        self._given_up: set[tuple[str, Path]] = set()

    @property
    def is_full(self) -> bool:
        """Whether this command holds so many files that the next one is not locked."""
        with self._lock:
            return len(self._held) >= _MOST_HELD

    def join(self, step: str, path: Path) -> bool:
        """Use a file that this command holds already; False when it does not."""
        with self._lock:
            held = self._held.get(path)
            if held is not None:
                held.steps.add(step)
                held.calls += 1
                self._given_up.discard((step, path))
            return held is not None

    def add(self, step: str, path: Path, claim: Claim) -> None:
        """Hold a file for a call, and until its step has recorded its outputs."""
        with self._lock:
            self._held[path] = _HeldOutput(claim, {step}, 1)
            self._given_up.discard((step, path))

    def use_without_lock(self, step: str, path: Path) -> None:
        """A call of the step writes to a file for which no lock can be made."""
        with self._lock:
            self._given_up.discard((step, path))

    def hold_free(self, step: str, paths: Iterable[Path]) -> frozenset[Path]:
        """Hold the files of a step that begins, up to the first one that another run uses.

        The rest is waited for by the calls that write there, still in the order of all files.
        Returns the files that are not held, and which the step must not touch before.
        """
        ordered = sorted(set(paths))
        for at, path in enumerate(ordered):
            if self._is_joined_by(step, path) or self.is_full:
                continue
            try:
                claim = take_output(path)
            except MachineError:
                continue  # where no lock can be made, all do without one
            if claim is None or may_still_write(claim):
                if claim is not None:
                    claim.release()
                return frozenset(ordered[at:])
            claim.settle()
            with self._lock:
                self._held[path] = _HeldOutput(claim, {step}, 0)
        return frozenset()

    def _is_joined_by(self, step: str, path: Path) -> bool:
        with self._lock:
            held = self._held.get(path)
            if held is not None:
                held.steps.add(step)
            return held is not None

    def give_up(self, step: str, paths: Iterable[Path]) -> None:
        """A call of the step did not get these files, except those that the step holds already."""
        with self._lock:
            for path in paths:
                if path not in self._held or step not in self._held[path].steps:
                    self._given_up.add((step, path))

    def is_of_another_run(self, step: str, path: Path) -> bool:
        """Whether a call of the step did not get the file, and no later one got it."""
        with self._lock:
            return (step, path) in self._given_up

    def is_held_by(self, step: str, path: Path) -> bool:
        """Whether the step may write to the file, and no other run does."""
        with self._lock:
            return path in self._held and step in self._held[path].steps

    def may_wait_for(self, step: str, path: Path) -> bool:
        """Whether the step holds no file that comes after this one.

        Every step waits for files in the same order, so no two can wait for each other.
        """
        with self._lock:
            return all(other < path for other, held in self._held.items() if step in held.steps)

    def note(self, paths: Iterable[Path], intent: InvocationIntent) -> None:
        """Write down a tool that may write to files, for the case that it outlives this process."""
        with self._lock:
            for path in paths:
                if path in self._held:
                    self._held[path].claim.note(intent)

    def settle(self, paths: Iterable[Path]) -> None:
        """The tool that was noted has ended."""
        with self._lock:
            for path in paths:
                self._held[path].claim.settle()

    def leave(self, paths: Iterable[Path]) -> None:
        """A call is over."""
        with self._lock:
            for path in paths:
                self._held[path].calls -= 1
            self._free_unused()

    def release(self, step: str | None) -> None:
        """A step, or every step, has recorded its outputs."""
        with self._lock:
            for held in self._held.values():
                if step is None:
                    held.steps.clear()
                held.steps.discard(step or "")
            self._given_up = {one for one in self._given_up if step not in {None, one[0]}}
            self._free_unused()

    def _free_unused(self) -> None:
        unused = [path for path, one in self._held.items() if not one.steps and not one.calls]
        for path in unused:
            self._held.pop(path).claim.release()


def wait_for_output(path: Path, pause: Callable[[float], bool]) -> FileClaim | None:
    """The lock of an output file; None when `pause` says to give up. Raises MachineError."""
    return wait_for_claim(_folder(), sha256_bytes(os.fsencode(path)), pause)


def take_output(path: Path) -> FileClaim | None:
    """The lock of an output file; None while another process holds it. Raises MachineError."""
    return take_claim(_folder(), sha256_bytes(os.fsencode(path)))


@contextmanager
def output_alone(path: Path, *, beside_tools: bool = False) -> Iterator[bool]:
    """Lock an output file, and say whether no other process writes to it.

    With `beside_tools`, the tool of a killed command may still write.
    """
    try:
        claim = take_output(path)
    except MachineError:
        yield True  # where no lock can be made, all do without one
        return
    if claim is None:
        yield False
        return
    is_free = not may_still_write(claim)
    if is_free:
        claim.settle()
    try:
        yield is_free or beside_tools
    finally:
        claim.release()


def may_still_write(claim: FileClaim) -> bool:
    """Whether the tool of a killed command, which the lock names, may still run."""
    noted = claim.open_call
    return noted is not None and noted.process is not None and is_alive(noted.process) is not False


def sweep_output_locks() -> int:
    """Remove the lock files that killed commands left; returns how many.

    A lock is removed only by its holder, and whoever gets it looks whether the file is still
    there. So no two commands can hold the same file.
    """
    count = 0
    for path in sorted(_folder().glob(f"*{ENDING}")):
        try:
            claim = take_claim(path.parent, path.name.removesuffix(ENDING))
        except MachineError:
            continue
        if claim is None:
            continue
        if not claim.is_unsigned and not may_still_write(claim):
            claim.settle()
            count += 1
        claim.release()
    return count


def _folder() -> Path:
    return state_directory() / "outputs"
