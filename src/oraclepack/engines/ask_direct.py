"""The program behind `--engine direct`: asks one question over HTTP, waits, writes the answer.

    python -I -m oraclepack.engines.ask_direct REQUEST.json

It prints the lines by which a call of oracle is known (its session, the id of a response that is
computed in the background, the reason of a failure) and keeps a record of its session, as oracle
does, in `sessions/` beside the request.
"""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from oraclepack.engines import http
from oraclepack.engines.dialects import (
    Dialect,
    Question,
    body_of,
    headers_of,
    path_of,
    read_reply,
)
from oraclepack.engines.direct_request import KEY_VARIABLE, DirectRequest, question_of
from oraclepack.engines.responses import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    Response,
    ResponseAddress,
    ResponseState,
    retrieve,
    tenant,
)
from oraclepack.errors import InputError
from oraclepack.system import clock, files
from oraclepack.system.digests import canonical_file
from oraclepack.tools.oracle_sessions import RECORDS, UNKNOWN
from oraclepack.tools.usage import Usage

_CREATE_SECONDS = 120.0
_NOT_SERVED = frozenset({404, 405})
_WORDS = {
    400: "invalid_request_error",
    401: "unauthorized",
    403: "PERMISSION_DENIED",
    404: "model_not_found",
    413: "Request too large for the model",
    429: "Too Many Requests",
    529: "Overloaded",
}
"""Words by which a failure is recognised, where the provider's own are not known to us."""


class _AskError(Exception):
    """The question has no answer; the reason is what oracle would print."""

    status = "error"

    def __init__(self, message: str, transport: str = "", category: str = "") -> None:
        super().__init__(message)
        self.transport = transport
        self.category = category


class _LostReplyError(_AskError):
    """The question was sent, and may be computed and billed, but its id is not known."""

    status = UNKNOWN

    def __init__(self, reason: str) -> None:
        super().__init__(f"the reply to a question was lost after it was sent: {reason}")


class _Session:
    """What is printed and recorded about the question."""

    def __init__(self, request: DirectRequest, folder: Path) -> None:
        self._place = folder / RECORDS / request.session / "meta.json"
        self._meta: dict[str, Any] = {
            "id": request.session,
            "status": "running",
            "model": request.model,
            "startedAt": clock.rfc3339(clock.SystemClock().now()),
            "options": {"prompt": request.prompt, "writeOutputPath": request.output},
        }
        files.make_private(self._place.parent)
        self._write()
        say(f"Session: {request.session}")

    def completed(self, response: Response) -> None:
        usage = response.usage or Usage()
        figures = {
            "inputTokens": usage.input_tokens,
            "cachedTokens": usage.cached_tokens,
            "cacheWriteTokens": usage.cache_write_tokens,
            "outputTokens": usage.output_tokens,
            "reasoningTokens": usage.reasoning_tokens,
        }
        counted = {name: count for name, count in figures.items() if isinstance(count, int)}
        self._meta |= {"status": "completed", "usage": counted or None}
        self._write()

    def failed(self, error: _AskError) -> None:
        self._meta |= {"status": error.status, "errorMessage": str(error)}
        if error.transport:
            self._meta["transport"] = {"reason": error.transport}
        if error.category:
            self._meta["error"] = {"category": error.category}
        self._write()

    def _write(self) -> None:
        content = canonical_file(msgspec.to_builtins(self._meta))
        files.write_atomic(self._place, content, mode=files.PRIVATE_FILE)


def main() -> int:
    place = Path(sys.argv[1])
    request = msgspec.json.decode(place.read_bytes(), type=DirectRequest)
    key = os.environ.pop(KEY_VARIABLE, "")
    session = _Session(request, place.parent)
    try:
        response = _ask(request, key, os.environ, place.parent)
    except _AskError as error:
        session.failed(error)
        say(f"ERROR: {error}")
        if error.transport:
            say(f"Transport: {error.transport}")
        return 1
    if response.text.strip():
        files.write_atomic(Path(request.output), response.text.encode())
        session.completed(response)
        say(f"Saved assistant output to {request.output}")
    else:
        session.completed(response)
        say("(no text output)")
    return 0


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _ask(
    request: DirectRequest, key: str, environment: Mapping[str, str], session_folder: Path
) -> Response:
    reply = _sent(request, _question(request), key)
    is_unknown_path = reply.status in _NOT_SERVED and request.dialect is Dialect.RESPONSES
    if is_unknown_path and not request.is_native:
        say("this address does not serve /responses; asking over chat completions")
        request = replace(request, dialect=Dialect.CHAT, background=False)
        reply = _sent(request, _question(request), key)
    if not reply.is_success:
        raise _AskError(_reason(reply))
    response = read_reply(request.dialect, reply.body)
    if response is None:
        # Something was answered, and perhaps billed; it is kept beside the request.
        files.write_atomic(session_folder / "reply", reply.body, mode=files.PRIVATE_FILE)
        raise _LostReplyError("the reply cannot be read")
    if response.state is ResponseState.RUNNING:
        response = _awaited(request, response, key, environment)
    if response.state is not ResponseState.COMPLETED:
        raise _AskError(f"Response did not complete: {response.detail or response.state}")
    return response


def _question(request: DirectRequest) -> Question:
    try:
        return question_of(request)
    except InputError as trouble:
        raise _AskError(trouble.message, category="file-validation") from trouble


def _sent(request: DirectRequest, question: Question, key: str) -> http.HttpReply:
    """The reply to the question, which is sent once."""
    of_tenant = tenant(os.environ) if request.dialect is Dialect.RESPONSES else {}
    reply = http.send(
        "POST",
        request.address + path_of(request.dialect, request.model),
        headers=headers_of(request.dialect, key) | of_tenant,
        body=msgspec.json.encode(body_of(request.dialect, question)),
        seconds=_CREATE_SECONDS if request.background else request.seconds,
    )
    if isinstance(reply, http.HttpReply):
        return reply
    if reply.is_sent:
        raise _LostReplyError(reply.reason)
    raise _AskError(f"no reply: {reply.reason}", transport="connection-lost")


def _awaited(
    request: DirectRequest, response: Response, key: str, environment: Mapping[str, str]
) -> Response:
    """A response that is computed in the background, once it has ended.

    A lost poll changes nothing at the provider, so it is asked until oraclepack ends us.
    """
    if not response.id:
        raise _LostReplyError("it has no id")
    say(f"API scheduled background response {response.id} (status=queued).")
    address = ResponseAddress(request.address, response.id, key, environment)
    pause = FIRST_PAUSE
    while True:
        time.sleep(pause)
        pause = min(LONGEST_PAUSE, 2 * pause)
        found = retrieve(address)
        if isinstance(found, Response):
            if found.state is not ResponseState.RUNNING:
                return found
        elif not found.is_transient:
            raise _AskError(found.reason, transport="connection-lost")


def _reason(reply: http.HttpReply) -> str:
    """Why a provider refused, in words by which it is recognised."""
    words = _WORDS.get(reply.status, "Internal Server Error" if reply.status >= 500 else "")
    message = _message(reply.body)
    after = reply.header("retry-after")
    hint = f" Please try again in {after}s." if after.isdecimal() else ""
    return " ".join(part for part in (str(reply.status), words, message) if part) + hint


def _message(body: bytes) -> str:
    """The provider's own words, or the first of whatever answered in its place."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = None
    error = found.get("error") if isinstance(found, dict) else None
    if isinstance(error, dict):
        parts = (error.get("code"), error.get("type"), error.get("message"))
        return " ".join(str(part) for part in parts if isinstance(part, str) and part)
    return " ".join(body[:200].decode("utf-8", "replace").split())


if __name__ == "__main__":
    sys.exit(main())
