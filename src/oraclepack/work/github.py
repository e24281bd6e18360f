"""GitHub's REST API: the few requests that publishing needs, by `gh api` or over HTTP."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from oraclepack.engines import http
from oraclepack.engines.http import HttpReply, NoReply
from oraclepack.errors import MachineError, UsageError
from oraclepack.system.clock import SystemClock
from oraclepack.system.programs import find_program
from oraclepack.work.trackers import MARKER

PUBLIC_API = "https://api.github.com"
_HEADERS = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
_NEXT = re.compile(r'<([^<>]+)>;\s*rel="next"')
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}")
_ORIGIN = re.compile(r"(?:https?://|ssh://)?(?:[^@/]*@)?([^/:]+)[/:](.+?/.+?)(?:\.git)?/?")
_TOKENS = ("GH_TOKEN", "GITHUB_TOKEN")
_MOST_PAGES = 5_000
_TRIES = 5
_SECONDARY_PAUSE = 60.0
"""GitHub asks for at least a minute where a secondary limit names no time."""
_LONGEST_PAUSE = 900.0
"""A longer pause is for the user to decide: the command ends and says when to continue."""
_GH_SECONDS = 90.0
_GH_HAS_NO_TOKEN = 4
_TOO_MANY, _SERVER = 429, 500
_MOST_WORDS = 300
_HINTS = {
    401: "check the token in GH_TOKEN or GITHUB_TOKEN, or `gh auth status`",
    403: "the token needs the permission to write issues",
    404: "check --repo, and whether the token may see the repository",
    410: "the repository has its issues switched off",
    **dict.fromkeys(range(300, 400), "the repository has moved: name it as it is called now"),
}


class GithubError(MachineError):
    """GitHub refused a request or could not be reached."""

    code = "GITHUB"

    @property
    def is_unreachable(self) -> bool:
        """There was no answer at all."""
        return self.retryable and self.retry_after is None


class UnknownOutcomeError(GithubError):
    """A request was sent and its outcome is not known: it may have been carried out."""


class RemoteIssue(msgspec.Struct, frozen=True):
    """An issue as GitHub has it."""

    number: int
    title: str = ""
    body: str = ""
    is_open: bool = True
    url: str = ""
    author: str = ""
    author_is_trusted: bool = False
    """The author belongs to the repository, or is a bot with access to it."""

    @property
    def id(self) -> str | None:
        """The id in its marker."""
        match = MARKER.search(self.body)
        return match["id"] if match is not None else None


class GithubClient:
    """Requests about the issues of one repository."""

    def __init__(
        self,
        repository: str,
        environment: Mapping[str, str],
        base: str = PUBLIC_API,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        if not _REPOSITORY.fullmatch(repository) or repository.endswith(("/.", "/..")):
            raise UsageError(f"--repo {repository}: must be OWNER/NAME")
        self._base = checked_base(base)
        self._issues = f"{self._base}/repos/{repository}/issues"
        self._environment = environment
        self._token = token_of(environment)
        # gh speaks https only, and knows the user's login.
        is_https = self._base.startswith("https://")
        self._gh = find_program("gh", environment.get("PATH")) if is_https else None
        self._wait = wait
        self._pause = 0.0
        """Seconds before the next request."""

    @property
    def is_authorised(self) -> bool:
        """Whether there is a token, or gh, which has its own."""
        return bool(self._token or self._gh)

    def issues(self) -> Iterator[RemoteIssue]:
        """Every issue of the repository, open and closed, oldest first."""
        url = f"{self._issues}?state=all&sort=created&direction=asc&per_page=100"
        for _ in range(_MOST_PAGES):
            reply = self._request("GET", url)
            entries = _decoded(reply)
            if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
                raise GithubError("GitHub's list of issues is not a list of objects")
            yield from (_issue(entry) for entry in entries if "pull_request" not in entry)
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
            entry = _decoded(self._request("GET", f"{self._base}/user"))
        except GithubError:
            return ""
        return str(entry.get("login", "")) if isinstance(entry, dict) else ""

    def create(self, fields: Mapping[str, Any]) -> RemoteIssue:
        """File an issue. Raises UnknownOutcomeError where it is unknown whether it was created."""
        return _issue(_decoded(self._request("POST", self._issues, fields)))

    def update(self, number: int, fields: Mapping[str, Any]) -> RemoteIssue:
        return _issue(_decoded(self._request("PATCH", f"{self._issues}/{number}", fields)))

    def _request(self, method: str, url: str, fields: Mapping[str, Any] | None = None) -> HttpReply:
        """Send a request until it is answered.

        One that creates something is not repeated blindly: it may have been carried out.
        """
        what = f"{method} {urlsplit(url).path}"
        for attempt in range(1, _TRIES + 1):
            self._wait_first()
            reply = (self._by_gh if self._gh else self._by_http)(method, url, fields)
            if isinstance(reply, HttpReply):
                if reply.header("X-RateLimit-Remaining") == "0":
                    self._pause = _until_reset(reply)
                if reply.is_success:
                    return reply
                if _is_limited(reply):
                    self._pause = max(self._pause, _pause_of(reply, attempt))
                    if attempt < _TRIES or self._pause > _LONGEST_PAUSE:
                        continue
                message = _message(reply) if reply.status < _SERVER else ""
                said = f"{what}: GitHub answered {reply.status}{message and f': {message}'}"
                if reply.status < _SERVER:
                    raise GithubError(said, hint=_HINTS.get(reply.status, ""))
                is_sent = True
            else:
                said, is_sent = f"{what}: {reply.reason}", reply.is_sent
            if method == "POST" or attempt == _TRIES:
                kind = UnknownOutcomeError if method == "POST" and is_sent else GithubError
                hint = "check the network, then run the same command again"
                raise kind(said, hint=hint, retryable=True)
            self._pause = max(self._pause, float(2**attempt - 1))
        raise AssertionError("unreachable")

    def _wait_first(self) -> None:
        pause, self._pause = self._pause, 0.0
        if pause > _LONGEST_PAUSE:
            raise GithubError(
                f"GitHub's rate limit is used up for {pause:.0f} seconds",
                hint="run the same command again then; what was published is recorded",
                retryable=True,
                retry_after=pause,
            )
        if pause:
            self._wait(pause)

    def _by_http(
        self, method: str, url: str, fields: Mapping[str, Any] | None
    ) -> HttpReply | NoReply:
        headers = {**_HEADERS, "Content-Type": "application/json"} if fields else {**_HEADERS}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        body = msgspec.json.encode(fields) if fields else b""
        return http.send(method, url, headers=headers, body=body)

    def _by_gh(
        self, method: str, url: str, fields: Mapping[str, Any] | None
    ) -> HttpReply | NoReply:
        words = [str(self._gh), "api", "--include", "--method", method, url]
        words += [word for name, value in _HEADERS.items() for word in ("-H", f"{name}: {value}")]
        words += ["--input", "-"] if fields else []
        try:
            done = subprocess.run(
                words,
                input=msgspec.json.encode(fields) if fields else b"",
                capture_output=True,
                timeout=_GH_SECONDS,
                env={**self._environment, "GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1"},
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as trouble:
            return NoReply(
                f"gh: {type(trouble).__name__}", is_sent=not isinstance(trouble, OSError)
            )
        head, _, body = done.stdout.replace(b"\r\n", b"\n").partition(b"\n\n")
        status, *lines = head.decode("utf-8", "replace").split("\n")
        words = status.split()
        if not status.startswith("HTTP/") or len(words) < 2 or not words[1].isdecimal():
            reason = " ".join(done.stderr.decode("utf-8", "replace").split())[:_MOST_WORDS]
            is_sent = done.returncode != _GH_HAS_NO_TOKEN
            return NoReply(reason or f"gh ended with {done.returncode}", is_sent=is_sent)
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        return HttpReply(int(words[1]), headers, body)


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


def repository_at(address: str, base: str) -> str | None:
    """`owner/name` of a remote on the server of this API; None for any other remote."""
    found = _ORIGIN.fullmatch(address)
    host = urlsplit(web_address(base, "")).hostname
    is_there = found is not None and found[1] == host and found[2].count("/") == 1
    return found[2] if found is not None and is_there else None


def _decoded(reply: HttpReply) -> Any:  # noqa: ANN401 - whatever the server sent
    try:
        return msgspec.json.decode(reply.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UnknownOutcomeError("GitHub's answer is not JSON") from None


def _issue(entry: object) -> RemoteIssue:
    number = entry.get("number") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(number, int):
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
    if reply.status == _TOO_MANY:
        return True
    has_limit = reply.header("Retry-After") or reply.header("X-RateLimit-Remaining") == "0"
    return reply.status == 403 and bool(has_limit or b"rate limit" in reply.body.lower())


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


def _message(reply: HttpReply) -> str:
    """What GitHub says about a refusal."""
    try:
        decoded = _decoded(reply)
    except UnknownOutcomeError:
        return ""
    message = decoded.get("message", "") if isinstance(decoded, dict) else ""
    return " ".join(str(message).split())[:_MOST_WORDS]
