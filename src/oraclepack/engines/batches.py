"""Questions that a provider answers within a day at half the price: submitted together.

Three APIs have batches: OpenAI's Responses (a file of rows, then a batch), Anthropic's Messages and
Gemini (the rows in the request). Nothing here is ever sent twice by itself: a create whose reply
was lost may have made a batch, which is looked for by our mark before anything is asked again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec

from oraclepack.engines import http
from oraclepack.engines.dialects import Dialect, headers_of, read_reply
from oraclepack.engines.responses import Response, ResponseState
from oraclepack.system.printable import readable

MARK = "oraclepack"
"""The name under which a batch carries our nonce."""
_SECONDS = 120.0
_BYTES_A_SECOND = 100_000
"""The slowest upload that is waited for."""
_RESULT_SECONDS = 900.0
_MOST_RESULT_BYTES = 1 << 30
_TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_LONGEST_DETAIL = 300
_BOUNDARY = "oraclepack-batch"


class Row(msgspec.Struct, frozen=True):
    """One question of a batch."""

    id: str
    """Unique in the batch; the results carry it."""
    body: Mapping[str, Any]


class Target(msgspec.Struct, frozen=True):
    """The provider, the model and the access to them. The key is never written down."""

    dialect: Dialect
    address: str
    model: str
    key: str
    headers: Mapping[str, str] = {}
    """Of the organisation and the project."""

    def __repr__(self) -> str:
        return f"Target({self.dialect!r}, {self.address!r}, {self.model!r})"


class BatchState(StrEnum):
    """What a provider says about a batch."""

    RUNNING = "running"
    ENDED = "ended"
    """Its results can be fetched; each row has its own end."""
    FAILED = "failed"
    """It was refused as a whole: no row was asked."""


class Batch(msgspec.Struct, frozen=True):
    """A batch as its provider has it now."""

    id: str
    state: BatchState
    nonce: str = ""
    """Ours, where the API keeps it."""
    created: str = ""
    size: int | None = None
    """How many rows it has."""
    results: tuple[str, ...] = ()
    """Where they are, from the address of the API. Empty where they came with the batch."""
    inline: bytes = b""
    detail: str = ""


class BatchTrouble(msgspec.Struct, frozen=True):
    """Why a request about batches has no result."""

    reason: str
    is_sent: bool = True
    """It may have taken effect."""
    is_transient: bool = False
    """The same request may be answered later."""


class RowResult(msgspec.Struct, frozen=True):
    """What became of one row."""

    id: str
    response: Response


def upload(target: Target, rows: Sequence[Row]) -> str | BatchTrouble:
    """The id of the file with the rows; empty where the API takes them with the batch itself."""
    if target.dialect is not Dialect.RESPONSES:
        return ""
    lines = (
        {"custom_id": row.id, "method": "POST", "url": "/v1/responses", "body": row.body}
        for row in rows
    )
    content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
    head = f"--{_BOUNDARY}\r\nContent-Disposition: form-data; name="
    parts = (
        f'{head}"purpose"\r\n\r\nbatch\r\n'.encode(),
        f'{head}"file"; filename="batch.jsonl"\r\n'.encode(),
        b"Content-Type: application/jsonl\r\n\r\n" + content + b"\r\n",
        f"--{_BOUNDARY}--\r\n".encode(),
    )
    kind = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}
    found = _request("POST", target, "/files", b"".join(parts), kind)
    if isinstance(found, BatchTrouble):
        return found
    name = found.get("id")
    return name if isinstance(name, str) else BatchTrouble("the reply names no file")


def create(target: Target, rows: Sequence[Row], file: str, nonce: str) -> Batch | BatchTrouble:
    """Submit the rows. Sent once: after a lost reply the batch may exist."""
    body, path = _CREATES[target.dialect](target, rows, file, nonce)
    return _batch(target, _request("POST", target, path, msgspec.json.encode(body)))


def fetch(target: Target, name: str) -> Batch | BatchTrouble:
    """A batch as it is now."""
    return _batch(target, _request("GET", target, _path(target, name)))


def cancel(target: Target, name: str) -> Batch | BatchTrouble:
    """Ask the provider to give a batch up; rows that were answered stay answered and paid."""
    mark = ":cancel" if target.dialect is Dialect.GEMINI else "/cancel"
    return _batch(target, _request("POST", target, _path(target, name) + mark, b"{}"))


def listed(target: Target) -> tuple[Batch, ...] | BatchTrouble:
    """The newest batches of the account: where one of ours is looked for after a crash."""
    query = "?pageSize=100" if target.dialect is Dialect.GEMINI else "?limit=100"
    found = _request("GET", target, _LISTS[target.dialect] + query)
    if isinstance(found, BatchTrouble):
        return found
    rows = found.get("operations" if target.dialect is Dialect.GEMINI else "data")
    if rows is None and target.dialect is Dialect.GEMINI:
        rows = []  # that API leaves an empty list out
    if not isinstance(rows, list) or found.get("has_more") is True:
        return BatchTrouble("the list of batches is not whole", is_transient=True)
    batches = [_batch(target, _dict(row)) for row in rows]
    read = tuple(one for one in batches if isinstance(one, Batch))
    if len(read) < len(rows):
        return BatchTrouble("the list of batches cannot be read", is_transient=True)
    return read


def results(target: Target, batch: Batch) -> bytes | BatchTrouble:
    """The results, a line for each row, in any order. Kept before they are read."""
    if batch.inline:
        return batch.inline
    if not batch.results:
        return BatchTrouble("it has ended and names no results", is_transient=True)
    parts = []
    for place in batch.results:
        reply = http.send(
            "GET",
            target.address + place,
            headers=headers_of(target.dialect, target.key) | dict(target.headers),
            seconds=_RESULT_SECONDS,
            most_bytes=_MOST_RESULT_BYTES,
        )
        trouble = _trouble(reply)
        if trouble is not None:
            return trouble
        assert isinstance(reply, http.HttpReply)
        parts.append(reply.body if reply.body.endswith(b"\n") else reply.body + b"\n")
    return b"".join(parts)


def read_results(dialect: Dialect, data: bytes) -> Iterator[RowResult]:
    """What became of each row; lines that cannot be read are passed over: they stay unanswered."""
    for line in data.split(b"\n"):
        try:
            found = msgspec.json.decode(line) if line.strip() else None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        if isinstance(found, dict) and isinstance(found.get("custom_id"), str):
            yield RowResult(found["custom_id"], _row_response(dialect, found))


def _row_response(dialect: Dialect, row: Mapping[str, Any]) -> Response:
    """The answer in a row, or why it has none."""
    match dialect:
        case Dialect.RESPONSES:
            reply = _dict(row.get("response"))
            body, is_good = reply.get("body"), reply.get("status_code") == 200
            error = row.get("error") or _dict(body).get("error")
        case Dialect.MESSAGES:
            result = _dict(row.get("result"))
            body, is_good = result.get("message"), result.get("type") == "succeeded"
            error = result.get("error") or {"message": result.get("type")}
        case _:
            body, error = row.get("response"), row.get("error")
            is_good = body is not None
    response = read_reply(dialect, msgspec.json.encode(body)) if is_good else None
    if response is not None:
        return response
    if is_good:  # it was answered, and is paid for
        return Response(ResponseState.INCOMPLETE, detail="its answer cannot be read")
    given = _dict(error)
    words = _dict(given.get("error", given)).get("message")
    detail = readable(" ".join(str(words or "it has no answer").split()))[:_LONGEST_DETAIL]
    return Response(ResponseState.FAILED, detail=detail)


def _dict(value: object) -> dict[str, Any]:
    """A JSON object; empty where something else was sent in its place."""
    return value if isinstance(value, dict) else {}


def _openai_create(
    _target: Target, _rows: Sequence[Row], file: str, nonce: str
) -> tuple[dict[str, Any], str]:
    body = {
        "input_file_id": file,
        "endpoint": "/v1/responses",
        "completion_window": "24h",
        "metadata": {MARK: nonce},
    }
    return body, "/batches"


def _anthropic_create(
    _target: Target, rows: Sequence[Row], _file: str, _nonce: str
) -> tuple[dict[str, Any], str]:
    return {
        "requests": [{"custom_id": row.id, "params": row.body} for row in rows]
    }, "/messages/batches"


def _gemini_create(
    target: Target, rows: Sequence[Row], _file: str, nonce: str
) -> tuple[dict[str, Any], str]:
    requests = [{"request": row.body, "metadata": {"key": row.id}} for row in rows]
    batch = {
        "display_name": f"{MARK}-{nonce}",
        "input_config": {"requests": {"requests": requests}},
    }
    return {"batch": batch}, f"/models/{target.model}:batchGenerateContent"


_Create = Callable[[Target, Sequence[Row], str, str], tuple[dict[str, Any], str]]
_CREATES: Mapping[Dialect, _Create] = {
    Dialect.RESPONSES: _openai_create,
    Dialect.MESSAGES: _anthropic_create,
    Dialect.GEMINI: _gemini_create,
}
MOST_BYTES = {
    Dialect.RESPONSES: 190_000_000,
    Dialect.MESSAGES: 240_000_000,
    Dialect.GEMINI: 19_000_000,
}
"""What an API takes in one batch."""
_LISTS = {
    Dialect.RESPONSES: "/batches",
    Dialect.MESSAGES: "/messages/batches",
    Dialect.GEMINI: "/batches",
}
"""The APIs that have batches, and where theirs are listed."""


def has_batches(dialect: Dialect) -> bool:
    """Whether an API has batches at all."""
    return dialect in _LISTS


def _path(target: Target, name: str) -> str:
    # Gemini's names hold the collection: `batches/abc`.
    return f"/{name}" if target.dialect is Dialect.GEMINI else f"{_LISTS[target.dialect]}/{name}"


def _batch(target: Target, found: Mapping[str, Any] | BatchTrouble) -> Batch | BatchTrouble:
    if isinstance(found, BatchTrouble):
        return found
    read = _READERS[target.dialect](found)
    return read or BatchTrouble("the reply describes no batch", is_transient=True)


def _openai_batch(found: Mapping[str, Any]) -> Batch | None:
    name, status = found.get("id"), found.get("status")
    if not isinstance(name, str):
        return None
    files = [found.get("output_file_id"), found.get("error_file_id")]
    ended = status in {"completed", "expired", "cancelled"}
    state = BatchState.ENDED if ended else BatchState.RUNNING
    if status == "failed":
        state = BatchState.FAILED
    metadata, counts = found.get("metadata"), found.get("request_counts")
    created = found.get("created_at")
    return Batch(
        id=name,
        state=state,
        nonce=str(metadata.get(MARK, "")) if isinstance(metadata, dict) else "",
        created=_moment(created),
        size=counts.get("total") if isinstance(counts, dict) else None,
        results=tuple(f"/files/{file}/content" for file in files if file),
        detail=readable(str(status)),
    )


def _moment(seconds: object) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat() if isinstance(seconds, int) else ""
    except (OverflowError, OSError, ValueError):
        return ""


def _anthropic_batch(found: Mapping[str, Any]) -> Batch | None:
    name, status = found.get("id"), found.get("processing_status")
    if not isinstance(name, str):
        return None
    counts, is_over = _dict(found.get("request_counts")), status == "ended"
    return Batch(
        id=name,
        state=BatchState.ENDED if is_over else BatchState.RUNNING,
        created=str(found.get("created_at") or ""),
        size=sum(number for number in counts.values() if isinstance(number, int)),
        # Its own place, not the address in the reply, which may name another host.
        results=(f"/messages/batches/{name}/results",) if is_over else (),
        detail=readable(str(status)),
    )


def _gemini_batch(found: Mapping[str, Any]) -> Batch | None:
    about = _dict(found.get("metadata")) or found
    name, status = found.get("name"), str(about.get("state") or "")
    if not isinstance(name, str):
        return None
    ended = found.get("done") is True or status.endswith(("SUCCEEDED", "EXPIRED", "CANCELLED"))
    state = BatchState.ENDED if ended else BatchState.RUNNING
    if status.endswith("FAILED"):
        state = BatchState.FAILED
    output = _dict(found.get("response")) or _dict(about.get("output"))
    rows = output.get("inlinedResponses")
    rows = _dict(rows).get("inlinedResponses") if isinstance(rows, dict) else rows
    read = [_dict(row) for row in rows] if isinstance(rows, list) else []
    lines = ({**row, "custom_id": _dict(row.get("metadata")).get("key")} for row in read)
    return Batch(
        id=name,
        state=state,
        nonce=str(about.get("displayName") or "").removeprefix(f"{MARK}-"),
        created=str(about.get("createTime") or ""),
        inline=b"".join(msgspec.json.encode(line) + b"\n" for line in lines),
        detail=readable(status),
    )


_READERS: Mapping[Dialect, Callable[[Mapping[str, Any]], Batch | None]] = {
    Dialect.RESPONSES: _openai_batch,
    Dialect.MESSAGES: _anthropic_batch,
    Dialect.GEMINI: _gemini_batch,
}


def _request(
    method: str,
    target: Target,
    path: str,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any] | BatchTrouble:
    if not http.is_safe_address(target.address):
        return BatchTrouble(f"no key is sent to {target.address}", is_sent=False)
    reply = http.send(
        method,
        target.address + path,
        headers={**headers_of(target.dialect, target.key), **target.headers, **(headers or {})},
        body=body,
        seconds=_SECONDS + len(body) / _BYTES_A_SECOND,
    )
    trouble = _trouble(reply)
    if trouble is not None:
        return trouble
    assert isinstance(reply, http.HttpReply)
    try:
        found = msgspec.json.decode(reply.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = None
    if isinstance(found, dict):
        return found
    return BatchTrouble("the reply cannot be read", is_transient=True)


def _trouble(reply: http.HttpReply | http.NoReply) -> BatchTrouble | None:
    """Why a request has no result; None where it has one."""
    if isinstance(reply, http.NoReply):
        return BatchTrouble(reply.reason, is_sent=reply.is_sent, is_transient=True)
    if reply.is_success:
        return None
    words = " ".join(reply.body[:_LONGEST_DETAIL].decode("utf-8", "replace").split())
    # A refusal of the request itself took no effect; a fault of the server may have.
    is_refused = reply.status in range(400, 500) and reply.status not in {408, 409}
    return BatchTrouble(
        readable(f"it answered {reply.status}: {words}"),
        is_sent=not is_refused,
        is_transient=reply.status in _TRANSIENT,
    )
