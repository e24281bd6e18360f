"""A server on loopback that behaves like GitHub's REST API for issues, troubles included."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "ghp_0123456789abcdefghij"
ME = "ada"

Trouble = Callable[["GithubHandler"], bool]
"""Answers a request in place of GitHub; False where it is none of its business."""


class GithubServer(ThreadingHTTPServer):
    """One repository `octo/shop`; pages hold two issues, whatever is asked for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), GithubHandler)
        self.issues: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str]] = []
        self.troubles: list[Trouble] = []
        """Each is offered every request until it has answered one."""
        self.lock = threading.Lock()
        self.victim: int | None = None
        self.has_victim = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def writes(self) -> list[str]:
        return [method for method, _ in self.requests if method != "GET"]

    def add(self, fields: dict[str, Any], **more: Any) -> dict[str, Any]:
        with self.lock:
            number = len(self.issues) + 1
            issue = {
                "number": number,
                "title": fields.get("title", ""),
                "body": fields.get("body", ""),
                "labels": [{"name": name} for name in fields.get("labels", [])],
                "state": "open",
                "html_url": f"https://github.com/octo/shop/issues/{number}",
                "user": {"login": ME, "type": "User"},
                "author_association": "OWNER",
                **more,
            }
            self.issues.append(issue)
        return issue

    def kill_client(self) -> None:
        """Kill the command that sends the requests, as `kill -9` does."""
        assert self.has_victim.wait(30)
        assert self.victim is not None
        os.kill(self.victim, signal.SIGKILL)


class GithubHandler(BaseHTTPRequestHandler):
    """One request."""

    server: GithubServer

    def do_GET(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.answer()

    def do_PATCH(self) -> None:
        self.answer()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def answer(self) -> None:
        self.server.requests.append((self.command, self.path))
        length = int(self.headers.get("Content-Length") or 0)
        self.fields = json.loads(self.rfile.read(length)) if length else {}
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.send(401, {"message": "Bad credentials"})
            return
        for trouble in list(self.server.troubles):
            if trouble(self):
                self.server.troubles.remove(trouble)
                return
        self.do()

    def do(self) -> None:
        """What GitHub does when all is well."""
        parts = urlsplit(self.path)
        if parts.path == "/user":
            self.send(200, {"login": ME})
        elif parts.path == "/repos/octo/shop/issues" and self.command == "GET":
            self.page(parts.query)
        elif parts.path == "/repos/octo/shop/issues":
            self.send(201, self.server.add(self.fields))
        elif parts.path.startswith("/repos/octo/shop/issues/") and self.command == "PATCH":
            issue = self.server.issues[int(parts.path.rpartition("/")[2]) - 1]
            issue.update(self.fields)
            self.send(200, issue)
        else:
            self.send(404, {"message": "Not Found"})

    def page(self, query: str) -> None:
        number = int(parse_qs(query).get("page", ["1"])[0])
        with self.server.lock:
            shown = self.server.issues[2 * number - 2 : 2 * number]
            is_last = len(self.server.issues) <= 2 * number
        following = f"{self.server.url}/repos/octo/shop/issues?state=all&page={number + 1}"
        self.send(200, shown, {} if is_last else {"Link": f'<{following}>; rel="next"'})

    def send(self, status: int, data: object, headers: dict[str, str] | None = None) -> None:
        body = json.dumps(data).encode()
        try:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # the client is dead


def on_create(number: int, act: Callable[[GithubHandler], None]) -> Trouble:
    """A trouble with the request that would be the `number`th to create an issue."""
    count = iter(range(1, 1000))

    def trouble(request: GithubHandler) -> bool:
        if request.command != "POST" or next(count) != number:
            return False
        act(request)
        return True

    return trouble


def refusal(status: int, message: str = "", **headers: str) -> Callable[[GithubHandler], None]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request: request.send(status, {"message": message}, named)


def create_and_say_nothing(request: GithubHandler) -> None:
    """The issue is created, and the connection breaks before the answer."""
    request.server.add(request.fields)
    request.close_connection = True


def kill_before(request: GithubHandler) -> None:
    request.server.kill_client()


def kill_after(request: GithubHandler) -> None:
    request.server.add(request.fields)
    request.server.kill_client()


def kill_and_create_later(request: GithubHandler) -> None:
    """GitHub is slow: the issue appears when the client is already dead."""
    request.server.kill_client()
    time.sleep(0.2)
    request.server.add(request.fields)


@contextmanager
def github() -> Iterator[GithubServer]:
    """The server, running."""
    server = GithubServer()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
