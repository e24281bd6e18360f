"""A provider of answers on loopback: speaks chat completions, and fails on request.

It answers Anthropic's `/messages` and Gemini's `:generateContent` too. It also computes responses
in the background, as OpenAI and Azure do for Pro models: a POST to `…/responses` is answered with
an id, and the response can be asked for with it, or cancelled.

A prompt names its own fault, `[[fault=rate_limit first=3]]`: the first three requests with that
prompt, or all of them without `first`. Or a test adds a `Rule`. The client library repeats many
faults twice by itself, so a fault is seen by the caller only from `first=3` on.
"""

import json
import re
import secrets
import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

_DIRECTIVE = re.compile(r"\[\[fault=(\w+)(?: first=(\d+))?\]\]")
_FILE = re.compile(r"^### File(?: \d+)?: (.+)$", re.MULTILINE)
_SLOW = 0.7

REFUSALS = {
    "rate_limit": (429, "rate_limit_exceeded", "Rate limit reached. Please try again in 20s."),
    "rate_soon": (429, "rate_limit_exceeded", "Rate limit reached. Please try again in 200ms."),
    "quota": (429, "insufficient_quota", "You exceeded your current quota, check your billing."),
    "auth": (401, "invalid_api_key", "Incorrect API key provided: sk-*********test."),
    "forbidden": (403, "unsupported_country", "Country, region, or territory not supported"),
    "no_model": (404, "model_not_found", "The model does not exist."),
    "context": (400, "context_length_exceeded", "This model's maximum context length is 9 tokens."),
    "server_error": (500, None, "The server had an error while processing your request."),
    "unavailable": (503, None, "The engine is currently overloaded, please try again later"),
    "overloaded": (529, None, "Overloaded"),
}
"""Faults that are an answer with a status of its own: status, code, message.

The others: `drop` and `reset` (no answer), `hang` (none, ever), `hold` (none until
`Provider.release` is set), `slow`, `empty`, `garbage` (not JSON), `short` (without its last
section), `cut` (reset in the middle of the stream), `cut_clean` (an orderly end there), `stall` (no
end), `halfway` (the second half once `release` is set), `error_event`, `length`.

Of a response in the background: `thinking` (runs until `release` is set), `lost` (it runs, and its
reply is lost), `failed`, `incomplete`, `cancelled`, `gone` (nobody knows its id any more),
`forbidden_poll` (asking for it is refused), `lost_poll` (asking for it is answered by a reset, the
first three times).
"""


ENDED = frozenset({"failed", "incomplete", "cancelled"})
"""Faults with which a response in the background ends."""


@dataclass(frozen=True)
class Rule:
    """A fault for the first requests whose prompt holds a text."""

    match: str
    fault: str
    first: int | None = None


@dataclass
class Request:
    """One request as it was served."""

    prompt: str
    model: str
    fault: str
    retry: int
    """0 for the first of the client library's own tries."""
    files: tuple[str, ...]
    status: int | None = None
    answered: bool = False
    """A whole answer went out, or lies ready to be asked for."""
    response: str = ""
    """Its id, where it is computed in the background."""
    began: float = 0.0
    """When that began, by the monotonic clock."""


@dataclass
class Provider:
    """What the server has seen, and what it is to do. Safe to read while it serves."""

    port: int = 0
    rules: list[Rule] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    polls: list[str] = field(default_factory=list)
    """The ids that were asked for, each time."""
    cancelled: list[str] = field(default_factory=list)
    """The ids that were cancelled."""
    keys: set[str] = field(default_factory=set)
    """The keys that came with the requests."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """What was sent, as it was."""
    serves_chat_only: bool = False
    """`/responses` is not served, as by most local servers."""
    refused_models: set[str] = field(default_factory=set)
    """Models that this provider does not have."""
    background_seconds: float = 0.0
    """How long a response in the background takes."""
    slower: float = 0.0
    """By how many seconds each of them takes longer than the one before."""
    most_at_once: int = 0
    release: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)
    arrived: threading.Condition = field(default_factory=threading.Condition)
    _open: int = 0

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def answered(self) -> list[str]:
        """The prompts that got a whole answer."""
        return [request.prompt for request in self.requests if request.answered]

    def await_requests(self, count: int) -> None:
        """Wait until so many have arrived."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.requests) >= count, timeout=30)

    def response(self, name: str) -> Request | None:
        """The request that an id stands for."""
        return next((one for one in self.requests if one.response == name), None)

    def begin(self, prompt: str, model: str, retry: int) -> Request:
        with self.arrived:
            self._open += 1
            self.most_at_once = max(self.most_at_once, self._open)
            files = tuple(_FILE.findall(prompt))
            fault = "no_model" if model in self.refused_models else self._fault(prompt)
            request = Request(prompt, model, fault, retry, files)
            self.requests.append(request)
            self.arrived.notify_all()
            return request

    def end(self) -> None:
        with self.arrived:
            self._open -= 1

    def _fault(self, prompt: str) -> str:
        found = _DIRECTIVE.search(prompt)
        rules = [Rule("", found[1], int(found[2]) if found[2] else None)] if found else []
        earlier = sum(request.prompt == prompt for request in self.requests)
        for rule in (*rules, *self.rules):
            if rule.match in prompt and (rule.first is None or earlier < rule.first):
                return rule.fault
        return "ok"


@contextmanager
def serving() -> Iterator[Provider]:
    """A provider that listens on loopback until the end of the block."""
    provider = Provider()
    handler = type("BoundHandler", (_Handler,), {"provider": provider})
    with _Server(("127.0.0.1", 0), handler) as server:
        provider.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            provider.closing.set()
            provider.release.set()
            server.shutdown()
            thread.join()


def answer_to(prompt: str) -> str:
    """The same answer to the same prompt, in the four sections, citing what was attached."""
    cited = (_FILE.findall(prompt) or ["README.md"])[0]
    topic = prompt.strip().split("\n")[0][:60]
    return (
        f"## Direct answer\n- {topic}: look at `{cited}:1`.\n\n"
        f"## Risks and unknowns\n- Nobody has run `{cited}` with an empty input.\n\n"
        "## Next experiment\n- Write one failing test.\n\n"
        "## Missing evidence\n- The deployment manifest was not attached.\n"
    )


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what half of the tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    provider: ClassVar[Provider]

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base's name
        """Quiet."""

    def do_GET(self) -> None:
        self.provider.keys.add(str(self.headers.get("authorization")))
        name = self.path.rpartition("/")[2]
        request = self.provider.response(name)
        with self.provider.arrived:
            self.provider.polls.append(name)
            self.provider.arrived.notify_all()
        fault = request.fault if request else "gone"
        if fault == "lost_poll" and self.provider.polls.count(name) <= 3:
            self._hang_up(reset=True)
        elif request is None or fault == "gone":
            self._send(404, b'{"error": {"message": "Response not found."}}')
        elif fault == "forbidden_poll":
            self._send(403, b'{"error": {"message": "No access."}}')
        else:
            self._send(200, json.dumps(self._response(request)).encode())

    def do_POST(self) -> None:
        self.provider.keys.add(str(self.headers.get("authorization")))
        data = self.rfile.read(int(self.headers["content-length"]))
        if self.path.endswith("/cancel"):
            self._cancel(self.path.split("/")[-2])
            return
        body = json.loads(data)
        if self.path.endswith("/responses") and self.provider.serves_chat_only:
            self._send(404, b'{"error": {"message": "No such path."}}')
            return
        asked = body.get("messages") or body.get("input") or body["contents"]
        said = [one.get("content") or one["parts"] for one in asked if one["role"] == "user"]
        model = body.get("model") or self.path.rpartition("/")[2].partition(":")[0]
        retry = int(self.headers.get("x-stainless-retry-count") or 0)
        request = self.provider.begin("\n\n".join(map(_text, said)), model, retry)
        self.provider.bodies.append(body)
        try:
            if body.get("background") and request.fault not in REFUSALS:
                self._schedule(request)
            else:
                self._serve(request, streamed=bool(body.get("stream")))
        finally:
            self.provider.end()

    def _schedule(self, request: Request) -> None:
        """A response in the background: what is asked is paid for from here on."""
        if request.fault == "hold":
            self.provider.release.wait()
        request.status = 200
        request.began = time.monotonic()
        request.response = f"resp_{len(self.provider.requests):04d}_{secrets.token_hex(4)}"
        request.answered = request.fault not in {"failed", "incomplete", "cancelled"}
        if request.fault == "lost":
            self._hang_up()
        else:
            reply = self._response(request) | {"status": "queued", "output": [], "usage": None}
            self._send(200, json.dumps(reply).encode())

    def _cancel(self, name: str) -> None:
        request = self.provider.response(name)
        if request is None:
            self._send(404, b'{"error": {"message": "Response not found."}}')
            return
        with self.provider.arrived:
            self.provider.cancelled.append(name)
        self._send(200, json.dumps(self._response(request)).encode())

    def _response(self, request: Request) -> dict[str, Any]:
        """The response as it is now."""
        text = answer_to(request.prompt)
        lasts = self.provider.background_seconds
        lasts += self.provider.slower * self.provider.requests.index(request)
        is_late = time.monotonic() < request.began + lasts
        is_held = request.fault == "thinking" and not self.provider.release.is_set()
        state = request.fault if request.fault in ENDED else "completed"
        if request.response in self.provider.cancelled:
            state = "cancelled"
        elif is_late or is_held:
            state = "in_progress"
        part = {"type": "output_text", "text": text.rstrip("\n"), "annotations": []}
        message = {"type": "message", "role": "assistant", "content": [part]}
        usage = {"input_tokens": 10, "output_tokens": len(text) // 4}
        return {
            "id": request.response,
            "object": "response",
            "created_at": 1,
            "model": request.model,
            "background": True,
            "status": state,
            "error": {"code": "server_error", "message": "It failed."}
            if state == "failed"
            else None,
            "incomplete_details": {"reason": "max_output_tokens"}
            if state == "incomplete"
            else None,
            "output": [{"type": "reasoning", "summary": []}, message]
            if state == "completed"
            else [],
            "usage": usage | {"total_tokens": sum(usage.values())}
            if state == "completed"
            else None,
        }

    def _serve(self, request: Request, *, streamed: bool) -> None:
        fault = request.fault
        if fault == "hold":
            self.provider.release.wait()
        if fault == "slow":
            self.provider.closing.wait(timeout=_SLOW)
        if fault == "hang":
            self._outstay()
        if fault in {"drop", "reset", "hang"} or self.provider.closing.is_set():
            self._hang_up(reset=fault == "reset")
        elif fault in REFUSALS:
            self._refuse(request)
        elif fault == "garbage":
            request.status = 200
            self._send(200, b"<!doctype html><title>captive portal</title>", "text/html")
        else:
            request.status = 200
            text = "" if fault == "empty" else answer_to(request.prompt)
            if fault == "short":
                text = text.partition("## Missing evidence")[0]
            (self._stream if streamed else self._whole)(request, text)

    def _outstay(self) -> None:
        """Say nothing for as long as the client waits."""
        while not self.provider.closing.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0.05)
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                return

    def _refuse(self, request: Request) -> None:
        status, code, message = REFUSALS[request.fault]
        request.status = status
        error = {"message": message, "type": code or "server_error", "param": None, "code": code}
        self._send(status, json.dumps({"error": error}).encode())

    def _whole(self, request: Request, text: str) -> None:
        if self.path.endswith("/messages"):
            whole = _anthropic(request, text)
        elif self.path.endswith(":generateContent"):
            whole = _gemini(request, text)
        elif self.path.endswith("/responses"):
            part = {"type": "output_text", "text": text.rstrip("\n")}
            message: dict[str, Any] = {"type": "message", "content": [part]}
            usage = {"input_tokens": 10, "output_tokens": len(text) // 4}
            whole = {"id": "resp_now", "status": "completed", "output": [message], "usage": usage}
        else:
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": _finish(request)}
            whole = _chunk(request, choice) | {"object": "chat.completion", "usage": _usage(text)}
        self._send(200, json.dumps(whole).encode())
        request.answered = bool(text)

    def _stream(self, request: Request, text: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        half = len(text) // 2
        for number, part in enumerate((text[:half], text[half:])):
            if number and self._breaks(request):
                return
            self._event(_chunk(request, {"index": 0, "delta": {"content": part}}))
        last = {"index": 0, "delta": {}, "finish_reason": _finish(request)}
        self._event(_chunk(request, last) | {"usage": _usage(text)})
        self._event("[DONE]")
        self._end_stream()
        request.answered = bool(text)

    def _breaks(self, request: Request) -> bool:
        """Whether the stream ends here, in the middle."""
        match request.fault:
            case "cut":
                self._hang_up(reset=True)
            case "cut_clean":
                self._end_stream()
            case "stall":
                self.provider.closing.wait()
                self._hang_up()
            case "error_event":
                self._event({"error": {"message": "The server had an error", "code": None}})
                self._end_stream()
            case other:
                if other == "halfway":
                    self.provider.release.wait()
                return False
        return True

    def _event(self, value: object) -> None:
        data = value if isinstance(value, str) else json.dumps(value)
        self._raw(f"data: {data}\n\n".encode())

    def _end_stream(self) -> None:
        self._raw(b"")

    def _raw(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _hang_up(self, *, reset: bool = False) -> None:
        self.close_connection = True
        if reset:
            # Closing with nothing to linger for sends a reset instead of an orderly end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        else:
            self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _text(content: Any) -> str:
    """The text of a message, plain or in parts."""
    if isinstance(content, str):
        return content
    return "\n\n".join(part.get("text", "") for part in content)


def _finish(request: Request) -> str:
    return "length" if request.fault == "length" else "stop"


def _chunk(request: Request, choice: dict[str, Any]) -> dict[str, Any]:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1}
    return {**head, "model": request.model, "choices": [choice]}


def _usage(text: str) -> dict[str, int]:
    completion = len(text) // 4
    return {"prompt_tokens": 10, "completion_tokens": completion, "total_tokens": 10 + completion}


def _anthropic(request: Request, text: str) -> dict[str, Any]:
    usage = {"input_tokens": 4, "cache_read_input_tokens": 6, "output_tokens": len(text) // 4}
    reason = "max_tokens" if request.fault == "length" else "end_turn"
    content = [{"type": "text", "text": text}]
    return {"id": "msg_1", "content": content, "stop_reason": reason, "usage": usage}


def _gemini(request: Request, text: str) -> dict[str, Any]:
    usage = {"promptTokenCount": 10, "candidatesTokenCount": len(text) // 4}
    reason = "MAX_TOKENS" if request.fault == "length" else "STOP"
    candidate = {"content": {"parts": [{"text": text}]}, "finishReason": reason}
    return {"candidates": [candidate], "usageMetadata": usage}
