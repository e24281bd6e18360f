"""`publish github` as a whole: the work of a run, as issues of a repository."""

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from oraclepack.errors import NotFoundError, UsageError
from oraclepack.system import disk, files
from oraclepack.system import environment as env
from oraclepack.system.clock import Clock, SystemClock, rfc3339
from oraclepack.system.digests import canonical_line
from oraclepack.system.git import Git, GitError
from oraclepack.system.secrets import Redactor
from oraclepack.work.actionize import locked
from oraclepack.work.backlog import IssuesPer
from oraclepack.work.github import (
    PUBLIC_API,
    GithubClient,
    GithubError,
    RemoteIssue,
    UnknownOutcomeError,
    checked_base,
    repository_at,
    web_address,
)
from oraclepack.work.load_answers import from_run, newest_run, refuse_foreign
from oraclepack.work.records import actionize
from oraclepack.work.trackers import END_MARK, MARKER, GithubIssue, github_entries
from oraclepack.work.work_pages import Permalinks

RECORD = "published.jsonl"
"""In a run directory: which issues were published or about to be created."""
SETTLE_SECONDS = 30.0
"""So long after a request without an answer GitHub's list is taken to show what it did."""
WRITE_PAUSE = 1.0
"""GitHub asks for a second between requests that change something."""
MOST_CHARACTERS = 65_000
"""GitHub takes 65,536 in a body."""
_TRIES = 3
_PACK = len("OP3-00000000")
_DONE = re.compile(r"^(?P<head>[ \t]*- )\[[xX]\] (?P<text>.*?)[ \t]*$", re.MULTILINE)


class PublishAction(StrEnum):
    """What was done with an issue, or would be done."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    CLOSED = "closed"
    """It is closed on GitHub and was not touched."""
    LEFT = "left"
    """Something about it needs a person; it was not touched."""


class PublishRequest(msgspec.Struct, frozen=True):
    """Which work to publish, and where."""

    repository: str
    run_dir: str = ""
    """The newest run of the project where none is named."""
    per: IssuesPer = IssuesPer.QUESTION
    api_url: str = PUBLIC_API
    dry_run: bool = False
    allow_rehearsal: bool = False
    settle: float = SETTLE_SECONDS
    write_pause: float = WRITE_PAUSE


class PublishedIssue(msgspec.Struct, frozen=True):
    """An issue of the backlog and the result of publishing it."""

    id: str
    title: str
    action: PublishAction
    number: int | None = None
    url: str = ""
    reason: str = ""


class PublishReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of `publish`; with `dry_run` what it would be."""

    ok: bool
    run_dir: str
    repository: str
    api_url: str
    per: IssuesPer
    dry_run: bool
    totals: dict[PublishAction, int]
    issues: tuple[PublishedIssue, ...]
    error: str = ""
    """Why it stopped before the end; the same command continues."""
    retry_after: float | None = None


class PublishResult(msgspec.Struct, frozen=True):
    """The report, with warnings."""

    report: PublishReport
    warnings: tuple[str, ...] = ()
    hint: str = ""


def publish_run(
    request: PublishRequest, root: Path, wait: Callable[[float], None] = time.sleep
) -> PublishResult:
    """Create or update an issue for each question, or each task, of a run."""
    base = checked_base(request.api_url)
    environment = env.environment()
    if not request.repository:
        request = replace(request, repository=_origin(root, base, environment))
    client = GithubClient(request.repository, environment, base, wait)
    if not client.is_authorised and not request.dry_run:
        raise UsageError(
            "there is no token for GitHub",
            hint="install gh and `gh auth login`, or set GH_TOKEN or GITHUB_TOKEN; it needs the "
            "permission to write issues",
        )
    place = Path(request.run_dir) if request.run_dir else newest_run(root)
    if not place.is_dir():
        raise NotFoundError(
            f"--run-dir {place}: no such directory",
            hint="`oraclepack runs list` names the runs; they lie in .oraclepack/runs",
        )
    refuse_foreign(place)
    with locked(place, "publish"):
        project = env.project_of(place) or root
        issues, warnings = _issues(request, base, place, project, environment)
        record = PublishRecord(place, base, request.repository, SystemClock())
        publisher = _Publisher(request, client, record, wait)
        trouble = publisher.publish(issues)
    totals = Counter(one.action for one in publisher.done)
    report = PublishReport(
        ok=trouble is None,
        run_dir=place.as_posix(),
        repository=request.repository,
        api_url=base,
        per=request.per,
        dry_run=request.dry_run,
        totals={action: totals[action] for action in PublishAction},
        issues=tuple(publisher.done),
        error=trouble.message if trouble is not None else "",
        retry_after=trouble.retry_after if trouble is not None else None,
    )
    hints = [trouble.hint] if trouble is not None else []
    # A dry run may have no token, but it reads from GitHub too.
    if trouble is not None and not (client.is_authorised or trouble.is_unreachable):
        hints.append(
            "neither GH_TOKEN nor GITHUB_TOKEN is set: without a token GitHub shows public "
            "repositories only, and answers few requests"
        )
    hint = "; ".join(filter(None, hints))
    return PublishResult(report, (*warnings, *publisher.warnings), hint)


def _origin(root: Path, base: str, environment: Mapping[str, str]) -> str:
    """The repository that git's origin names, on the server of this API."""
    try:
        address = Git(root, environment).run("config", "--get", "remote.origin.url")
    except GitError:
        address = b""
    found = repository_at(address.decode("utf-8", "replace").strip(), base)
    if found is None:
        raise UsageError(
            "git's origin is no repository of this GitHub", hint="name one with --repo OWNER/NAME"
        )
    return found


def _issues(
    request: PublishRequest, base: str, place: Path, root: Path, environment: Mapping[str, str]
) -> tuple[list[GithubIssue], tuple[str, ...]]:
    """The work that results from the answers of a run, without secrets of the environment."""
    loaded = from_run(place, root)
    if loaded.answers.rehearsal and not request.allow_rehearsal:
        raise UsageError(
            "these answers come from a rehearsal, in which no model was asked",
            hint="add --allow-rehearsal to publish them marked as such",
        )
    links = Permalinks(web_address(base, request.repository), loaded.answers.commit)
    work = actionize(loaded.answers)
    issues = github_entries(work.issues, links, request.per, rehearsal=loaded.answers.rehearsal)
    redactor = Redactor.of(environment)
    return [redactor.clean_record(issue) for issue in issues], loaded.warnings


class PublishEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A line of `published.jsonl`: an issue that is about to be created, or one that exists."""

    kind: Literal["intent", "published"]
    at: str
    api_url: str
    repository: str
    id: str
    number: int | None = None
    title: str = ""


class PublishRecord:
    """The events of one repository, read from the file, and appended to it."""

    def __init__(self, run_dir: Path, api_url: str, repository: str, clock: Clock) -> None:
        self._path = run_dir / RECORD
        self._where = (api_url, repository)
        self._clock = clock
        self.published: dict[str, tuple[int, str]] = {}
        """Number and title of each issue that exists, by its id."""
        self._intents: dict[str, datetime] = {}
        """Issues that may exist although no number was recorded, and since when."""
        data = files.read(self._path) or b""
        self._is_torn = bool(data) and not data.endswith(b"\n")
        for line in data.split(b"\n"):
            try:
                event = msgspec.json.decode(line, type=PublishEvent)
            except msgspec.MsgspecError:
                continue  # a line cut off by a kill, or the empty text after the last line
            if (event.api_url, event.repository.lower()) == (api_url, repository.lower()):
                self._apply(event)

    def seconds_since_intent(self) -> float | None:
        """How long ago the last create with an unknown outcome began."""
        if not self._intents:
            return None
        return (self._clock.now().astimezone(UTC) - max(self._intents.values())).total_seconds()

    def add(self, name: str, number: int | None = None, title: str = "") -> None:
        """Record an issue, or without its number the intent to create one; synced at once."""
        if number is not None and self.published.get(name) == (number, title):
            return
        event = PublishEvent(
            kind="intent" if number is None else "published",
            at=rfc3339(self._clock.now()),
            api_url=self._where[0],
            repository=self._where[1],
            id=name,
            number=number,
            title=title,
        )
        is_new = not self._path.exists()
        try:
            descriptor = disk.open_append(self._path)
            try:
                start = b"\n" if self._is_torn else b""
                disk.write(descriptor, start + canonical_line(event) + b"\n", self._path)
                disk.sync(descriptor, self._path)
            finally:
                os.close(descriptor)
            if is_new:
                disk.sync_directory(self._path.parent)
        except OSError as trouble:
            raise files.cannot("write", self._path, trouble) from None
        self._is_torn = False
        self._apply(event)

    def _apply(self, event: PublishEvent) -> None:
        if event.kind == "intent":
            self._intents[event.id] = datetime.fromisoformat(event.at)
        elif event.number is not None:
            self.published[event.id] = (event.number, event.title)
            self._intents.pop(event.id, None)


class _Publisher:
    """Publishes the issues of one run, one after the other."""

    def __init__(
        self,
        request: PublishRequest,
        client: GithubClient,
        record: PublishRecord,
        wait: Callable[[float], None],
    ) -> None:
        self._request = request
        self._client = client
        self._record = record
        self._wait = wait
        self._login: str | None = None
        self.done: list[PublishedIssue] = []
        self.warnings: tuple[str, ...] = ()

    def publish(self, issues: Sequence[GithubIssue]) -> GithubError | None:
        """Publish all issues; returns the error that stopped it, if one did."""
        request = self._request
        try:
            age = None if request.dry_run else self._record.seconds_since_intent()
            if age is not None and age < request.settle:
                self._wait(min(request.settle, request.settle - age))
            numbers, existing = self._remote_issues()
            packs = {issue.id[:_PACK] for issue in issues}
            ways = {
                _way(name)
                for name, one in existing.items()
                if one.is_open and name[:_PACK] in packs
            }
            if ways - {request.per}:
                raise UsageError(
                    f"{request.repository} has open issues of this pack that stand for "
                    f"{'tasks' if request.per is IssuesPer.QUESTION else 'questions'}",
                    hint="publish with the other value of --per, or close them first",
                )
            for issue in issues:
                self.done.append(self._carry_out(issue, existing.get(issue.id), numbers))
        except GithubError as trouble:
            if not request.dry_run or not trouble.is_unreachable:
                return trouble
            self.warnings = (f"{trouble.message}: this is by what the run has recorded",)
            self.done = [self._by_record(issue) for issue in issues]
        return None

    def _by_record(self, issue: GithubIssue) -> PublishedIssue:
        """What would be done with an issue, as far as the run itself knows."""
        number, title = self._record.published.get(issue.id, (None, ""))
        is_same = PublishAction.UNCHANGED if title == issue.title else PublishAction.UPDATED
        action = PublishAction.CREATED if number is None else is_same
        return PublishedIssue(issue.id, issue.title, action, number)

    def _remote_issues(self) -> tuple[set[int], dict[str, RemoteIssue]]:
        """The numbers of all issues of the repository, and ours by their ids."""
        remote = [*self._client.issues()]
        marked = [issue for issue in remote if issue.id is not None]
        if self._login is None and any(not one.author_is_trusted for one in marked):
            self._login = self._client.login()
        existing, self.warnings = by_id(marked, self._record.published, self._login or "")
        return {issue.number for issue in remote}, existing

    def _carry_out(
        self, issue: GithubIssue, remote: RemoteIssue | None, numbers: set[int]
    ) -> PublishedIssue:
        known = self._record.published.get(issue.id)
        title, body, reason = issue.title, issue.body, ""
        if remote is None and known is None:
            action = PublishAction.CREATED
        elif remote is None:
            assert known is not None
            remote = RemoteIssue(known[0])
            lost = known[0] in numbers
            reason = f"#{known[0]} {'lost its marker' if lost else 'is gone from the repository'}"
            action = PublishAction.LEFT
        elif not remote.is_open:
            action, reason = PublishAction.CLOSED, "it is closed on GitHub"
        else:
            merged = merged_body(remote.body, issue.body)
            # A title that a person has changed since stays.
            title = remote.title if known is not None and known[1] != remote.title else title
            body = merged or ""
            is_same = title == remote.title and body.strip() == _lines(remote.body).strip()
            action = PublishAction.UNCHANGED if is_same else PublishAction.UPDATED
            if merged is None or len(body) > MOST_CHARACTERS:
                reason = "its text would be too long" if body else "its end marker is missing"
                action, title = PublishAction.LEFT, issue.title
        if not self._request.dry_run:
            if action is PublishAction.CREATED:
                remote = self._create(issue)
            elif action is PublishAction.UPDATED and remote is not None:
                self._wait(self._request.write_pause)
                remote = self._client.update(remote.number, {"title": title, "body": body})
            if action in {PublishAction.UPDATED, PublishAction.UNCHANGED} and remote is not None:
                self._record.add(issue.id, remote.number, issue.title)
        number, url = (remote.number, remote.url) if remote is not None else (None, "")
        return PublishedIssue(issue.id, title, action, number, url, reason)

    def _create(self, issue: GithubIssue) -> RemoteIssue:
        """Create an issue once, also where GitHub's answer is lost."""
        for attempt in range(1, _TRIES + 1):
            self._wait(self._request.write_pause)
            # Killed after this line, the next command looks for the issue before it creates one.
            self._record.add(issue.id)
            try:
                created = self._client.create(issue.fields())
            except UnknownOutcomeError:
                self._wait(self._request.settle)
                _, existing = self._remote_issues()
                if issue.id not in existing:
                    if attempt == _TRIES:
                        raise
                    continue
                created = existing[issue.id]
            self._record.add(issue.id, created.number, issue.title)
            return created
        raise AssertionError("unreachable")


def by_id(
    remote: Iterable[RemoteIssue], known: Mapping[str, tuple[int, str]], login: str
) -> tuple[dict[str, RemoteIssue], tuple[str, ...]]:
    """The issue of each id, the oldest where there are several, and warnings about the others.

    Anyone can open an issue with a marker in it, so its author has to be allowed.
    """
    issues: dict[str, RemoteIssue] = {}
    warnings: list[str] = []
    for issue in sorted(remote, key=lambda one: one.number):
        name = issue.id
        if name is None:
            continue
        recorded = name in known and known[name][0] == issue.number
        if not (recorded or issue.author_is_trusted or (login and issue.author == login)):
            warnings.append(
                f"#{issue.number} has the marker of {name}, but its author is not of the "
                "repository; it was ignored"
            )
        elif name in issues:
            warnings.append(f"#{issue.number} repeats {name}, which is #{issues[name].number}")
        else:
            issues[name] = issue
    return issues, tuple(warnings)


def _way(name: str) -> IssuesPer:
    return IssuesPer.TASK if name.count("-") > len("--") else IssuesPer.QUESTION


def merged_body(existing: str, body: str) -> str | None:
    """The existing body with our part replaced; ticks and what is around it stay.

    None where the end of our part cannot be found.
    """
    text = _lines(existing)
    begin = MARKER.search(text)
    end = text.find(END_MARK, begin.end()) if begin is not None else -1
    if begin is None or end < 0:
        return None
    done = {match["head"] + match["text"] for match in _DONE.finditer(text[begin.start() : end])}
    lines = body[: body.rfind(END_MARK)].split("\n")
    for at, line in enumerate(lines):
        head, box, rest = line.partition("[ ] ")
        if box and head + rest.rstrip() in done:
            lines[at] = f"{head}[x] {rest}"
    return text[: begin.start()] + "\n".join(lines) + text[end:]


def _lines(text: str) -> str:
    """Text that was edited on GitHub's page has the line ends of forms."""
    return text.replace("\r\n", "\n")
