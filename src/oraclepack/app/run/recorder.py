"""The journal of a running command, and everything that follows from each event."""

import threading
from collections.abc import Callable, Sequence
from typing import Self

from oraclepack.adapters.journal import JournalFile
from oraclepack.adapters.rundir import RunDir, write_manifests
from oraclepack.core.journal import KnownEvent
from oraclepack.core.pack import Pack
from oraclepack.core.runstate import RunState

Observer = Callable[[KnownEvent, RunState], None]
"""Someone who is told of every event: a screen, a log. It must not raise."""


class Recorder:
    """Appends events, tells the observers, keeps the manifests up to date.

    The manifests are folds and can be rebuilt, so they are rewritten by a thread of their own:
    a step never waits for them. At the end they are written once more, and synced.
    """

    def __init__(
        self,
        journal: JournalFile,
        run: RunDir,
        pack: Pack | None,
        *,
        legacy: bool,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._journal = journal
        self._run = run
        self._pack = pack
        self._legacy = legacy
        self._observers = observers
        self._wake = threading.Event()
        self._over = False
        self._trouble: Exception | None = None
        self._keeper = threading.Thread(target=self._keep, name="manifests", daemon=True)
        self._keeper.start()

    @property
    def state(self) -> RunState:
        return self._journal.state

    def append(self, event: KnownEvent) -> KnownEvent:
        """Keep an event; when this returns it has happened, whatever dies next."""
        if self._trouble is not None:
            raise self._trouble
        kept = self._journal.append(event)
        for observer in self._observers:
            observer(kept, self._journal.state)
        self._wake.set()
        return kept

    def close(self) -> None:
        """Write the manifests a last time, durably. The journal is closed whatever happens."""
        self._over = True
        self._wake.set()
        self._keeper.join()
        try:
            write_manifests(self._run, self._pack, self.state, legacy=self._legacy)
        finally:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self._over:
                return
            try:
                write_manifests(
                    self._run, self._pack, self.state, legacy=self._legacy, durable=False
                )
            except Exception as trouble:  # noqa: BLE001 - told by the next append
                self._trouble = trouble
                return
