"""The outputs of a step on disk: quarantined before it runs, recorded after it ran."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from oraclepack.answers.verify_pack import verify_step
from oraclepack.calls.answers import is_of_another_run
from oraclepack.calls.cache import GOOD
from oraclepack.calls.file_store import answer_caches
from oraclepack.errors import Refusal
from oraclepack.journal import events as j
from oraclepack.journal.blobs import back_up, read_blob
from oraclepack.journal.statuses import CRASHED, UNMET, Cache, Verification
from oraclepack.journal.step_state import StepState
from oraclepack.pack.contract import by_suffix, contracts_of
from oraclepack.pack.model import Step
from oraclepack.pack.output_names import output_names
from oraclepack.pack.questions import title_of
from oraclepack.run.quarantine import move_to_quarantine
from oraclepack.settings import call_settings as cs
from oraclepack.system import file_moves, files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.files import Content
from oraclepack.system.path_jail import content_at, hashes_of, jail, read_content
from oraclepack.system.secrets import BLOT

if TYPE_CHECKING:
    from oraclepack.run.run import Run

_HARMLESS = frozenset({"mkdir", "read", "cat", "echo", "printf", "true", "test", "[", ":"})
"""Commands that change no file but those that the text shows."""
_TOGETHER = 8 << 20
"""Bytes; outputs up to here are held in memory and synced together."""


def _cached(run: Run, key: str, sha256: str | None) -> bytes | None:
    """The answer to a question in a cache, if it still is the one of this hash."""
    kept = (cache.get(key) for cache in answer_caches(run.root, user=True))
    found = next((one.data for one in kept if one is not None and one.state == GOOD), None)
    return found if found is not None and sha256_bytes(found) == sha256 else None


def declared_paths(step: Step) -> tuple[str, ...]:
    """The outputs whose path is written out in the pack."""
    return tuple(output.path.value for output in step.outputs if output.path.value is not None)


class StepOutputs:
    """The outputs of one attempt at a step, on disk and in the run."""

    def __init__(self, run: Run, step: Step, attempt: int) -> None:
        self._run = run
        self._step = step
        self._attempt = attempt
        self._declared = declared_paths(step)

    @property
    def state(self) -> StepState:
        return self._run.state.step(self._step.id)

    @property
    def _before(self) -> dict[str, j.OutputBackedUp]:
        """The files that the attempt found at its outputs, by path."""
        return {event.path: event for event in self.state.backed_up}

    def place_of(self, path: str) -> str:
        """A path as calls record it: relative to the project root, normalised."""
        verdict = jail(self._run.root, path)
        return path if isinstance(verdict, Refusal) else verdict.relative

    def restore_removed(self) -> None:
        """After a failed attempt: a file that the step has removed is there again."""
        for path, before in self._before.items():
            if path in self._declared:
                self._run.put_back_removed(before)

    def quarantine_earlier(self) -> None:
        """Move what a failed or interrupted attempt left out of the way of the next one.

        A file that still is what the attempt found there is not its output, nor is one that another
        run has published.
        """
        run, step, before = self._run, self._step, self.state
        if not before.has_bad_attempt:
            return
        paid = set() if run.settings[cs.REFRESH] else self._paid_for()
        inside = [
            path
            for path in (*self._declared, *before.declared)
            if (place := _judged(run, path))
            and not self._is_as_before(path, now := read_content(place).data)
            and self.place_of(path) not in paid
            and not is_of_another_run(run.root, run.dir.run_id, place, now)
        ]
        moves = move_to_quarantine(
            run.root, run.failed, run.dir.run_id, step.id, before.attempts, inside
        )
        if moves:
            run.record.append(j.Quarantined(step=step.id, attempt=before.attempts, moves=moves))

    def _paid_for(self) -> set[str]:
        """Where whole answers lie that miss their contract, or that a person accepted.

        They are not asked for again: the call takes them as they are now, corrected or not.
        """
        outcomes = (one.outcome for one in self.state.invocations if one.outcome is not None)
        last: dict[str, str | None] = {}
        for outcome in sorted(outcomes, key=lambda one: one.seq):
            code = outcome.error.code if outcome.error else None
            if outcome.output_path is not None and code != CRASHED:
                last[outcome.output_path] = code
        unmet = {path for path, code in last.items() if code in UNMET}
        return unmet | {self.place_of(one.declared_path) for one in self.state.accepted}

    def back_up(self) -> None:
        """Keep every file that the step may replace, so that a rollback can put it back."""
        for path in self._declared:
            place = _judged(self._run, path)
            if place is None:
                continue
            backup = back_up(self._run.dir.path, self._step.id, self._attempt, path, place)
            if backup is not None:
                link = file_moves.link_at(self._run.root / path)
                self._run.record.append(msgspec.structs.replace(backup, link=link))

    def content(self, path: str) -> Content:
        """What the step has at an output's path.

        Where another run has published there since the step began, the answer that this attempt
        published counts: it is kept in the run.
        """
        run, place = self._run, _judged(self._run, path)
        now = content_at(run.root, path)
        is_others = place is not None and is_of_another_run(
            run.root, run.dir.run_id, place, now.data
        )
        if not is_others or self._is_as_before(path, now.data):
            return now
        for outcome in self.state.outcomes(self._attempt):
            if outcome.output_path == self.place_of(path):
                published = outcome.sha256 or outcome.unmet_sha256
                if now.data is not None and sha256_bytes(now.data) == published:
                    return now  # both runs have published the same answer
                data = read_blob(run.dir.path, published)
                if data is None and outcome.key is not None:  # it came from a cache, which keeps it
                    data = _cached(run, outcome.key, published)
                if data is not None:
                    return Content(data)
        return Content(trouble="another run wrote it")

    def _is_as_before(self, path: str, now: bytes | None) -> bool:
        """A file still is the one that was kept before the attempt."""
        before = self._before.get(path)
        return now is not None and before is not None and sha256_bytes(now) == before.sha256

    def new(self) -> frozenset[str]:
        """The declared outputs that are there and are not merely the previous files."""
        return frozenset(
            path
            for path in self._declared
            if (now := self.content(path).data) is not None and not self._is_as_before(path, now)
        )

    def _produced(self) -> tuple[str, ...]:
        """The declared outputs, and those that only the running shell could name."""
        reported = [one.output_path for one in self.state.outcomes(self._attempt)[::-1] if one.ok]
        # The same file may be spelled in several ways; the text's own spelling is the one to keep.
        named = {self.place_of(path) for path in self._declared}
        # A path that holds a secret was not written down; only the pack still has it.
        others = (path for path in reported if path and path not in named and BLOT not in path)
        return tuple(dict.fromkeys((*self._declared, *others)))

    def record(self, *, succeeded: bool) -> None:
        """Copy what the step produced into the run directory, and write down what it is.

        Of a failed step only what it changed: a file it never touched is not its output. Outputs of
        other steps that a step changed before it went well are its own from now on.
        """
        paths = self._produced()
        if succeeded:
            paths = tuple(dict.fromkeys((*paths, *self._changed_outputs(known=paths))))
        group: list[tuple[j.OutputRecorded, bytes]] = []
        for one in self._on_disk(paths, succeeded=succeeded) if paths else ():
            group.append(one)
            if sum(len(content) for _, content in group) > _TOGETHER:
                self._keep(group)
                group = []
        self._keep(group)

    def _keep(self, group: list[tuple[j.OutputRecorded, bytes]]) -> None:
        folder, mode = self._run.dir.path, files.PRIVATE_FILE
        files.write_together([(folder / event.path, content, mode) for event, content in group])
        for event, _ in group:
            self._run.record.append(event)

    def _changed_outputs(self, known: tuple[str, ...]) -> Iterator[str]:
        """The outputs of other steps that changed while this one ran; what they were is kept."""
        run, step = self._run, self._step
        only_asks = all(
            command.name in _HARMLESS or command.span in {call.span for call in step.calls}
            for command in step.script.commands
        )
        if only_asks and not step.writes_unknown and step.writes <= set(self._declared):
            return
        started = datetime.fromisoformat(self.state.started_at or run.state.last_at or "")
        own = {self.place_of(path) for path in known}
        replaced = run.state.replaced_outputs()
        for output in [one for other in run.state.steps.values() for one in other.outputs]:
            path = output.declared_path
            if output.step == step.id or (output.step, output.path) in replaced or path is None:
                continue
            place = _judged(run, path)
            if place is None or self.place_of(path) in own or not place.is_file():
                continue
            # Not st_mtime, which tools copy from one file to another.
            changed = datetime.fromtimestamp(place.stat().st_ctime, UTC)
            content = read_content(place).data if changed >= started else None
            if content is None or sha256_bytes(content) == output.sha256:
                continue
            if is_of_another_run(run.root, run.dir.run_id, place, content):
                continue
            recorded = run.dir.path / output.path
            backup = back_up(run.dir.path, step.id, self._attempt, path, recorded)
            if backup is not None:
                mode = backup.mode if output.mode is None else output.mode
                run.record.append(msgspec.structs.replace(backup, mode=mode))
            yield path

    def _on_disk(
        self, paths: tuple[str, ...], *, succeeded: bool
    ) -> Iterator[tuple[j.OutputRecorded, bytes]]:
        """The content at each path, and the event that records it."""
        step, state = self._step, self.state
        known = {path: output.path for path, output in state.declared.items()}
        names = output_names(step.id, title_of(step), paths, known)
        replaced = self._before
        cached = {
            one.output_path for one in state.outcomes(state.attempts) if one.cache is Cache.HIT
        }
        options = self._run.request.verify_options
        contracts = contracts_of(step, chunks=options.chunks, mode=options.mode)
        sections = {one.path: one.sections[0] for one in contracts if len(one.sections) == 1}
        for path in paths:
            place = _judged(self._run, path)
            content = self.content(path).data
            if place is None or content is None:
                continue
            before = replaced.get(path)
            digest = sha256_bytes(content)
            if not succeeded and before is not None and before.sha256 == digest:
                continue
            event = j.OutputRecorded(
                step=step.id,
                attempt=self._attempt,
                path=names[path],
                declared_path=path,
                section=sections.get(path) or by_suffix(path),
                sha256=digest,
                bytes=len(content),
                mode=stat.S_IMODE(place.stat().st_mode) if place.exists() else None,
                from_cache=self.place_of(path) in cached,
                created=before is None,
                replaced_sha256=before.sha256 if before else None,
                backup=before.backup if before else None,
            )
            yield event, content

    def verify(self) -> Verification:
        """The step's outputs against their contracts, by the code of `verify-outputs`."""
        written = self._produced()
        if not self._step.outputs and not written:
            return Verification(passed=True)
        options = self._run.request.verify_options
        return verify_step(self._step, self.content, options, written, self.state.accepted_at)


def attached_hashes(run: Run, step: Step) -> dict[str, str]:
    """The attached files the text names, and what was in them when the step ran."""
    named = {attached.word.value for call in step.calls for attached in call.attachments}
    paths = sorted(path for path in named if path is not None)
    return hashes_of(run.root, paths)


def _judged(run: Run, path: str) -> Path | None:
    verdict = jail(run.root, path)
    return None if isinstance(verdict, Refusal) else verdict.path
