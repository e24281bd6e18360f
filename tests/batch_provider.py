"""Batches of questions, as OpenAI, Anthropic and Gemini take them, on loopback.

Every row is answered and billed when the batch is made; the results show once it is ready. Faults:
`reply_lost` (the first create takes effect, and its reply is lost), `rows_failed`, `half_expired`,
`twice` (each row twice, and one that nobody asked), `refused` (400), `busy` (the first three polls
are answered with 503), `failed` (the batch as a whole).
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from tests.provider import answer_to


@dataclass
class MadeBatch:
    """A batch and its rows: what was asked, by the id of each row."""

    name: str
    rows: dict[str, str]
    about: dict[str, Any]
    began: float = field(default_factory=time.monotonic)
    is_cancelled: bool = False


@dataclass
class BatchProvider:
    """What the server has, and what it is to do."""

    port: int = 0
    fault: str = ""
    seconds: float = 0.0
    """How long a batch takes."""
    held: bool = False
    """No batch ends."""
    results_at: str = ""
    """What Anthropic's batches name as the place of their results, in place of the true one."""
    files: dict[str, bytes] = field(default_factory=dict)
    batches: list[MadeBatch] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    """Method and path of each."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def billed(self) -> list[str]:
        """The prompts that were paid for."""
        failing = self.fault in {"rows_failed", "failed"}
        return [] if failing else [text for batch in self.batches for text in batch.rows.values()]


@contextmanager
def serving_batches() -> Iterator[BatchProvider]:
    """A provider of batches that listens on loopback until the end of the block."""
    provider = BatchProvider()
    handler = type("BoundHandler", (_Handler,), {"provider": provider})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        provider.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    provider: ClassVar[BatchProvider]

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base's name
        """Quiet."""

    def do_GET(self) -> None:
        path = self._noted()
        at, batches = path.rpartition("/")[2], self.provider.batches
        if found := re.search(r"/files/(\w+)/content$", path):
            self._send(200, self.provider.files[found[1]])
        elif path.endswith("/results"):
            batch = next(one for one in batches if one.name == path.split("/")[-2])
            self._send(200, self._results(batch, "anthropic"))
        elif at == "batches":
            key = "operations" if "pageSize" in self.path else "data"
            views = [self._view(batch) for batch in reversed(batches)]
            lists = {"odd_list": {key: None}, "cut_list": {key: views, "has_more": True}}
            self._send_json(200, lists.get(self.provider.fault, {key: views}))
        elif self.provider.fault == "busy" and self._polls() <= 3:
            self._send_json(503, {"error": {"message": "overloaded"}})
        else:
            named = [batch for batch in batches if batch.name == at]
            self._send_json(200 if named else 404, self._view(named[0]) if named else {})

    def do_POST(self) -> None:
        path = self._noted()
        data = self.rfile.read(int(self.headers["content-length"]))
        if path.endswith(("/cancel", ":cancel")):
            name = path.removesuffix("/cancel").removesuffix(":cancel").rpartition("/")[2]
            batch = next(one for one in self.provider.batches if one.name == name)
            batch.is_cancelled = True
            self._send_json(200, self._view(batch))
        elif path.endswith("/files"):
            self._take_file(data)
        elif self.provider.fault == "refused":
            self._send_json(400, {"error": {"message": "no such endpoint"}})
        else:
            self._take_batch(path, json.loads(data))

    def _noted(self) -> str:
        path = self.path.partition("?")[0]
        with self.provider.lock:
            self.provider.requests.append(f"{self.command} {path}")
        return path

    def _polls(self) -> int:
        return sum(one.startswith("GET") and "batch_" in one for one in self.provider.requests)

    def _take_file(self, data: bytes) -> None:
        boundary = re.search(r"boundary=(\S+)", self.headers["content-type"])
        assert boundary is not None
        part = next(
            one for one in data.split(b"--" + boundary[1].encode()) if b'name="file"' in one
        )
        name = f"file_{len(self.provider.files) + 1}"
        self.provider.files[name] = part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
        self._send_json(200, {"id": name})

    def _take_batch(self, path: str, body: dict[str, Any]) -> None:
        name = f"batch_{len(self.provider.batches) + 1}"
        if "input_file_id" in body:
            lines = self.provider.files[body["input_file_id"]].splitlines()
            rows = {
                row["custom_id"]: _asked(row["body"]["input"]) for row in map(json.loads, lines)
            }
            about = {"api": "openai", **body}
        elif "requests" in body:
            rows = {row["custom_id"]: _asked(row["params"]["messages"]) for row in body["requests"]}
            about = {"api": "anthropic"}
        else:
            inner = body["batch"]["input_config"]["requests"]["requests"]
            rows = {row["metadata"]["key"]: _asked(row["request"]["contents"]) for row in inner}
            about = {"api": "gemini", "name": body["batch"]["display_name"]}
            assert path.endswith(":batchGenerateContent")
        batch = MadeBatch(name, rows, about)
        self.provider.batches.append(batch)
        if self.provider.fault == "reply_lost" and len(self.provider.batches) == 1:
            self.close_connection = True
            self.connection.close()
        else:
            self._send_json(200, self._view(batch))

    def _view(self, batch: MadeBatch) -> dict[str, Any]:
        provider, api = self.provider, batch.about["api"]
        done = not provider.held and time.monotonic() >= batch.began + provider.seconds
        done |= batch.is_cancelled
        if api == "openai":
            status = "completed" if done else "in_progress"
            status = "failed" if provider.fault == "failed" else status
            provider.files[f"out_{batch.name}"] = self._results(batch, api)
            return {
                "id": batch.name,
                "status": status,
                "metadata": batch.about.get("metadata"),
                "output_file_id": f"out_{batch.name}" if status == "completed" else None,
                "created_at": int(time.time()),
                "request_counts": {"total": len(batch.rows)},
            }
        if api == "anthropic":
            place = f"{provider.address}/messages/batches/{batch.name}/results"
            return {
                "id": batch.name,
                "processing_status": "ended" if done else "in_progress",
                "request_counts": {"succeeded": len(batch.rows)},
                "results_url": (provider.results_at or place) if done else None,
                "created_at": "2026-11-18T00:00:00Z",
            }
        state = "BATCH_STATE_SUCCEEDED" if done else "BATCH_STATE_RUNNING"
        lines = self._results(batch, api).splitlines()
        output = {"inlinedResponses": {"inlinedResponses": [json.loads(line) for line in lines]}}
        return {
            "name": f"batches/{batch.name}",
            "metadata": {"state": state, "displayName": batch.about["name"]},
            "done": done,
            "response": output if done else None,
        }

    def _results(self, batch: MadeBatch, api: str) -> bytes:
        fault, rows = self.provider.fault, list(batch.rows.items())
        lines = []
        for number, (name, prompt) in enumerate(reversed(rows)):
            is_expired = fault == "half_expired" and number % 2 == 1 and len(rows) > 1
            text = None if fault == "rows_failed" or is_expired else answer_to(prompt)
            lines.append(_line(api, name, text))
        if fault == "twice":
            lines += [*lines, _line(api, "nobody", "an answer to nothing")]
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    def _send_json(self, status: int, value: object) -> None:
        self._send(status, json.dumps(value).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _asked(messages: list[dict[str, Any]]) -> str:
    parts = messages[-1].get("content") or messages[-1]["parts"]
    return "\n\n".join(part["text"] for part in parts)


def _line(api: str, name: str, text: str | None) -> dict[str, Any]:
    """A line of results, with an answer or with a failure."""
    error = {"message": "the row was not answered in time"}
    if api == "openai":
        part = {"type": "output_text", "text": text}
        usage = {"input_tokens": 10, "output_tokens": 20}
        body = {"status": "completed", "output": [{"content": [part]}], "usage": usage}
        response = {"status_code": 200, "body": body}
        return {"custom_id": name, "response": response if text else None, "error": None} | (
            {} if text else {"error": error}
        )
    if api == "anthropic":
        message = {
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 10, "output_tokens": 20},
        }
        good = {"type": "succeeded", "message": message}
        return {"custom_id": name, "result": good if text else {"type": "expired"}}
    candidate = {"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 20}
    good = {"response": {"candidates": [candidate], "usageMetadata": usage}}
    return {"metadata": {"key": name}} | (good if text else {"error": error})
