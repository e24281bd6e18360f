"""A response that a provider computes in the background: waited for by its id, or cancelled.

OpenAI's Responses API, which Azure serves too. What it cannot tell for certain is unknown: another
key and a short retention are answered with 404 like a response that never was.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from oraclepack.engines import http
from oraclepack.engines.engine import Answer, Caller, GivenUp, Over, Pending, Settled, Unknown
from oraclepack.journal.statuses import CallIdentity
from oraclepack.system.printable import readable
from oraclepack.tools.oracle_failures import Failure, FailureClass, classify
from oraclepack.tools.oracle_sessions import UNFINISHED, SessionRecord
from oraclepack.tools.usage import Usage

FIRST_PAUSE, LONGEST_PAUSE = 2.0, 60.0
"""Seconds before the first request, doubled from one to the next."""
_SECONDS = 30.0
_TRANSIENT = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_LONGEST_DETAIL = 300
_MOST_TROUBLES = 5
"""Requests in a row that no provider answered, after which nothing is known of a response."""
CANCELLED = "RESPONSE_CANCELLED"
"""The code of a call whose response was cancelled at its provider."""
_ID = re.compile(r"resp_\w+")
TENANT = {"OPENAI_ORG_ID": "OpenAI-Organization", "OPENAI_PROJECT_ID": "OpenAI-Project"}
_TEXTS = frozenset({"output_text", "text"})


class ResponseState(StrEnum):
    """What a provider says about a response."""

    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    INCOMPLETE = "incomplete"
    CANCELLED = "cancelled"


_STATES = {
    "queued": ResponseState.RUNNING,
    "in_progress": ResponseState.RUNNING,
    "completed": ResponseState.COMPLETED,
    "failed": ResponseState.FAILED,
    "incomplete": ResponseState.INCOMPLETE,
    "cancelled": ResponseState.CANCELLED,
}


class Response(msgspec.Struct, frozen=True):
    """A response as its provider has it now."""

    state: ResponseState
    text: str = ""
    """As oracle writes it to a file; empty while it is not completed."""
    usage: Usage | None = None
    detail: str = ""
    """Why it has no answer."""
    id: str = ""


class UnknownResponse(msgspec.Struct, frozen=True):
    """The provider does not tell what became of a response."""

    reason: str
    is_transient: bool = False
    """The same request may be answered later: no network, a limit, a fault of the server."""


class ResponseAddress(msgspec.Struct, frozen=True):
    """A response and the access to it. The key is never written down."""

    endpoint: str
    id: str
    key: str
    environment: Mapping[str, str] = {}
    """Of the call: it may name the organisation and the project."""

    def __repr__(self) -> str:
        return f"ResponseAddress({self.endpoint!r}, {self.id!r})"


def settle(caller: Caller, identity: CallIdentity, record: SessionRecord | None) -> Settled:
    """Ask the provider what became of a response, and wait while it computes it."""
    name = identity.response or ""
    said = _awaited(caller, identity)
    if said is None:
        return GivenUp()
    if isinstance(said, UnknownResponse):
        return Unknown(identity.session or "?", f"response {name}: {said.reason}")
    if said.state is ResponseState.RUNNING:
        return Pending(
            f"its provider still computes response {name}, which is paid for; the same command "
            "goes on waiting"
        )
    if said.state is ResponseState.COMPLETED and said.text.strip():
        data = said.text.encode()
        return Answer(
            data=data,
            note="is the answer that its provider had ready",
            missing=caller.lacks(data),
            record=completed(record, identity.session or name, said.usage),
        )
    is_marked = record is not None and record.status in UNFINISHED
    return Over(force=is_marked, verdict=_verdict(name, said))


def give_up(caller: Caller, identity: CallIdentity) -> Failure | None:
    """`runs stop --now`: the provider is to give a response up; its verdict if it did."""
    address = _address(caller, identity)
    said = None if isinstance(address, UnknownResponse) else _cancel_if_wanted(caller, address)
    if said is None or said.state in {ResponseState.RUNNING, ResponseState.COMPLETED}:
        return None
    return _verdict(identity.response or "", said)


def completed(record: SessionRecord | None, name: str, usage: Usage | None) -> SessionRecord:
    """The record of a session whose answer was had in another way than from the tool."""
    known = record or SessionRecord(name, "")
    return replace(known, status="completed", usage=usage or known.usage)


def _awaited(caller: Caller, identity: CallIdentity) -> Response | UnknownResponse | None:
    """The end of a response, or what is known of it when the time is over; None when given up."""
    address = _address(caller, identity)
    if isinstance(address, UnknownResponse):
        return address
    note = f"waiting for the answer that was paid for ({identity.response})"
    troubles, seconds = 0, FIRST_PAUSE
    with caller.waiting(note, "answer that was paid for") as pause:
        while True:
            if not pause(min(seconds, max(caller.seconds_left, FIRST_PAUSE))):
                return _cancel_if_wanted(caller, address)
            said = retrieve(address)
            if isinstance(said, UnknownResponse):
                troubles += 1
                if not said.is_transient or troubles == _MOST_TROUBLES:
                    return said
            elif said.state is not ResponseState.RUNNING:
                return said
            else:
                troubles = 0
            if caller.seconds_left <= 0:
                return said
            seconds = min(2 * seconds, LONGEST_PAUSE)


def _address(caller: Caller, identity: CallIdentity) -> ResponseAddress | UnknownResponse:
    """Where a response can be asked for: as it was recorded, and only if its key belongs there."""
    question, endpoint = caller.question, identity.endpoint or ""
    today = question.route.responses if question.route else ""
    if endpoint != today:
        where = today or "another route"
        reason = f"it was asked at {endpoint}, and the settings now lead to {where}: no key is sent"
        return UnknownResponse(reason)
    return ResponseAddress(
        endpoint, identity.response or "", question.api_key, question.environment
    )


def _cancel_if_wanted(caller: Caller, address: ResponseAddress) -> Response | None:
    if not caller.is_cancelled:
        caller.say(f"response {address.id} is left to the next run, which waits for it")
        return None
    said = cancel(address)
    words = said.reason if isinstance(said, UnknownResponse) else f"it is {said.state}"
    message = f"response {address.id} was cancelled; its provider says: {words}"
    caller.warn("response_cancelled", message)
    caller.say(message)
    return None if isinstance(said, UnknownResponse) else said


def _verdict(name: str, said: Response) -> Failure:
    """A response that ended without an answer, as a failure of its call."""
    message = f"response {name} is {said.state}" + (f": {said.detail}" if said.detail else "")
    match said.state:
        case ResponseState.COMPLETED:
            return Failure("EMPTY_ANSWER", FailureClass.TRANSIENT, f"{message}, without a text")
        case ResponseState.INCOMPLETE:
            return Failure("INCOMPLETE", FailureClass.FINAL, message)
        case ResponseState.CANCELLED:
            return Failure(CANCELLED, FailureClass.FINAL, message)
    known = classify(f"ERROR: {said.detail}", "")
    if known.kind is FailureClass.UNKNOWN:
        return Failure("RESPONSE_FAILED", FailureClass.FINAL, message)
    return replace(known, message=message)


def retrieve(address: ResponseAddress) -> Response | UnknownResponse:
    """Ask for a response once."""
    return _request("GET", address, "")


def cancel(address: ResponseAddress) -> Response | UnknownResponse:
    """Ask the provider to give a response up; returns what it says about it then."""
    return _request("POST", address, "/cancel")


def tenant(environment: Mapping[str, str]) -> dict[str, str]:
    """The headers that name the organisation and the project of a request."""
    return {
        header: value
        for name, header in TENANT.items()
        if (value := environment.get(name, "").strip())
    }


def read_response(data: bytes) -> Response | None:
    """The response in a reply's body; None where there is none."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    state = _STATES.get(str(found.get("status"))) if isinstance(found, dict) else None
    if state is None:
        return None
    is_completed = state is ResponseState.COMPLETED
    named = found.get("id")
    return Response(
        state,
        id=named if isinstance(named, str) and _ID.fullmatch(named) else "",
        text=_text(found) if is_completed else "",
        usage=_usage(found.get("usage")),
        detail="" if is_completed else _detail(found),
    )


def _request(method: str, address: ResponseAddress, action: str) -> Response | UnknownResponse:
    if not _ID.fullmatch(address.id):
        return UnknownResponse("it has no id of a response")
    if not http.is_safe_address(address.endpoint):
        return UnknownResponse(f"no key is sent to {address.endpoint}: it must be an https address")
    if not address.key:
        return UnknownResponse("there is no key for its provider in the environment")
    headers = {"Authorization": f"Bearer {address.key}", **tenant(address.environment)}
    url = f"{address.endpoint.rstrip('/')}/responses/{address.id}{action}"
    reply = http.send(method, url, headers=headers, seconds=_SECONDS)
    if isinstance(reply, http.NoReply):
        return UnknownResponse(f"its provider cannot be reached: {reply.reason}", is_transient=True)
    if not reply.is_success:
        is_transient = reply.status in _TRANSIENT
        return UnknownResponse(f"its provider answered {reply.status}", is_transient=is_transient)
    response = read_response(reply.body)
    # A portal or a proxy may have answered in its place.
    return response or UnknownResponse(
        "the reply of its provider cannot be read", is_transient=True
    )


def _text(found: Mapping[str, Any]) -> str:
    """The text of a response as oracle puts it together and writes it."""
    parts: list[str] = []
    output = found.get("output")
    for item in output if isinstance(output, list) else ():
        content = item.get("content") if isinstance(item, dict) else None
        if isinstance(content, list):
            parts += [str(one["text"]) for one in content if _is_text(one)]
        elif isinstance(item, dict) and isinstance(item.get("text"), str):
            parts.append(item["text"])
    text = "\n".join(parts)
    return text if not text or text.endswith("\n") else f"{text}\n"


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and str(part.get("type")) in _TEXTS and bool(part.get("text"))


def _usage(found: object) -> Usage | None:
    if not isinstance(found, dict):
        return None
    details, read = found.get("output_tokens_details"), found.get("input_tokens_details")
    cached = read.get("cached_tokens") if isinstance(read, dict) else None
    return Usage(
        input_tokens=_count(found.get("input_tokens")),
        cached_tokens=_count(cached) or UNSET,
        output_tokens=_count(found.get("output_tokens")),
        reasoning_tokens=_count(
            details.get("reasoning_tokens") if isinstance(details, dict) else None
        ),
        total_tokens=_count(found.get("total_tokens")),
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _detail(found: Mapping[str, Any]) -> str:
    error, incomplete = found.get("error"), found.get("incomplete_details")
    words = error.get("message") if isinstance(error, dict) else None
    if words is None and isinstance(incomplete, dict):
        words = incomplete.get("reason")
    return readable(" ".join(str(words or "").split()))[:_LONGEST_DETAIL]
