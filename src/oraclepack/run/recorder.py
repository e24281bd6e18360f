"""The journal of a running command, and everything that follows from each event."""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Self

from oraclepack.errors import OraclePackError
from oraclepack.journal import events as j
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.journal_file import JournalFile
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.pack.model import Pack
from oraclepack.view.manifests import refresh_manifests, write_manifests

Observer = Callable[[KnownEvent, RunState], None]
"""An observer of every event: a display, a log. It must not raise."""

_SOON = (
    j.RunCreated,
    j.SessionStarted,
    j.ForecastRecorded,
    j.HeadRecorded,
    j.PreludeStarted,
    j.PreludeFinished,
    j.StepStarted,
    j.StepSpawned,
    j.TryStarted,
    j.TryFinished,
    j.WaitStarted,
    j.WaitFinished,
    j.ControlOpened,
    j.DecisionNeeded,
    j.OutputRecorded,
    j.StepFinished,
    j.WarningRecorded,
    j.SessionFinished,
    j.RunFinished,
)
"""Synced together, by `sync`, while the shell of the next step starts. Until then a power cut may
forget them, which costs a step's time, never a call: those wait for the disk."""

_SHOWN = (j.PreludeStarted, j.PreludeFinished, j.StepStarted, j.StepFinished)
"""After these the manifests are written: they show every step as it is, before the next begins."""


class Recorder:
    """Appends events, notifies the observers, updates the manifests.

    The manifests are folds and can be rebuilt, so they are not synced while steps run. At the
    end they are written once more, and synced.
    """

    def __init__(
        self,
        journal: JournalFile,
        run: RunDir,
        pack: Pack | None,
        *,
        legacy: bool | None,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._journal = journal
        self._run = run
        self._pack = pack
        self._legacy = legacy
        self._observers = list(observers)
        self._writing = threading.Lock()
        self._has_begun = False

    @property
    def state(self) -> RunState:
        return self._journal.state

    def observe(self, observer: Observer) -> None:
        """Notify one more observer of every event from now on."""
        self._observers.append(observer)

    def append(self, event: KnownEvent) -> KnownEvent:
        """Append an event; when this returns it is recorded, whatever is killed next.

        What has begun is recorded before the manifests are written: it may have been paid for.
        When they cannot be written, this raises, and nothing new begins.
        """
        stamped = self._journal.append(event, sync=not _can_wait(event))
        for observer in self._observers:
            observer(stamped, self._journal.state)
        if isinstance(event, _SHOWN):
            with self._writing:
                self._has_begun = True
                write_manifests(
                    self._run, self._pack, self.state, legacy=self._legacy, durable=False
                )
        return stamped

    def sync(self) -> None:
        """Make all events so far survive a power cut."""
        self._journal.sync()

    def close(self) -> None:
        """Write the manifests a last time, durably. The journal is closed whatever happens."""
        write = write_manifests if self._has_begun else refresh_manifests
        try:
            self._journal.sync()
            write(self._run, self._pack, self.state, legacy=self._legacy)
        finally:
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
            return
        # An error now most likely has the same cause; the first one is reported.
        with suppress(OraclePackError, OSError):
            self.close()


def _can_wait(event: KnownEvent) -> bool:
    """Whether a power cut may forget it; a call's process is gone then anyway."""
    is_repeated = isinstance(event, j.InvocationIntent) and event.process is not None
    return is_repeated or isinstance(event, _SOON)
