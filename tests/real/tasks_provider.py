"""A provider on loopback that answers what the real Task Master asks, in the shape it wants."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HINT = "cut it where the queue begins"
"""What the weighing of a task says about breaking it down."""

_TEXTS = {
    "description": "What it is about.",
    "details": "How it is done, in enough words.",
    "testStrategy": "Run it.",
}


@dataclass
class TasksProvider:
    """What was asked, and the address to ask at."""

    url: str = ""
    asked: list[str] = field(default_factory=list)


@contextmanager
def serving_tasks(titles: tuple[str, ...]) -> Iterator[TasksProvider]:
    """Answer until the end of the block; a PRD comes to tasks of these titles."""
    provider = TasksProvider()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text = json.dumps(body["messages"])
            provider.asked.append(text)
            self._reply(_completion(body["model"], _answer(text, titles)))

        def _reply(self, content: dict[str, Any]) -> None:
            data = json.dumps(content).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    provider.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def config(url: str) -> str:
    """Task Master's settings for a provider at that address."""
    model = {
        "provider": "openai-compatible",
        "modelId": "gpt-5.2",
        "maxTokens": 8000,
        "temperature": 0.2,
        "baseURL": url,
    }
    models = {"main": model, "research": model, "fallback": model}
    quiet = {"anonymousTelemetry": False, "enableCodebaseAnalysis": False}
    return json.dumps({"models": models, "global": quiet})


def _answer(asked: str, titles: tuple[str, ...]) -> dict[str, Any]:
    if "complexityAnalysis" in asked:
        return {"complexityAnalysis": [_weighed(n, t) for n, t in enumerate(titles, 1)]}
    if '\\"subtasks\\" property' in asked:
        return {"subtasks": [_task(number, f"Part {number}") for number in (1, 2)]}
    return {"tasks": [_task(n, t) | {"priority": "high"} for n, t in enumerate(titles, 1)]}


def _task(number: int, title: str) -> dict[str, Any]:
    facts = {"id": number, "title": title, "status": "pending", "dependencies": []}
    return facts | _TEXTS


def _weighed(number: int, title: str) -> dict[str, Any]:
    return {
        "taskId": number,
        "taskTitle": title,
        "complexityScore": 6,
        "recommendedSubtasks": 2,
        "expansionPrompt": HINT,
        "reasoning": "It has two parts.",
    }


def _completion(model: str, answer: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": json.dumps(answer)}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
