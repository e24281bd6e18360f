"""What publishing does with each issue: a comparison of the backlog with what GitHub has."""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from oraclepack.work.backlog import IssuesPer
from oraclepack.work.trackers import END_MARK, MARKER, GithubIssue

MOST_CHARACTERS = 65_000
"""GitHub takes 65,536 in a body."""
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


class PublishedTitle(msgspec.Struct, frozen=True):
    """What the run directory records of an issue that was published."""

    number: int
    title: str


class PublishStep(msgspec.Struct, frozen=True):
    """What to do with one issue."""

    action: PublishAction
    issue: GithubIssue
    remote: RemoteIssue | None = None
    title: str = ""
    body: str = ""
    reason: str = ""


def by_id(
    remote: Iterable[RemoteIssue], known: Mapping[str, PublishedTitle], login: str
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
        recorded = name in known and known[name].number == issue.number
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


def plan_publication(
    issues: Sequence[GithubIssue],
    remote: Sequence[RemoteIssue],
    existing: Mapping[str, RemoteIssue],
    known: Mapping[str, PublishedTitle],
) -> list[PublishStep]:
    """What to do with each issue of the backlog."""
    numbers = {issue.number for issue in remote}
    return [_step(issue, existing.get(issue.id), known.get(issue.id), numbers) for issue in issues]


def other_way(ids: Iterable[str], remote: Mapping[str, RemoteIssue], per: IssuesPer) -> bool:
    """Whether this pack has open issues that were published the other way."""
    packs = {name[: len("OP3-00000000")] for name in ids}
    return any(
        issue.is_open and name[: len("OP3-00000000")] in packs and _way(name) is not per
        for name, issue in remote.items()
    )


def _way(name: str) -> IssuesPer:
    return IssuesPer.TASK if name.count("-") > len("--") else IssuesPer.QUESTION


def _step(
    issue: GithubIssue,
    remote: RemoteIssue | None,
    known: PublishedTitle | None,
    numbers: set[int],
) -> PublishStep:
    if remote is None and known is None:
        return PublishStep(PublishAction.CREATED, issue, title=issue.title, body=issue.body)
    if remote is None:
        assert known is not None
        missing = RemoteIssue(known.number)
        reason = "lost its marker" if known.number in numbers else "is gone from the repository"
        return PublishStep(PublishAction.LEFT, issue, missing, reason=f"#{known.number} {reason}")
    if not remote.is_open:
        return PublishStep(PublishAction.CLOSED, issue, remote, reason="it is closed on GitHub")
    body = merged_body(remote.body, issue.body)
    if body is None or len(body) > MOST_CHARACTERS:
        lacks = "its end marker is missing" if body is None else "its text would be too long"
        return PublishStep(PublishAction.LEFT, issue, remote, reason=lacks)
    # A title that a person has changed since stays.
    renamed = known is not None and known.title != remote.title
    title = remote.title if renamed else issue.title
    same = title == remote.title and body.strip() == _lines(remote.body).strip()
    action = PublishAction.UNCHANGED if same else PublishAction.UPDATED
    return PublishStep(action, issue, remote, title, body)


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
    own = body[: body.rfind(END_MARK)]
    lines = [_ticked(line, done) for line in own.split("\n")]
    return text[: begin.start()] + "\n".join(lines) + text[end:]


def _ticked(line: str, done: set[str]) -> str:
    head, box, rest = line.partition("[ ] ")
    return f"{head}[x] {rest}" if box and head + rest.rstrip() in done else line


def _lines(text: str) -> str:
    """Text that was edited on GitHub's page has the line ends of forms."""
    return text.replace("\r\n", "\n")
