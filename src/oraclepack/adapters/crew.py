"""Threads that work on steps side by side."""

import threading
from _queue import SimpleQueue  # by way of `queue` it would load more, and the first step waits
from collections.abc import Callable
from typing import Self

from oraclepack.core.plan import PlannedStep
from oraclepack.core.ports import Ended
from oraclepack.core.result import Status


class Crew:
    """So many threads, each with one step at a time; at the end all are waited for.

    Not an executor of the standard library: that loads logging, at the price of several steps. The
    threads stay, because one that ends hides its children from whoever lists ours.
    """

    def __init__(self, size: int, work: Callable[[PlannedStep], Status]) -> None:
        self._work = work
        self._begun: SimpleQueue[PlannedStep | None] = SimpleQueue()
        self._ended: SimpleQueue[Ended] = SimpleQueue()
        self._size = size
        self._threads: list[threading.Thread] = []

    def begin(self, step: PlannedStep) -> None:
        """Hand a step to a thread; there are never more steps than threads."""
        self._begun.put(step)
        if len(self._threads) < self._size:
            thread = threading.Thread(target=self._serve, name=f"step-{len(self._threads)}")
            self._threads.append(thread)
            thread.start()

    def await_ended(self) -> list[Ended]:
        """Those that have ended, in the order of their numbers; waits for one at least."""
        ended = [self._ended.get()]
        while not self._ended.empty():
            ended.append(self._ended.get())
        return sorted(ended, key=lambda one: one.step_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for _thread in self._threads:
            self._begun.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        while (step := self._begun.get()) is not None:
            try:
                ended = Ended(step.step_id, self._work(step))
            except BaseException as trouble:  # noqa: BLE001 - raised by whoever waits for the step
                ended = Ended(step.step_id, Status.FAILED, trouble)
            self._ended.put(ended)
