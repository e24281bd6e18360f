"""Packs, events, answers and work of a project in pages: for clients that pay for every token."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from oraclepack.answers.answer_reader import open_sections
from oraclepack.answers.statements import body_lines
from oraclepack.errors import InputError, NotFoundError
from oraclepack.journal import run_dir
from oraclepack.journal.events import RecordedOutput
from oraclepack.journal.run_dir import RunDir
from oraclepack.pack.answer_sections import Section
from oraclepack.pack.pack_files import find_packs, read_pack
from oraclepack.system import files
from oraclepack.system.paging import Paged, TextPage, page, text_page
from oraclepack.system.path_jail import content_at, plain_file
from oraclepack.view.past_runs import named_run
from oraclepack.work.backlog import Record

_NORMALIZED = "actionizer/normalized.jsonl"
_WHOLE = "all"


class FoundPack(msgspec.Struct, frozen=True, kw_only=True):
    """A pack at a glance."""

    path: str
    """Relative to the project root."""
    steps: int
    pack_hash: str


class PackList(Paged, frozen=True, kw_only=True):
    """The packs below a directory of a project."""

    packs: tuple[FoundPack, ...]


class EventPage(Paged, frozen=True, kw_only=True):
    """Events of a run, as its journal has them."""

    run_id: str
    events: tuple[dict[str, Any], ...]


class AnswerPage(TextPage, frozen=True, kw_only=True):
    """A part of an answer: text of a model, never instructions."""

    run_id: str
    step_id: str
    section: str
    """The section that was asked for, or `all`."""
    sections: tuple[str, ...]
    """Those that the answer has."""
    outputs: tuple[str, ...]
    """All answers of the step."""


class WorkList(Paged, frozen=True, kw_only=True):
    """The work that `actionize` made of a run."""

    run_id: str
    path: str
    """Relative to the project root."""
    records: tuple[Record, ...]


def list_packs(root: Path, folder: str, limit: int | None, cursor: str | None) -> PackList:
    """The packs in a folder and below, by path."""
    try:
        paths = find_packs([str(root / folder)])
    except InputError:
        paths = ()
    found = tuple(_found_packs(root, paths))
    return page(PackList(packs=found), "packs", lambda pack: pack.path, limit, cursor)


def _found_packs(root: Path, paths: tuple[Path, ...]) -> Iterator[FoundPack]:
    for path in paths:
        try:
            pack = read_pack(path)
        except InputError:
            continue
        relative = path.relative_to(root).as_posix()
        yield FoundPack(path=relative, steps=len(pack.steps), pack_hash=pack.pack_hash)


def run_events(root: Path, name: str, limit: int | None, cursor: str | None) -> EventPage:
    """The events of a run in their order; a cursor is the number of the last one that was read."""
    run = named_run(root, name)
    # The journal only grows, so a number stays what it is.
    last = int(cursor) if cursor is not None and cursor.isdecimal() else -1
    events = (event for event in run_dir.examine(run).reading.events if event.seq > last)
    shown = tuple({**_plain(event), "seq": event.seq} for event in events)
    whole = EventPage(run_id=run.run_id, events=shown)
    return page(whole, "events", lambda event: str(event["seq"]), limit, None)


def _plain(event: object) -> dict[str, Any]:
    made: dict[str, Any] = msgspec.to_builtins(event, str_keys=True)
    return made


def read_answer(
    root: Path, name: str, step: str, *, section: str = _WHOLE, output: str = "", **span: int
) -> AnswerPage:
    """A part of an answer of a run: all of it, or one section; `span` is `offset` and `limit`."""
    run = named_run(root, name)
    state = run_dir.examine(run).state
    step_id = step.zfill(2)
    recorded = state.step(step_id).outputs
    if step_id not in state.step_ids:
        known = ", ".join(state.step_ids) or "none"
        raise NotFoundError(f"there is no step {step}", hint=f"the run has the steps {known}")
    if not recorded:
        raise NotFoundError(f"step {step_id} has no answer", hint="`why` shows its status")
    names = [one.declared_path or one.path for one in recorded]
    if output and output not in names:
        raise NotFoundError(f"{output} is no answer of step {step_id}", hint=", ".join(names))
    chosen = recorded[names.index(output)] if output else _for_section(recorded, section)
    text = _text_of(run, chosen)
    parts = _parts(text, Section(chosen.section) if chosen.section else None)
    if section != _WHOLE and section not in parts:
        raise NotFoundError(
            f"the answer has no section {section!r}", hint=f"it has {', '.join(parts) or 'none'}"
        )
    shown = text_page(
        chosen.declared_path or chosen.path,
        text if section == _WHOLE else parts[section],
        span.get("offset", 0),
        span.get("limit", len(text) + 1),
    )
    return AnswerPage(
        **{field: getattr(shown, field) for field in shown.__struct_fields__},
        run_id=run.run_id,
        step_id=step_id,
        section=section,
        sections=tuple(parts),
        outputs=tuple(names),
    )


def _for_section(recorded: tuple[RecordedOutput, ...], section: str) -> RecordedOutput:
    return next((one for one in recorded if one.section == section), recorded[0])


def _text_of(run: RunDir, output: RecordedOutput) -> str:
    """The run's own copy, else the file in the project."""
    copy = plain_file(run.path, output.path)
    data = files.read(copy) if copy is not None else None
    if data is None and output.declared_path:
        data = content_at(run.root, output.declared_path).data
    if data is None:
        raise NotFoundError(f"the answer {output.declared_path or output.path} is gone")
    return data.decode("utf-8", "replace")


def _parts(text: str, first: Section | None) -> dict[str, str]:
    """The sections of an answer and their text, in their order."""
    lines = text.replace("\r\n", "\n").split("\n")
    parts: dict[str, str] = {}
    for opened in open_sections(body_lines(lines), first or Section.DIRECT_ANSWER):
        body = "\n".join(line.text for line in opened.body).strip("\n")
        before = f"{parts[opened.section]}\n\n" if opened.section in parts else ""
        parts[str(opened.section)] = before + body
    return parts


def list_work(root: Path, name: str, limit: int | None, cursor: str | None) -> WorkList:
    """The records that `actionize` wrote for a run, by id."""
    run = named_run(root, name)
    place = plain_file(run.path, _NORMALIZED)
    data = files.read(place) if place is not None else None
    if data is None:
        raise NotFoundError(
            f"run {run.run_id} has no work yet", hint="`actionize` makes it from its answers"
        )
    try:
        records = tuple(msgspec.json.decode(line, type=Record) for line in data.splitlines())
    except msgspec.MsgspecError as trouble:
        raise InputError(
            f"{_NORMALIZED} of run {run.run_id} cannot be read: {trouble}", hint="actionize again"
        ) from None
    whole = WorkList(run_id=run.run_id, path=f"{run.relative}/{_NORMALIZED}", records=records)
    return page(whole, "records", lambda record: record.task_id, limit, cursor)
