"""GitHub's REST API: the few requests that publishing needs, within its rate limits."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from oraclepack.engines import http
from oraclepack.engines.http import HttpReply
from oraclepack.errors import MachineError, UsageError
from oraclepack.system.clock import SystemClock
from oraclepack.work.publish_plan import RemoteIssue

PUBLIC_API = "https://api.github.com"
_VERSION = "2022-11-28"
_NO_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_NEXT = re.compile(r'<([^<>]+)>;\s*rel="next"')
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_TOKENS = ("GH_TOKEN", "GITHUB_TOKEN")
_MOST_PAGES = 5_000
_TRIES = 5
_SECONDARY_PAUSE = 60.0
"""GitHub asks for at least a minute where a secondary limit names no time."""
_LONGEST_PAUSE = 900.0
"""A longer pause is for the user to decide: the command ends and says when to continue."""
_TOO_MANY = 429
_LIMITED = frozenset({403, _TOO_MANY})
_SERVER = 500
_MOST_WORDS = 300

Wait = Callable[[float], None]


class GithubError(MachineError):
    """GitHub refused a request or could not be reached."""

    code = "GITHUB"

    @property
    def is_unreachable(self) -> bool:
        """There was no answer at all."""
        return self.retryable and self.retry_after is None


class UnknownOutcomeError(GithubError):
    """A request was sent and its outcome is not known: it may have been carried out."""


class GithubClient:
    """Requests about the issues of one repository."""

    def __init__(
        self, repository: str, token: str, base: str = PUBLIC_API, wait: Wait = time.sleep
    ) -> None:
        if not _REPOSITORY.fullmatch(repository) or repository.endswith(("/.", "/..")):
            raise UsageError(f"--repo {repository}: must be OWNER/NAME")
        self._base = checked_base(base)
        self._issues = f"{self._base}/repos/{repository}/issues"
        self._token = token
        self._wait = wait
        self._pause_first = 0.0

    def issues(self) -> Iterator[RemoteIssue]:
        """Every issue of the repository, open and closed, oldest first."""
        url = f"{self._issues}?state=all&sort=created&direction=asc&per_page=100"
        for _ in range(_MOST_PAGES):
            reply = self._request("GET", url)
            for entry in _list_of(reply):
                if "pull_request" not in entry:
                    yield _issue(entry)
            following = _NEXT.search(reply.header("Link"))
            if following is None:
                return
            if not following[1].startswith(f"{self._base}/"):
                raise GithubError("the next page of the list lies on another host")
            url = following[1]
        raise GithubError(f"the list of issues has more than {_MOST_PAGES} pages")

    def login(self) -> str:
        """Whose token it is; empty where GitHub does not say, as for the token of a workflow."""
        try:
            entry = _object_of(self._request("GET", f"{self._base}/user"))
        except GithubError:
            return ""
        return str(entry.get("login", ""))

    def create(self, fields: Mapping[str, Any]) -> RemoteIssue:
        """File an issue. Raises UnknownOutcomeError where it is unknown whether it was created."""
        return _issue(_object_of(self._request("POST", self._issues, fields)))

    def update(self, number: int, fields: Mapping[str, Any]) -> RemoteIssue:
        return _issue(_object_of(self._request("PATCH", f"{self._issues}/{number}", fields)))

    def _request(self, method: str, url: str, fields: Mapping[str, Any] | None = None) -> HttpReply:
        trouble = GithubError(f"{method} {_redacted(url)}: no answer")
        for attempt in range(1, _TRIES + 1):
            self._wait_first()
            reply = self._send(method, url, fields)
            if isinstance(reply, http.NoReply):
                what = f"{_redacted(url)}: {reply.reason}"
                trouble = _unreachable(method, what, is_sent=reply.is_sent)
            else:
                self._note_limits(reply)
                if reply.is_success:
                    return reply
                limited = _is_limited(reply)
                trouble = _refused(method, url, reply)
                if not limited and reply.status < _SERVER:
                    raise trouble
                if limited:
                    self._pause_first = max(self._pause_first, _pause_of(reply, attempt))
                    if self._pause_first > _LONGEST_PAUSE:
                        raise _later(self._pause_first)
                    continue
            # A request that creates something is not repeated blindly: it may have succeeded.
            if method == "POST":
                raise trouble
            self._pause_first = max(self._pause_first, float(2**attempt - 1))
        raise trouble

    def _wait_first(self) -> None:
        pause, self._pause_first = self._pause_first, 0.0
        if pause > _LONGEST_PAUSE:
            raise _later(pause)
        if pause > 0:
            self._wait(pause)

    def _note_limits(self, reply: HttpReply) -> None:
        """Wait before the next request where this one was the last that the hour allows."""
        if reply.header("X-RateLimit-Remaining") == "0":
            self._pause_first = _until_reset(reply)

    def _send(
        self, method: str, url: str, fields: Mapping[str, Any] | None
    ) -> HttpReply | http.NoReply:
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": _VERSION}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        body = b""
        if fields is not None:
            body = msgspec.json.encode(fields)
            headers["Content-Type"] = "application/json"
        return http.send(method, url, headers=headers, body=body)


def token_of(environment: Mapping[str, str]) -> str:
    """The token for GitHub, empty where there is none; the order is that of `gh`."""
    token = next((value for name in _TOKENS if (value := environment.get(name, "").strip())), "")
    if token and not (token.isascii() and token.isprintable() and " " not in token):
        raise UsageError(f"the token in {' or '.join(_TOKENS)} is not one line of plain text")
    return token


def checked_base(base: str) -> str:
    """The address of the API without a slash at its end, if a token may be sent there."""
    if not http.is_safe_address(base):
        raise UsageError(
            f"github_api_url: {base} cannot be used",
            hint="it must be an https address such as https://github.example.com/api/v3",
        )
    return base.rstrip("/")


def web_address(base: str, repository: str) -> str:
    """The page of a repository, given the address of the API."""
    if checked_base(base) == PUBLIC_API:
        return f"https://github.com/{repository}"
    return f"{checked_base(base).removesuffix('/api/v3')}/{repository}"


_ORIGIN = re.compile(r"(?:https?://|ssh://)?(?:[^@/]*@)?([^/:]+)[/:](.+?/.+?)(?:\.git)?/?")


def repository_at(address: str, base: str) -> str | None:
    """`owner/name` of a remote on the server of this API; None for any other remote."""
    found = _ORIGIN.fullmatch(address)
    host = urlsplit(web_address(base, "")).hostname
    is_there = found is not None and found[1] == host and found[2].count("/") == 1
    return found[2] if found is not None and is_there else None


def _decoded(reply: HttpReply) -> Any:  # noqa: ANN401 - whatever the server sent
    try:
        return msgspec.json.decode(reply.body)
    except _NO_JSON:
        raise UnknownOutcomeError("GitHub's answer is not JSON") from None


def _list_of(reply: HttpReply) -> list[dict[str, Any]]:
    decoded = _decoded(reply)
    if not isinstance(decoded, list) or not all(isinstance(entry, dict) for entry in decoded):
        raise GithubError("GitHub's list of issues is not a list of objects")
    return decoded


def _object_of(reply: HttpReply) -> dict[str, Any]:
    decoded = _decoded(reply)
    if not isinstance(decoded, dict):
        raise UnknownOutcomeError("GitHub's answer is not an object")
    return decoded


def _issue(entry: Mapping[str, Any]) -> RemoteIssue:
    number = entry.get("number")
    if not isinstance(number, int):
        raise UnknownOutcomeError("GitHub's answer names no issue")
    user = entry.get("user")
    author = user if isinstance(user, dict) else {}
    member = entry.get("author_association") in {"OWNER", "MEMBER", "COLLABORATOR"}
    return RemoteIssue(
        number=number,
        title=str(entry.get("title") or ""),
        body=str(entry.get("body") or ""),
        is_open=entry.get("state") != "closed",
        url=str(entry.get("html_url") or ""),
        author=str(author.get("login") or ""),
        author_is_trusted=member or author.get("type") == "Bot",
    )


def _is_limited(reply: HttpReply) -> bool:
    """A rate limit, and not a refusal for good."""
    if reply.status not in _LIMITED:
        return False
    if reply.status == _TOO_MANY or reply.header("Retry-After"):
        return True
    return reply.header("X-RateLimit-Remaining") == "0" or b"rate limit" in reply.body.lower()


def _pause_of(reply: HttpReply, attempt: int) -> float:
    retry_after = reply.header("Retry-After").strip()
    if retry_after.isdecimal():
        return float(retry_after)
    if reply.header("X-RateLimit-Remaining") == "0":
        return _until_reset(reply)
    return _SECONDARY_PAUSE * (1 << (attempt - 1))


def _until_reset(reply: HttpReply) -> float:
    reset = reply.header("X-RateLimit-Reset").strip()
    if not reset.isdecimal():
        return _SECONDARY_PAUSE
    return max(0.0, float(reset) - SystemClock().now().timestamp()) + 1.0


def _later(seconds: float) -> GithubError:
    return GithubError(
        f"GitHub's rate limit is used up for {seconds:.0f} seconds",
        hint="run the same command again then; what was published is recorded",
        retryable=True,
        retry_after=seconds,
    )


def _unreachable(method: str, message: str, *, is_sent: bool = True) -> GithubError:
    kind = UnknownOutcomeError if method == "POST" and is_sent else GithubError
    return kind(
        f"{method} {message}",
        hint="check the network, then run the same command again",
        retryable=True,
    )


def _refused(method: str, url: str, reply: HttpReply) -> GithubError:
    message = _message(reply)
    reason = f": {message}" if message else ""
    what = f"{method} {_redacted(url)}: GitHub answered {reply.status}{reason}"
    if reply.status >= _SERVER:
        return _unreachable(method, f"{_redacted(url)}: GitHub answered {reply.status}")
    hints = {
        401: "check the token in GH_TOKEN or GITHUB_TOKEN",
        403: "the token needs the permission to write issues",
        404: "check --repo, and whether the token may see the repository",
        410: "the repository has its issues switched off",
    }
    if reply.status in range(300, 400):
        return GithubError(what, hint="the repository has moved: name it as it is called now")
    return GithubError(what, hint=hints.get(reply.status, ""))


def _message(reply: HttpReply) -> str:
    try:
        decoded = msgspec.json.decode(reply.body)
    except _NO_JSON:
        return ""
    message = decoded.get("message", "") if isinstance(decoded, dict) else ""
    return " ".join(str(message).split())[:_MOST_WORDS]


def _redacted(url: str) -> str:
    return urlsplit(url).path
