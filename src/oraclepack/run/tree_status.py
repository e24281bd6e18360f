"""The status of the work tree around read-only steps, with as few calls of git as that needs."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from oraclepack.run.tree_guard import work_tree
from oraclepack.run.worktree import FileStates, Worktree
from oraclepack.system.clock import Clock

if TYPE_CHECKING:
    from oraclepack.run.run import Run

_JUST_NOW = 200_000_000
"""Nanoseconds. A status that is no older serves a step that begins."""


class _StatusRead(msgspec.Struct):
    """One `git status`, and when it ended."""

    result: Future[FileStates] = msgspec.field(default_factory=Future)
    ended: int | None = None
    """By the steady clock, in nanoseconds; None while git is at work."""


class TreeStatus:
    """`git status` for the read-only steps of one command. Safe in several threads.

    The status after one step is that before the next, which begins at once. Steps that begin
    together share one.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = Lock()
        self._tree: Worktree | None = None
        self._latest: _StatusRead | None = None
        self._changing = 0

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Around a step that may change files: no status from before its end serves another one."""
        with self._lock:
            self._changing += 1
        try:
            yield
        finally:
            with self._lock:
                self._changing -= 1
                self._latest = None

    def tree(self, run: Run, step_id: str) -> Worktree | None:
        """The work tree, looked up once; None outside of git."""
        with self._lock:
            if self._tree is None:
                self._tree = work_tree(run.root, run.dir, step_id, run.state)
            return self._tree

    def before(self, tree: Worktree, attempt: int) -> FileStates:
        """The status for a step that is about to begin. Raises WorktreeError."""
        with self._lock:
            latest = self._latest
            # Before a later attempt, files of the earlier one were moved to quarantine.
            may_share = attempt == 1 and not self._changing
            if latest is not None and may_share and self._is_recent(latest):
                mine = None
            else:
                mine = latest = self._latest = _StatusRead()
        return latest.result.result() if mine is None else self._read(tree, mine)

    def after(self, tree: Worktree) -> FileStates:
        """The status for a step that has ended. Raises WorktreeError."""
        with self._lock:
            latest = self._latest = _StatusRead()
        return self._read(tree, latest)

    def _is_recent(self, read: _StatusRead) -> bool:
        if read.ended is None:
            return True
        age = self._clock.monotonic_ns() - read.ended
        return age < _JUST_NOW and read.result.exception() is None

    def _read(self, tree: Worktree, read: _StatusRead) -> FileStates:
        try:
            read.result.set_result(tree.status())
        except BaseException as trouble:
            read.result.set_exception(trouble)
            raise
        finally:
            read.ended = self._clock.monotonic_ns()
        return read.result.result()
