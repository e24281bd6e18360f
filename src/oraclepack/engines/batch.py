"""The engine `batch`: questions are collected, and answered together at half the price.

A try asks nothing: it leaves its row in its folder, and the call open. After the steps the run
submits the rows of its open calls (`run/batches.py`), and a later command finds the answers here.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from oraclepack.engines.batches import BatchState, has_batches, read_results
from oraclepack.engines.dialects import Dialect, body_of
from oraclepack.engines.direct import DirectEngine, asked_by
from oraclepack.engines.direct_request import question_of
from oraclepack.engines.engine import (
    Answer,
    Caller,
    Ended,
    Over,
    Pending,
    Settled,
    Traces,
    Try,
    Unknown,
)
from oraclepack.engines.responses import ResponseState
from oraclepack.errors import InputError, Refusal
from oraclepack.journal.events import BatchNoted
from oraclepack.journal.statuses import BATCH_PENDING, CallIdentity
from oraclepack.journal.step_state import Invocation
from oraclepack.system import files
from oraclepack.system.digests import sha256_text
from oraclepack.tools.oracle_failures import Failure, FailureClass
from oraclepack.tools.oracle_sessions import SessionRecord
from oraclepack.tools.prices import BATCH_PART
from oraclepack.tools.usage import Usage

ROW = "row.json"
UNKNOWN = "unknown"
"""The state of a batch that its provider does not tell about any more."""
_COLLECTED = "the question waits for the batch that is submitted when the steps have ended"


class CollectedRow(msgspec.Struct, frozen=True):
    """A question of a batch, as it is submitted."""

    id: str
    dialect: Dialect
    address: str
    model: str
    keys: tuple[str, ...]
    """The variables that may hold the key; the key itself is written nowhere."""
    body: Mapping[str, Any]


class BatchEngine(DirectEngine):
    """An `Engine` that asks nothing itself."""

    price_part = BATCH_PART

    def ask(self, caller: Caller, once: Try) -> Ended:
        """Leave the row in the folder of the try."""
        request, route = asked_by(caller, once), caller.question.route
        if isinstance(request, Refusal) or route is None:
            return _refused(str(request))
        is_stored = request.dialect is not Dialect.RESPONSES or request.background
        if not has_batches(request.dialect) or not is_stored:
            return _refused(f"{request.address} has no batches; --engine direct asks it at once")
        try:
            question = question_of(replace(request, background=False), caller.question.cwd)
        except InputError as trouble:
            return _refused(trouble.message)
        name = f"op-{sha256_text(f'{caller.question.key} {once.folder.name}')[:40]}"
        row = CollectedRow(
            name,
            request.dialect,
            request.address,
            request.model,
            route.keys,
            body_of(request.dialect, question),
        )
        files.write_atomic(
            once.folder.path / ROW, msgspec.json.encode(row), mode=files.PRIVATE_FILE
        )
        caller.begin(CallIdentity(batch=name))
        exit_code = 0 if caller.is_in_asking_step else 1
        return Ended(
            failure=Failure(BATCH_PENDING, FailureClass.FINAL, _COLLECTED), exit_code=exit_code
        )

    def find(self, caller: Caller, earlier: Invocation) -> Traces:
        """The answer of a row, where its batch has one."""
        settled = self.settle(caller, earlier) if _row_of(earlier) else None
        if isinstance(settled, Answer):
            return Traces(settled.record, (settled.data,))
        return Traces() if _row_of(earlier) else super().find(caller, earlier)

    def settle(self, caller: Caller, earlier: Invocation) -> Settled:
        """What has become of a row, as far as the run knows; it has asked its provider already."""
        row = _row_of(earlier)
        if not row:
            return super().settle(caller, earlier)
        noted = caller.batch_of(row)
        if noted is None:  # it was never submitted, or another run knows of it
            return Over() if caller.has_made(earlier) else Unknown(row, "another run has it")
        match noted.state:
            case BatchState.ENDED:
                return _settled_row(caller, noted, row)
            case BatchState.FAILED:
                return Over(verdict=Failure("BATCH_FAILED", FailureClass.FINAL, noted.detail))
            case "unknown":
                reason = f"its batch {noted.batch} cannot be asked for: {noted.detail}"
                return Unknown(row, reason)
        named = noted.batch or "whose submission is not confirmed yet"
        return Pending(
            f"its batch {named} is not ended; the same command goes on waiting", BATCH_PENDING
        )


def _settled_row(caller: Caller, noted: BatchNoted, row: str) -> Settled:
    data = caller.blob(noted.results or "")
    if data is None:
        return Pending(
            f"the results of batch {noted.batch} cannot be read in the run directory", BATCH_PENDING
        )
    found = [one.response for one in read_results(Dialect(noted.dialect), data) if one.id == row]
    good = [one for one in found if one.state is ResponseState.COMPLETED and one.text.strip()]
    if not good:
        if not found:
            return Unknown(row, f"batch {noted.batch} has ended without a result for it")
        reason = found[0].detail
        if any(one.state is not ResponseState.FAILED for one in found):  # answered, and billed
            return Unknown(row, f"its answer in batch {noted.batch} is not whole: {reason}")
        return Over(verdict=Failure("BATCH_ROW", FailureClass.FINAL, reason))
    usage = good[0].usage or Usage()
    name = noted.batch or row
    answer = good[0].text.encode()
    return Answer(
        data=answer,
        note=f"is its answer in batch {name}",
        missing=caller.lacks(answer),
        record=SessionRecord(id=row, status="completed", usage=replace(usage, batch=True)),
    )


def collected_row(folder: Path) -> CollectedRow | None:
    """The row that a try has left; None where there is none."""
    try:
        return msgspec.json.decode(files.read_regular(folder / ROW), type=CollectedRow)
    except (OSError, msgspec.MsgspecError):
        return None


def _row_of(earlier: Invocation) -> str:
    identity = earlier.intent.identity if earlier.intent else None
    return (identity.batch or "") if identity else ""


def _refused(reason: str) -> Ended:
    return Ended(failure=Failure("USAGE", FailureClass.FINAL, reason), exit_code=2)
