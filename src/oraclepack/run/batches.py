"""The batches of a run: submitted after its steps, looked up before them.

What keeps a question from being submitted twice: the intent of a batch, with its rows and a nonce,
is in the journal, synced, before anything is sent; every id is written down as soon as it is known;
a submission without an answer is looked for at its provider by the nonce (Anthropic keeps none:
there only the results of an ended batch tell), and asked again only once it is known not to exist.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from oraclepack.engines import batches
from oraclepack.engines.batch import UNKNOWN, CollectedRow, collected_row
from oraclepack.engines.batches import Batch, BatchState, BatchTrouble, Row, Target
from oraclepack.engines.dialects import Dialect
from oraclepack.engines.responses import tenant
from oraclepack.journal.blobs import keep_blob
from oraclepack.journal.events import BatchNoted
from oraclepack.settings import run_settings as rs
from oraclepack.shell.attempt import StopLevel
from oraclepack.system.environment import nonce
from oraclepack.system.printable import quantity
from oraclepack.tools.oracle_config import read_dotenv

if TYPE_CHECKING:
    from oraclepack.run.run import Run

MOST_ROWS = 50_000
"""What the strictest provider takes in one batch."""
_CLOCKS = timedelta(hours=1)
_SUBMITTING, _SUBMITTED = "submitting", "submitted"
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 120.0
"""Seconds between two requests about the batches that are waited for."""
_LOOK_FOR_STOP = 0.2
_LOOK_AGAIN_SECONDS = 5.0
"""A batch that was made a moment ago may be missing in a list."""


def submit_batches(run: Run) -> bool:
    """Submit the rows of the open calls that are in no batch yet, one batch for each model.

    With `--wait`, wait for their ends; whether there may be new answers by then.
    """
    if run.stop.level is not StopLevel.NONE:
        return False
    groups: dict[tuple[Dialect, str, str, tuple[str, ...]], list[CollectedRow]] = defaultdict(list)
    known = {row for noted in run.state.batches.values() for row in noted.rows}
    # A row that an earlier command left is about files as they were then: it is collected anew.
    since = run.state.sessions[-1].started.at
    for step in run.state.steps.values():
        for call in step.invocations:
            intent = call.intent
            identity = intent.identity if intent else None
            if not call.is_open or intent is None or identity is None or not identity.batch:
                continue
            if intent.at < since:
                continue
            row = collected_row(run.request.root / (intent.private or ""))
            if row is not None and row.id == identity.batch and row.id not in known:
                groups[row.dialect, row.address, row.model, row.keys].append(row)
    for (dialect, address, model, keys), rows in sorted(groups.items()):
        for part in _parts(rows, batches.MOST_BYTES[dialect]):
            noted = BatchNoted(
                nonce=nonce(),
                rows=tuple(row.id for row in part),
                dialect=dialect,
                address=address,
                model=model,
                keys=keys,
                state=_SUBMITTING,
            )
            _submit(run, noted, part)
    return run.settings[rs.WAIT] and _is_worth_another_round(run)


def _is_worth_another_round(run: Run) -> bool:
    """Wait until every batch has ended; False where the command stops or none can be asked for."""
    pause, before = _FIRST_PAUSE, len(_pending(run))
    while _pending(run):
        end = run.clock.monotonic_ns() + round(pause * 1e9)
        while run.clock.monotonic_ns() < end:
            if run.stop.level is not StopLevel.NONE:
                cancel_batches(run)
                return False
            time.sleep(_LOOK_FOR_STOP)
        if not collect_batches(run):
            return False  # nothing can be asked for
        pause = min(_LONGEST_PAUSE, 2 * pause)
    return before > 0


def _pending(run: Run) -> list[BatchNoted]:
    over = {BatchState.ENDED, BatchState.FAILED, UNKNOWN}
    return [noted for noted in run.state.batches.values() if noted.state not in over]


def _parts(rows: list[CollectedRow], most_bytes: int) -> list[list[CollectedRow]]:
    """Rows in as few batches as a provider takes."""
    parts: list[list[CollectedRow]] = [[]]
    size = 0
    for row in rows:
        more = len(msgspec.json.encode(row.body))
        if parts[-1] and (len(parts[-1]) >= MOST_ROWS or size + more > most_bytes):
            parts.append([])
            size = 0
        parts[-1].append(row)
        size += more
    return parts


def _submit(run: Run, noted: BatchNoted, rows: list[CollectedRow]) -> None:
    target = _target(run, noted)
    if not target.key:
        message = f"{noted.model} is not asked: set {' or '.join(noted.keys)} for its batch"
        run.warn(message, "batch")
        return
    asked = [Row(row.id, row.body) for row in rows]
    _note(run, noted)  # from here on it may exist
    file = batches.upload(target, asked)
    if isinstance(file, BatchTrouble):
        _failed(run, noted, f"its file was not taken: {file.reason}")
        return
    noted = replace(noted, file=file)
    _note(run, noted)
    made = batches.create(target, asked, file, noted.nonce)
    if isinstance(made, Batch):
        _note(run, replace(noted, batch=made.id, state=_SUBMITTED))
        count = quantity(len(rows), "question")
        run.warn(f"batch {made.id} has {count} to {noted.model}", "batch")
    elif not made.is_sent:
        _failed(run, noted, made.reason)
    else:
        message = f"it is not known whether the batch was made ({made.reason}); the next run looks"
        run.warn(message, "batch")


def collect_batches(run: Run) -> bool:
    """Ask the providers about the batches of the run, and keep the results of those that ended.

    Whether any of them could be asked for.
    """
    asked = False
    for noted in _pending(run):
        target = _target(run, noted)
        if not target.key:
            message = f"batch {noted.batch or noted.nonce}: set {' or '.join(noted.keys)} to ask"
            run.warn(message, "batch")
            continue
        asked |= _collect(run, noted, target)
    return asked


def _collect(run: Run, noted: BatchNoted, target: Target) -> bool:
    """Whether its provider said anything that may be otherwise later."""
    if noted.batch is None:
        found = _found(run, noted, target)
        if found is None:
            return True
        if found == "":
            _failed(run, noted, "it was never made, as its provider's list says")
            return True
        noted = replace(noted, batch=found, state=_SUBMITTED)
        _note(run, noted)
    now = batches.fetch(target, noted.batch or "")
    if isinstance(now, BatchTrouble):
        run.warn(f"batch {noted.batch} cannot be asked for: {now.reason}", "batch")
        if not now.is_transient:
            _note(run, replace(noted, state=UNKNOWN, detail=now.reason))
        return now.is_transient
    if now.state is BatchState.FAILED:
        _failed(run, noted, now.detail)
    elif now.state is BatchState.ENDED:
        data = batches.results(target, now)
        if isinstance(data, BatchTrouble):
            run.warn(f"the results of batch {noted.batch}: {data.reason}", "batch")
            return data.is_transient
        sha256 = keep_blob(run.dir.path, data)
        _note(run, replace(noted, state=BatchState.ENDED, results=sha256, detail=now.detail))
    return True


def _found(run: Run, noted: BatchNoted, target: Target) -> str | None:
    """The batch of an unconfirmed submission; empty where there is none, None where unknown."""
    if target.dialect is Dialect.RESPONSES and noted.file is None:
        return ""  # killed before anything but a file could be made
    for pause in (0.0, _LOOK_AGAIN_SECONDS):
        if pause:
            time.sleep(pause)
        listed = batches.listed(target)
        if isinstance(listed, BatchTrouble):
            run.warn(f"the batches of {target.address} cannot be listed: {listed.reason}", "batch")
            return None
        for batch in listed:
            has_rows = _has_rows(noted, batch, target)
            if has_rows is None:
                return None
            if batch.nonce == noted.nonce or has_rows:
                return batch.id
        if target.dialect is Dialect.MESSAGES and any(
            _may_be(noted, one) and one.state is BatchState.RUNNING for one in listed
        ):
            return None  # certain only by the results, once it has ended
    return ""


def _may_be(noted: BatchNoted, batch: Batch) -> bool:
    """Clocks may differ, and the results decide anyway."""
    try:
        made, asked = (datetime.fromisoformat(text) for text in (batch.created, noted.at))
    except ValueError:
        return True
    return batch.size == len(noted.rows) and made >= asked - _CLOCKS


def _has_rows(noted: BatchNoted, batch: Batch, target: Target) -> bool | None:
    """Whether an ended batch without a mark of ours has our rows; None where that is not known."""
    is_marked = target.dialect is not Dialect.MESSAGES
    if is_marked or not _may_be(noted, batch) or batch.state is not BatchState.ENDED:
        return False
    data = batches.results(target, batch)
    if isinstance(data, BatchTrouble):
        return None
    return any(row.id in noted.rows for row in batches.read_results(target.dialect, data))


def cancel_batches(run: Run) -> None:
    """`runs stop --now`: what was answered stays answered and paid, the rest is given up."""
    for noted in run.state.batches.values():
        target = _target(run, noted)
        if noted.state == _SUBMITTED and noted.batch and target.key:
            said = batches.cancel(target, noted.batch)
            words = said.reason if isinstance(said, BatchTrouble) else said.detail
            run.warn(f"batch {noted.batch} is cancelled at its provider: {words}", "batch")


def _target(run: Run, noted: BatchNoted) -> Target:
    environment: Mapping[str, str] = {**read_dotenv(Path(run.request.root)), **run.environment}
    key = next((key for name in noted.keys if (key := environment.get(name, "").strip())), "")
    dialect = Dialect(noted.dialect)
    headers = tenant(environment) if dialect is Dialect.RESPONSES else {}
    return Target(dialect, noted.address, noted.model, key, headers)


def _failed(run: Run, noted: BatchNoted, reason: str) -> None:
    _note(run, replace(noted, state=BatchState.FAILED, detail=reason))
    count = quantity(len(noted.rows), "question")
    run.warn(f"a batch of {count} to {noted.model} failed: {reason}", "batch")


def _note(run: Run, noted: BatchNoted) -> None:
    run.record.append(noted)
    run.record.sync()
