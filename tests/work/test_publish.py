"""`publish github` against a server that behaves like GitHub."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from oraclepack.errors import UsageError
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import GITHUB_API_URL
from oraclepack.view.report.schemas import schema_of
from oraclepack.work.backlog import IssuesPer
from oraclepack.work.github import (
    PUBLIC_API,
    checked_base,
    repository_at,
    token_of,
    web_address,
)
from oraclepack.work.publish import PublishReport, PublishRequest, merged_body, publish_run
from oraclepack.work.trackers import END_MARK
from tests.cli.answers import answer
from tests.events import write_journal
from tests.work.answers import direct
from tests.work.github_server import (
    TOKEN,
    GithubHandler,
    GithubServer,
    create_and_say_nothing,
    github,
    kill_after,
    kill_and_create_later,
    kill_before,
    on_create,
    refusal,
)
from tests.work.project import FIX, Project, a_question

SECRET = "hunter2-very-secret"


@pytest.fixture
def server() -> Iterator[GithubServer]:
    with github() as running:
        yield running


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("GH_TOKEN", TOKEN)
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    monkeypatch.setenv("MY_PASSWORD", SECRET)
    made = Project(tmp_path, "".join(map(a_question, (1, 2, 3))))
    made.answer("01", FIX)
    made.answer("02", direct("Add a lock to `src/a.py:3`.", f"Remove {SECRET} from `src/a.py:9`."))
    made.answer("03", direct("Add a test of `main` to `tests/b.py`."))
    write_journal(made.run, *made.events)
    return made


class Publishing:
    """Publishes a project to a server, and keeps the pauses it would have made."""

    def __init__(self, project: Project, server: GithubServer) -> None:
        self.project = project
        self.server = server
        self.pauses: list[float] = []
        self.warnings: tuple[str, ...] = ()
        self.hint = ""

    def __call__(self, **more: Any) -> PublishReport:
        fields = {"api_url": self.server.url, **more}
        request = PublishRequest("octo/shop", str(self.project.run), **fields)
        done = publish_run(request, self.project.root, self.pauses.append)
        self.warnings, self.hint = done.warnings, done.hint
        return done.report

    def actions(self, **more: Any) -> list[tuple[int | None, str]]:
        return [(one.number, one.action.value) for one in self(**more).issues]


@pytest.fixture
def publish(project: Project, server: GithubServer) -> Publishing:
    return Publishing(project, server)


def test_each_question_becomes_one_issue(publish: Publishing) -> None:
    publish.server.add({"title": "an older issue", "body": None})

    assert publish.actions() == [(2, "created"), (3, "created"), (4, "created")]
    first = publish.server.issues[1]
    assert first["body"].startswith("<!-- oraclepack-issue: OP3-")
    assert "- [ ] `OP3-" in first["body"]
    assert {"name": "oraclepack"} in first["labels"]
    assert all(len(issue["title"]) <= 80 for issue in publish.server.issues)


def test_a_second_time_changes_nothing(publish: Publishing) -> None:
    publish()
    record = (publish.project.run / "published.jsonl").read_bytes()
    publish.server.requests.clear()

    assert publish.actions() == [(n, "unchanged") for n in (1, 2, 3)]
    assert publish.server.writes() == []
    assert (publish.project.run / "published.jsonl").read_bytes() == record


def test_without_its_record_the_issues_are_found_by_their_markers(publish: Publishing) -> None:
    publish()
    (publish.project.run / "published.jsonl").unlink()

    assert publish.actions() == [(n, "unchanged") for n in (1, 2, 3)]
    assert len(publish.server.issues) == 3


def test_a_dry_run_writes_nothing(publish: Publishing) -> None:
    report = publish(dry_run=True)

    assert [one.action.value for one in report.issues] == ["created"] * 3
    assert publish.server.requests, "it looks for the issues that exist"
    assert publish.server.writes() == []
    assert not (publish.project.run / "published.jsonl").exists()


def test_a_dry_run_without_a_token_says_what_is_missing(
    publish: Publishing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GH_TOKEN")

    report = publish(dry_run=True)

    assert "GitHub answered 401" in report.error
    assert "neither GH_TOKEN nor GITHUB_TOKEN is set" in publish.hint


def test_without_a_network_the_error_says_what_to_do(publish: Publishing) -> None:
    report = publish(api_url="http://127.0.0.1:9")

    assert not report.ok
    assert publish.hint.startswith("check the network, then run the same command again")
    assert "TOKEN" not in publish.hint


def test_a_dry_run_without_a_network_goes_by_the_record(publish: Publishing) -> None:
    new = publish(dry_run=True, api_url="http://127.0.0.1:9")

    assert new.ok
    assert [one.action.value for one in new.issues] == ["created"] * 3
    assert not (publish.project.run / "published.jsonl").exists()


@pytest.mark.parametrize(
    ("address", "repository"),
    [
        pytest.param("https://github.com/octo/shop.git", "octo/shop", id="https"),
        pytest.param("git@github.com:octo/shop.git", "octo/shop", id="ssh"),
        pytest.param("ssh://git@github.com/octo/shop", "octo/shop", id="ssh address"),
        pytest.param("https://gitlab.com/octo/shop.git", None, id="another server"),
        pytest.param("https://github.com/octo", None, id="no repository"),
        pytest.param("/srv/git/shop.git", None, id="a folder"),
        pytest.param("", None, id="none"),
    ],
)
def test_the_repository_of_a_remote(address: str, repository: str | None) -> None:
    assert repository_at(address, PUBLIC_API) == repository


def test_each_task_can_be_an_issue_but_not_beside_the_questions(publish: Publishing) -> None:
    report = publish(per=IssuesPer.TASK)

    assert [one.id[-5:] for one in report.issues] == ["01-01", "02-01", "02-02", "03-01"]
    with pytest.raises(UsageError, match="open issues of this pack that stand for tasks"):
        publish()


def test_links_name_the_repository_and_the_commit(publish: Publishing) -> None:
    publish()

    assert f"]({publish.server.url}/octo/shop/blob/" in publish.server.issues[0]["body"]


def test_no_secret_of_the_environment_is_published(publish: Publishing) -> None:
    publish()

    assert SECRET not in json.dumps(publish.server.issues)
    assert "[redacted]" in json.dumps(publish.server.issues)
    assert TOKEN not in (publish.project.run / "published.jsonl").read_text()


def closed(issue: dict[str, Any]) -> None:
    issue.update(state="closed", title="Done", body=issue["body"].replace("Question", "Q"))


def ticked(issue: dict[str, Any]) -> None:
    text = issue["body"].replace("- [ ] `OP3-", "- [x] `OP3-").replace("\n", "\r\n")
    issue["body"] = f"Seen in production.\r\n\r\n{text}\r\nThanks!"


def renamed(issue: dict[str, Any]) -> None:
    issue["title"] = "Our own title"


def edited(issue: dict[str, Any]) -> None:
    issue["body"] = issue["body"].replace("Question: ", "Old question: ")


def unmarked(issue: dict[str, Any]) -> None:
    issue["body"] = "Nothing of ours."


def without_end(issue: dict[str, Any]) -> None:
    issue["body"] = issue["body"].replace(END_MARK, "")


BY_PEOPLE = [
    pytest.param(closed, "closed", "it is closed on GitHub", id="a closed issue stays closed"),
    pytest.param(ticked, "unchanged", "", id="ticks and text around ours stay"),
    pytest.param(renamed, "unchanged", "", id="a title of a person stays"),
    pytest.param(edited, "updated", "", id="our own part is written anew"),
    pytest.param(unmarked, "left", "#1 lost its marker", id="an issue without marker is left"),
    pytest.param(without_end, "left", "its end marker is missing", id="so is one without end"),
]


@pytest.mark.parametrize(("change", "action", "reason"), BY_PEOPLE)
def test_what_people_changed(
    publish: Publishing, change: Callable[[dict[str, Any]], None], action: str, reason: str
) -> None:
    publish()
    before = dict(publish.server.issues[0])
    change(publish.server.issues[0])
    after = dict(publish.server.issues[0])

    first = publish().issues[0]

    assert (first.action, first.reason) == (action, reason)
    assert len(publish.server.issues) == 3
    assert publish.server.issues[0] == (before if action == "updated" else after)


def test_an_update_keeps_ticks_and_what_stands_around_our_part() -> None:
    old = "Hello\n<!-- oraclepack-issue: OP3-ab12cd34-01 -->\n- [x] `a` one\n- [x] two\n"
    new = f"<!-- oraclepack-issue: OP3-ab12cd34-01 -->\n- [ ] `a` one\n- [ ] 2\n\n{END_MARK}\n"

    assert merged_body(f"{old}{END_MARK}\nBye", new) == (
        "Hello\n<!-- oraclepack-issue: OP3-ab12cd34-01 -->\n- [x] `a` one\n- [ ] 2\n\n"
        f"{END_MARK}\nBye"
    )


def test_a_stranger_cannot_take_the_place_of_an_issue(publish: Publishing) -> None:
    publish()
    publish.project.run.joinpath("published.jsonl").unlink()
    body = publish.server.issues[0]["body"]
    stranger = {"login": "eve", "type": "User"}
    publish.server.issues.clear()
    publish.server.add({"body": body}, user=stranger, author_association="NONE")

    assert publish.actions()[0] == (2, "created")
    assert "its author is not of the repository" in publish.warnings[0]


def test_what_the_owner_of_the_token_filed_is_found_without_rights(publish: Publishing) -> None:
    publish()
    publish.project.run.joinpath("published.jsonl").unlink()
    for issue in publish.server.issues:
        issue["author_association"] = "NONE"

    assert publish.actions() == [(n, "unchanged") for n in (1, 2, 3)]


GH = """#!{python}
import json, sys, urllib.error, urllib.request
method, url = sys.argv[4:6]
assert sys.argv[1:4] == ["api", "--include", "--method"] and url.startswith("https://git.example/")
body = sys.stdin.buffer.read() or None
url = url.replace("https://git.example", "{server}")
request = urllib.request.Request(url, body, {{"Authorization": "Bearer {token}"}}, method=method)
try:
    reply = urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    reply = error
print(f"HTTP/2.0 {{reply.status}} said", end="\\r\\n")
for name, value in reply.headers.items():
    print(f"{{name}}: {{value}}".replace("{server}", "https://git.example"), end="\\r\\n")
print(end="\\r\\n")
print(reply.read().decode(), end="")
print("gh: said (HTTP)", file=sys.stderr)
sys.exit(reply.status >= 400)
"""


@pytest.fixture
def with_gh(publish: Publishing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Publishing:
    """A program `gh` on PATH that has a login of its own; no token is set."""
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    text = GH.format(python=sys.executable, server=publish.server.url, token=TOKEN)
    program.write_text(text)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.delenv("GH_TOKEN")
    return publish


def test_gh_is_asked_where_it_is_installed(with_gh: Publishing) -> None:
    with_gh.server.troubles.append(on_create(2, refusal(429, Retry_After="7")))
    first = with_gh.actions(api_url="https://git.example")

    assert first == [(n, "created") for n in (1, 2, 3)]
    assert 7.0 in with_gh.pauses
    assert with_gh.actions(api_url="https://git.example") == [(n, "unchanged") for n in (1, 2, 3)]


def test_what_gh_cannot_do_is_said(with_gh: Publishing) -> None:
    with_gh.server.troubles.append(on_create(1, refusal(403, "Resource not accessible")))
    report = with_gh(api_url="https://git.example")

    assert "GitHub answered 403: Resource not accessible" in report.error


def test_a_gh_without_a_login_has_sent_nothing(with_gh: Publishing, tmp_path: Path) -> None:
    text = "#!/bin/sh\necho 'please run: gh auth login' >&2\nexit 4\n"
    (tmp_path / "bin" / "gh").write_text(text)
    report = with_gh(api_url="https://git.example")

    assert "please run: gh auth login" in report.error
    assert with_gh.server.requests == []


LIMITS = [
    pytest.param(refusal(429, Retry_After="7"), 7.0, id="too many requests"),
    pytest.param(refusal(403, Retry_After="9"), 9.0, id="a secondary limit with a time"),
    pytest.param(
        refusal(403, "You have exceeded a secondary rate limit."), 60.0, id="and without one"
    ),
    pytest.param(refusal(429, Retry_After="²"), 60.0, id="with a time that is no number"),
    pytest.param(
        refusal(403, X_RateLimit_Remaining="0", X_RateLimit_Reset="5"), 1.0, id="an hour that ended"
    ),
]


@pytest.mark.parametrize(("act", "pause"), LIMITS)
def test_limits_are_waited_for(
    publish: Publishing, act: Callable[[GithubHandler], None], pause: float
) -> None:
    publish.server.troubles.append(on_create(2, act))

    assert publish().ok
    assert pause in publish.pauses
    assert len(publish.server.issues) == 3


def test_a_limit_that_lasts_long_ends_the_command(publish: Publishing) -> None:
    publish.server.troubles.append(on_create(2, refusal(429, Retry_After="3000")))

    report = publish()

    assert (report.ok, report.retry_after, len(report.issues)) == (False, 3000.0, 1)
    assert publish.actions() == [(1, "unchanged"), (2, "created"), (3, "created")]


def send_depth(request: GithubHandler) -> bool:
    text = b"[" * 100_000 + b"]" * 100_000
    request.send_response(200)
    request.send_header("Content-Length", str(len(text)))
    request.end_headers()
    request.wfile.write(text)
    return True


def test_an_answer_that_is_too_deep_counts_as_no_json(publish: Publishing) -> None:
    publish.server.troubles.append(send_depth)

    report = publish()

    assert (report.ok, report.error) == (False, "GitHub's answer is not JSON")


UNKNOWN = [
    pytest.param(create_and_say_nothing, id="the answer is lost"),
    pytest.param(refusal(502), id="a bad gateway, and nothing was created"),
    pytest.param(
        lambda request: (request.server.add(request.fields), request.send(500, {}))[0] and None,
        id="a server error after the issue was created",
    ),
]


@pytest.mark.parametrize("act", UNKNOWN)
def test_a_create_without_an_answer_is_looked_up_and_not_repeated(
    publish: Publishing, act: Callable[[GithubHandler], None]
) -> None:
    publish.server.troubles.append(on_create(2, act))

    assert publish().ok
    assert markers(publish.server) == 3


REFUSED = [
    pytest.param(refusal(401, "Bad credentials"), "401", id="a wrong token"),
    pytest.param(refusal(403, "Resource not accessible"), "403", id="no permission"),
    pytest.param(refusal(410, "Issues are disabled"), "410", id="no issues there"),
    pytest.param(refusal(307, Location="https://evil.example/"), "307", id="a redirect"),
]


@pytest.mark.parametrize(("act", "said"), REFUSED)
def test_a_refusal_is_final(
    publish: Publishing, act: Callable[[GithubHandler], None], said: str
) -> None:
    publish.server.troubles.append(on_create(1, act))

    report = publish()

    assert not report.ok
    assert f"GitHub answered {said}" in report.error
    assert publish.server.writes() == ["POST"]


def markers(server: GithubServer) -> int:
    """How many issues there are; each has another marker."""
    marked = [issue["body"].splitlines()[0] for issue in server.issues]
    assert len(set(marked)) == len(marked), "a duplicate"
    return len(marked)


PUBLISH = """
import sys
from pathlib import Path
from oraclepack.work.publish import PublishRequest, publish_run
root, run, url, settle = sys.argv[1:]
request = PublishRequest("octo/shop", run, api_url=url, settle=float(settle), write_pause=0.0)
sys.exit(not publish_run(request, Path(root)).report.ok)
"""


def start(publish: Publishing, settle: str) -> "subprocess.Popen[bytes]":
    words = (publish.project.root, publish.project.run, publish.server.url, settle)
    process = subprocess.Popen([sys.executable, "-c", PUBLISH, *map(str, words)])
    publish.server.victim = process.pid
    publish.server.has_victim.set()
    return process


KILLS = [
    pytest.param(kill_before, id="between two creates"),
    pytest.param(kill_after, id="between a create and its record"),
    pytest.param(kill_and_create_later, id="while GitHub is still creating it"),
]


@pytest.mark.parametrize("kill", KILLS)
@pytest.mark.parametrize("number", [1, 2, 3], ids=["first", "second", "third"])
def test_a_killed_command_leaves_no_duplicate(
    publish: Publishing, kill: Callable[[GithubHandler], None], number: int
) -> None:
    publish.server.troubles.append(on_create(number, kill))
    assert start(publish, "1").wait(120) == -9

    assert start(publish, "1").wait(120) == 0

    assert markers(publish.server) == 3
    assert publish.actions() == [(n, "unchanged") for n in (1, 2, 3)]


def test_a_torn_line_of_the_record_is_no_trouble(publish: Publishing) -> None:
    publish()
    path = publish.project.run / "published.jsonl"
    path.write_bytes(path.read_bytes()[:-20])

    assert publish.actions() == [(n, "unchanged") for n in (1, 2, 3)]
    assert publish.actions() == [(n, "unchanged") for n in (1, 2, 3)]
    assert len(path.read_bytes().splitlines()) == 7


BASES = [
    pytest.param("https://api.github.com/", "https://github.com/o/r", id="github.com"),
    pytest.param("https://git.example/api/v3", "https://git.example/o/r", id="an own server"),
    pytest.param("http://git.example/api/v3", None, id="in clear text"),
    pytest.param("https://user:secret@git.example", None, id="with a password"),
    pytest.param("https://git.example/?x=1", None, id="with a query"),
    pytest.param("file:///etc", None, id="a file"),
    pytest.param("https://[::1", None, id="half an address"),
]


@pytest.mark.parametrize(("base", "page"), BASES)
def test_where_a_token_may_be_sent(base: str, page: str | None) -> None:
    if page is None:
        with pytest.raises(UsageError, match="cannot be used"):
            checked_base(base)
    else:
        assert web_address(base, "o/r") == page


def test_the_token_is_that_of_gh() -> None:
    assert token_of({"GITHUB_TOKEN": "b", "GH_TOKEN": " a\n"}) == "a"
    assert token_of({"GITHUB_TOKEN": "b"}) == "b"
    with pytest.raises(UsageError, match="one line of plain text"):
        token_of({"GITHUB_TOKEN": "a\r\nHost: evil"})


def test_the_command(
    capsys: pytest.CaptureFixture[str], publish: Publishing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(publish.project.root)
    words = ("publish", "github", "--repo", "octo/shop", "--run-dir", str(publish.project.run))
    base = ("--github-api-url", publish.server.url)

    dry = answer(capsys, *words, *base, "--dry-run")
    result = answer(capsys, *words, *base, "--json")

    assert (dry.code, dry.out.count("would be created")) == (0, 4)
    assert result.code == 0
    jsonschema.validate(result.envelope["data"], schema_of("publish-report"))
    assert result.envelope["data"]["totals"]["created"] == 3
    assert TOKEN not in result.out + result.err

    monkeypatch.delenv("GH_TOKEN")
    assert answer(capsys, *words, *base).code == 2


@pytest.mark.slow  # it waits before each further try
def test_a_server_that_is_not_there_does_not_mean_that_all_is_published(
    capsys: pytest.CaptureFixture[str], publish: Publishing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(publish.project.root)
    words = ("publish", "github", "--repo", "octo/shop", "--run-dir", str(publish.project.run))

    result = answer(capsys, *words, "--github-api-url", "http://127.0.0.1:9")

    assert (result.code, result.out) == (3, "octo/shop: nothing was published\n")


def test_without_a_run_named_the_newest_is_published(
    capsys: pytest.CaptureFixture[str], publish: Publishing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(publish.project.root)
    monkeypatch.setenv("ORACLEPACK_GITHUB_API_URL", publish.server.url)

    result = answer(capsys, "publish", "github", "--repo", "octo/shop", "--dry-run", "--json")

    assert result.code == 0
    assert result.envelope["data"]["run_dir"].endswith(publish.project.run.name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("oraclepack.toml", 'github_api_url = "https://evil.example"\n', id="config"),
        pytest.param(".env", "ORACLEPACK_GITHUB_API_URL=https://evil.example\n", id="variables"),
    ],
)
def test_a_project_may_not_say_where_the_token_goes(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    monkeypatch.chdir(project.root)
    Path(name).write_text(text)

    settings = load_settings()

    assert settings[GITHUB_API_URL] == "https://api.github.com"
    assert [one.name for one in settings.ignored] == ["github_api_url"]
