"""`published.jsonl` in a run directory: which issues were published or about to be created."""

import os
from pathlib import Path
from typing import Literal

import msgspec

from oraclepack.system import disk, files
from oraclepack.system.clock import Clock, rfc3339
from oraclepack.system.digests import canonical_line
from oraclepack.work.publish_plan import PublishedTitle

NAME = "published.jsonl"


class PublishEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One line: an issue that is about to be created, or one that exists with its number."""

    kind: Literal["intent", "published"]
    at: str
    api_url: str
    repository: str
    id: str
    number: int | None = None
    title: str = ""


class PublishRecord:
    """The events of one repository, read from the file, and appended to it."""

    def __init__(self, run_dir: Path, api_url: str, repository: str, clock: Clock) -> None:
        self._path = run_dir / NAME
        self._api_url = api_url
        self._repository = repository
        self._clock = clock
        self.published: dict[str, PublishedTitle] = {}
        self.intents: dict[str, str] = {}
        """Issues that may exist although no number was recorded: id and time of the intent."""
        data = files.read(self._path) or b""
        self._is_torn = bool(data) and not data.endswith(b"\n")
        for line in data.split(b"\n"):
            self._read_line(line)

    def _read_line(self, line: bytes) -> None:
        try:
            event = msgspec.json.decode(line, type=PublishEvent)
        except msgspec.MsgspecError:
            return  # a line cut off by a kill, or the empty text after the last line
        same_host = event.api_url == self._api_url
        if same_host and event.repository.lower() == self._repository.lower():
            self._apply(event)

    def _apply(self, event: PublishEvent) -> None:
        if event.kind == "intent":
            self.intents[event.id] = event.at
        elif event.number is not None:
            self.published[event.id] = PublishedTitle(event.number, event.title)
            self.intents.pop(event.id, None)

    def record_intent(self, name: str) -> None:
        """Record that an issue is about to be created, synced before the request is sent."""
        self._append(self._event("intent", name))

    def record_published(self, name: str, number: int, title: str) -> None:
        """Record the number and title of an issue that exists."""
        if self.published.get(name) != PublishedTitle(number, title):
            self._append(self._event("published", name, number, title))

    def _event(
        self,
        kind: Literal["intent", "published"],
        name: str,
        number: int | None = None,
        title: str = "",
    ) -> PublishEvent:
        return PublishEvent(
            kind=kind,
            at=rfc3339(self._clock.now()),
            api_url=self._api_url,
            repository=self._repository,
            id=name,
            number=number,
            title=title,
        )

    def _append(self, event: PublishEvent) -> None:
        is_new = not self._path.exists()
        try:
            descriptor = disk.open_append(self._path)
            try:
                start = b"\n" if self._is_torn else b""
                disk.write(descriptor, start + canonical_line(event) + b"\n", self._path)
                disk.sync(descriptor, self._path)
            finally:
                os.close(descriptor)
            if is_new:
                disk.sync_directory(self._path.parent)
        except OSError as trouble:
            raise files.cannot("write", self._path, trouble) from None
        self._is_torn = False
        self._apply(event)
