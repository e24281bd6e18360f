"""`publish github` as a whole: the work of a run, as issues of a repository."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.errors import NotFoundError, UsageError
from oraclepack.system import environment as env
from oraclepack.system.clock import Clock, SystemClock
from oraclepack.system.git import Git, GitError
from oraclepack.system.secrets import Redactor
from oraclepack.work.actionize import locked
from oraclepack.work.backlog import IssuesPer
from oraclepack.work.engine_actionize import actionize
from oraclepack.work.github_client import (
    PUBLIC_API,
    GithubClient,
    GithubError,
    UnknownOutcomeError,
    checked_base,
    repository_at,
    token_of,
    web_address,
)
from oraclepack.work.load_answers import from_run, newest_run, refuse_foreign
from oraclepack.work.publish_plan import (
    PublishAction,
    PublishStep,
    RemoteIssue,
    by_id,
    other_way,
    plan_publication,
)
from oraclepack.work.publish_record import PublishRecord
from oraclepack.work.trackers import GithubIssue, github_entries
from oraclepack.work.work_pages import Permalinks

SETTLE_SECONDS = 30.0
"""So long after a request without an answer GitHub's list is taken to show what it did."""
WRITE_PAUSE = 1.0
"""GitHub asks for a second between requests that change something."""
_TRIES = 3


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
    token = token_of(environment)
    if not token and not request.dry_run:
        raise UsageError(
            "there is no token for GitHub",
            hint="set GH_TOKEN or GITHUB_TOKEN; it needs the permission to write issues",
        )
    client = GithubClient(request.repository, token, base, wait)
    place = Path(request.run_dir) if request.run_dir else newest_run(root)
    if not place.is_dir():
        raise NotFoundError(
            f"--run-dir {place}: no such directory",
            hint="`oraclepack runs list` names the runs; they lie in .oraclepack/runs",
        )
    refuse_foreign(place)
    project = env.project_of(place) or root
    with locked(place, "publish"):
        issues, warnings = _issues(request, base, place, project, environment)
        clock = SystemClock()
        record = PublishRecord(place, base, request.repository, clock)
        publisher = _Publisher(request, client, record, wait, clock)
        trouble = publisher.publish(issues)
    done = publisher.done
    totals = Counter(one.action for one in done)
    report = PublishReport(
        ok=trouble is None,
        run_dir=place.as_posix(),
        repository=request.repository,
        api_url=base,
        per=request.per,
        dry_run=request.dry_run,
        totals={action: totals[action] for action in PublishAction},
        issues=tuple(done),
        error=trouble.message if trouble is not None else "",
        retry_after=trouble.retry_after if trouble is not None else None,
    )
    all_warnings = (*warnings, *publisher.warnings)
    hint = _way_out(trouble, has_token=bool(token)) if trouble is not None else ""
    return PublishResult(report, all_warnings, hint)


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


def _way_out(trouble: GithubError, *, has_token: bool) -> str:
    """The hint for an error. A dry run may have no token, but it reads from GitHub too."""
    hints = [trouble.hint]
    if not has_token and not trouble.is_unreachable:
        hints.append(
            "neither GH_TOKEN nor GITHUB_TOKEN is set: without a token GitHub shows public "
            "repositories only, and answers few requests"
        )
    return "; ".join(filter(None, hints))


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


class _Publisher:
    """Publishes the issues of one run, one after the other."""

    def __init__(
        self,
        request: PublishRequest,
        client: GithubClient,
        record: PublishRecord,
        wait: Callable[[float], None],
        clock: Clock,
    ) -> None:
        self._request = request
        self._client = client
        self._record = record
        self._wait = wait
        self._clock = clock
        self._login: str | None = None
        self.done: list[PublishedIssue] = []
        self.warnings: tuple[str, ...] = ()

    def publish(self, issues: Sequence[GithubIssue]) -> GithubError | None:
        """Publish all issues; returns the error that stopped it, if one did."""
        try:
            if not self._request.dry_run:
                self._let_settle()
            remote, existing = self._remote_issues()
            if other_way([issue.id for issue in issues], existing, self._request.per):
                raise UsageError(
                    f"{self._request.repository} has open issues of this pack that stand for "
                    f"{'tasks' if self._request.per is IssuesPer.QUESTION else 'questions'}",
                    hint="publish with the other value of --per, or close them first",
                )
            for step in plan_publication(issues, remote, existing, self._record.published):
                self.done.append(self._carry_out(step))
        except GithubError as trouble:
            if not self._request.dry_run or not trouble.is_unreachable:
                return trouble
            self.warnings = (f"{trouble.message}: this is by what the run has recorded",)
            self.done = [self._by_record(issue) for issue in issues]
        return None

    def _by_record(self, issue: GithubIssue) -> PublishedIssue:
        """What would be done with an issue, as far as the run itself knows."""
        known = self._record.published.get(issue.id)
        if known is None:
            return PublishedIssue(issue.id, issue.title, PublishAction.CREATED)
        is_same = known.title == issue.title
        action = PublishAction.UNCHANGED if is_same else PublishAction.UPDATED
        return PublishedIssue(issue.id, issue.title, action, known.number)

    def _let_settle(self) -> None:
        """Wait for an issue that an earlier command began to create, with an unknown outcome."""
        if self._record.intents:
            last = max(datetime.fromisoformat(at) for at in self._record.intents.values())
            age = (self._clock.now().astimezone(UTC) - last).total_seconds()
            rest = min(self._request.settle, self._request.settle - age)
            if rest > 0:
                self._wait(rest)

    def _remote_issues(self) -> tuple[list[RemoteIssue], dict[str, RemoteIssue]]:
        remote = [*self._client.issues()]
        marked = [issue for issue in remote if issue.id is not None]
        if self._login is None and any(not one.author_is_trusted for one in marked):
            self._login = self._client.login()
        existing, self.warnings = by_id(marked, self._record.published, self._login or "")
        return remote, existing

    def _carry_out(self, step: PublishStep) -> PublishedIssue:
        remote = step.remote
        if not self._request.dry_run:
            match step.action:
                case PublishAction.CREATED:
                    remote = self._create(step.issue)
                case PublishAction.UPDATED if remote is not None:
                    self._wait(self._request.write_pause)
                    fields = {"title": step.title, "body": step.body}
                    remote = self._client.update(remote.number, fields)
                    self._record.record_published(step.issue.id, remote.number, step.issue.title)
                case PublishAction.UNCHANGED if remote is not None:
                    self._record.record_published(step.issue.id, remote.number, step.issue.title)
                case _:
                    pass
        return PublishedIssue(
            step.issue.id,
            step.title or step.issue.title,
            step.action,
            remote.number if remote is not None else None,
            remote.url if remote is not None else "",
            step.reason,
        )

    def _create(self, issue: GithubIssue) -> RemoteIssue:
        """Create an issue once, also where GitHub's answer is lost."""
        for attempt in range(1, _TRIES + 1):
            self._wait(self._request.write_pause)
            # Killed after this line, the next command looks for the issue before it creates one.
            self._record.record_intent(issue.id)
            try:
                created = self._client.create(issue.fields())
            except UnknownOutcomeError:
                self._wait(self._request.settle)
                _, remote = self._remote_issues()
                if issue.id in remote:
                    created = remote[issue.id]
                elif attempt == _TRIES:
                    raise
                else:
                    continue
            self._record.record_published(issue.id, created.number, issue.title)
            return created
        raise AssertionError("unreachable")
