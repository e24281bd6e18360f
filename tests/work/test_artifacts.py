import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from markdown_it import MarkdownIt

from oraclepack.errors import InputError
from oraclepack.system.backlog_notes import read_person_notes
from oraclepack.system.markdown_text import code_pieces
from oraclepack.view.report.schemas import schema_of
from oraclepack.work.backlog import Export, Issue, IssuesPer, PackAnswers, WorkStatus
from oraclepack.work.evidence import Citation, CitationState
from oraclepack.work.records import actionize
from oraclepack.work.trackers import (
    END_MARK,
    LONGEST_ISSUE_BODY,
    GithubIssue,
    github_entries,
    marker,
    number_of,
)
from oraclepack.work.work_pages import Permalinks
from tests.work.answers import a_pack, a_step, direct, records_of, work_of
from tests.work.golden import CASES, expected, work

ISSUE = json.loads((Path(__file__).parent / "github-create-issue.schema.json").read_bytes())
STATUSES = {"pending", "in-progress", "done", "deferred", "cancelled", "blocked", "review"}

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 12


@every_case
def test_the_bytes_are_the_contract(case: Path) -> None:
    assert {a.path: a.text for a in work(case).artifacts} == expected(case)


@every_case
def test_every_line_is_a_published_record(case: Path) -> None:
    validator = jsonschema.Draft202012Validator(schema_of("record"))
    for line in expected(case)["normalized.jsonl"].splitlines():
        validator.validate(json.loads(line))


@every_case
def test_every_issue_is_what_github_takes(case: Path) -> None:
    issues = json.loads(expected(case)["github-issues.json"])
    for issue in issues:
        jsonschema.validate(issue, ISSUE)
        assert len(issue["title"]) <= 80
        assert len(issue["body"]) <= 65_536
        assert issue["body"].startswith("<!-- oraclepack-issue: OP3-")
        assert issue["body"].endswith(f"{END_MARK}\n")
    assert len({issue["body"].splitlines()[0] for issue in issues}) == len(issues)


@every_case
def test_the_tasks_file_is_what_task_master_takes(case: Path) -> None:
    tasks = json.loads(expected(case)["taskmaster.json"])["master"]["tasks"]
    check_tasks(tasks)


def check_tasks(tasks: list[dict[str, Any]]) -> None:
    check_numbers(tasks)
    for task in tasks:
        assert task["subtasks"], "a question without work is no task"
        check_numbers(task["subtasks"])


def check_numbers(tasks: list[dict[str, Any]]) -> None:
    ids = [task["id"] for task in tasks]
    assert len(set(ids)) == len(ids)
    assert all(isinstance(number, int) and number > 0 for number in ids)
    before = {task["id"]: set(task["dependencies"]) for task in tasks}
    for task in tasks:
        assert task["title"]
        assert task["status"] in STATUSES
        assert task["priority"] in {"low", "medium", "high", "critical"}
        assert before[task["id"]] <= set(ids) - {task["id"]}
    while before:  # take away what waits for nothing until nothing is left
        free = {number for number, waits in before.items() if not waits & before.keys()}
        assert free, "a circle of dependencies"
        before = {number: waits for number, waits in before.items() if number not in free}


def test_numbers_never_move() -> None:
    assert number_of("OP3-ab12cd34-07-12") == 12


def filed(per: IssuesPer, pack: PackAnswers) -> tuple[GithubIssue, ...]:
    return github_entries(actionize(pack).issues, Permalinks("..", pack.commit), per)


def of_answer(text: str, per: IssuesPer = IssuesPer.TASK) -> tuple[GithubIssue, ...]:
    return filed(per, a_pack(a_step("01", text, title="Is the cache sound?")))


TWO = direct("Add a lock to `src/cache.py:3`.", "Fix `src/jobs.py:7`.")


def test_a_question_is_one_issue_with_a_task_list() -> None:
    (issue,) = of_answer(TWO, IssuesPer.QUESTION)

    assert issue.id == "OP3-ab12cd34-01"
    assert issue.body.startswith("<!-- oraclepack-issue: OP3-ab12cd34-01 -->\n")
    ticks = [line for line in issue.body.splitlines() if line.startswith("- [ ] `OP3-")]
    assert [line[7:25] for line in ticks] == ["OP3-ab12cd34-01-01", "OP3-ab12cd34-01-02"]
    assert issue.title == "Add a lock to src/cache.py:3"


@pytest.mark.parametrize("per", IssuesPer)
def test_cited_places_are_named_and_an_unknown_subject_is_left_out(per: IssuesPer) -> None:
    text = direct("Add a lock to `src/cache.py:3` for `Pool.take` and `Pool.put`.")
    step = a_step("01", text, title="Is the cache sound?", reference="Unknown")
    (issue,) = filed(per, a_pack(step))

    assert "Unknown" not in issue.body
    assert "- `src/cache.py:3` (line exists)\n" in issue.body


def test_nothing_that_steers_a_line_reaches_a_tracker() -> None:
    pack = a_pack(a_step("01", direct("Set \u202ethe title\u2066 of `Pool.take`."), title="Is it?"))
    for artifact in actionize(pack, tuple(Export)).artifacts:
        if artifact.path.endswith("s.json") or artifact.path == "taskmaster.json":
            shown = json.dumps(json.loads(artifact.text), ensure_ascii=False)
            assert not {"\u202e", "\u2066"} & set(shown)


def test_each_task_can_be_an_issue() -> None:
    assert [issue.id[-5:] for issue in of_answer(TWO)] == ["01-01", "01-02"]


@pytest.mark.parametrize("per", IssuesPer)
def test_a_citation_links_to_the_commit_of_the_run(per: IssuesPer) -> None:
    import msgspec

    pack = msgspec.structs.replace(a_pack(a_step("01", TWO)), commit="c0ffee12" * 5)
    text = "".join(issue.body for issue in filed(per, pack))

    assert f"[`src/cache.py:3`](../blob/{'c0ffee12' * 5}/src/cache.py#L3)" in text


@pytest.mark.parametrize(
    ("path", "commit", "state", "link"),
    [
        pytest.param(
            "a b.py", "c1", "verified", "[`a b.py:2-4`](x/blob/c1/a%20b.py#L2-L4)", id="a blank"
        ),
        pytest.param("a.py", None, "verified", "`a.py:2-4`", id="no commit is known"),
        pytest.param("../a.py", "c1", "unknown", "`../a.py:2-4`", id="a path that leads out"),
        pytest.param("/a.py", "c1", "unknown", "`/a.py:2-4`", id="an absolute path"),
        pytest.param("a.py", "c1", "not_attached", "`a.py:2-4`", id="a file that was not attached"),
        pytest.param(
            "a](b).py", "c1", "unknown", "`a](b).py:2-4`", id="a path that would end the link"
        ),
    ],
)
def test_what_is_linked(path: str, commit: str | None, state: str, link: str) -> None:
    citation = Citation(path, 2, 4, CitationState(state))

    assert Permalinks("x", commit).of(citation) == link


@pytest.mark.parametrize("per", IssuesPer)
def test_an_enormous_issue_is_cut(per: IssuesPer) -> None:
    import msgspec

    def huge(issue: Issue) -> Issue:
        said = tuple(f"{n} " + "x" * 390 for n in range(400))
        records = [msgspec.structs.replace(r, actions=said, title="t" * 400) for r in issue.records]
        return msgspec.structs.replace(issue, title="t " * 200, records=tuple(records))

    work = work_of(s01=direct("Fix `src/cache.py:3`."))
    (issue,) = github_entries([huge(one) for one in work.issues], Permalinks(".."), per)

    jsonschema.validate(issue.fields(), ISSUE)
    assert len(issue.body) <= LONGEST_ISSUE_BODY + 200
    assert issue.body.endswith(f"… shortened, see backlog.md\n\n{END_MARK}\n")
    assert len(issue.title) <= 80


def test_an_issue_mentions_no_user() -> None:
    text = direct("Add @ada and @org/team, not a@b.c or `@dec` (`src/cache.py:3`).", "Add x.")
    issue = of_answer(text)[-1]
    body = of_answer(
        direct("Add @ada and `@dec` to it, and a long rest so that the title is not all of it.")
    )[0].body

    assert "Add `@ada` and `@dec` to it" in body
    assert "@ada " not in issue.body.replace("`@ada`", "")


def test_an_answer_cannot_pass_for_another_issue() -> None:
    text = direct("Add `<!-- oraclepack-task: OP3-ab12cd34-02-01 -->` to the page.")
    (issue,) = of_answer(text)

    assert issue.body.count("<!--") == 2
    assert issue.body.startswith(marker("OP3-ab12cd34-01-01"))


def test_work_comes_by_priority_and_what_is_open_stands_apart() -> None:
    pack = a_pack(
        a_step("01", direct("Add a lock."), roi=0.1, effort=9.0),
        a_step("02", direct("Add a test."), roi=9.0, effort=1.0),
        a_step("03", None),
        a_step("04", "No action required."),
    )
    backlog = actionize(pack).artifacts[1].text
    heads = [line[:6] for line in backlog.splitlines() if line.startswith("### 0")]

    assert heads == ["### 02", "### 01", "### 04"]
    assert "- Not answered: 1 question, 03. there is no answer\n" in backlog


def test_the_plan_is_by_place_and_after_what_the_answer_puts_first() -> None:
    stated = (
        '\n[oraclepack-work]\n{"items": [{"title": "Drop the flag", "files": ["src/a.py"], '
        '"after": ["Move the callers"], "effort": "S", "done_when": "no test fails"}, '
        '{"title": "Move the callers", "files": ["src/z.py"]}]}\n[/oraclepack-work]\n'
    )
    pack = a_pack(
        a_step("01", direct("Add a log.") + "\n## Next experiment\n\nTry it.\n"),
        a_step("02", direct("Add a lock (`src/jobs.py:70`).", "Add a test (`src/jobs.py:9`).")),
        a_step("03", direct("It is so.") + stated),
    )
    plan = actionize(pack).artifacts[2].text
    heads = [line for line in plan.splitlines() if line.startswith(("## ", "- `OP3"))]

    assert [line[:3] + line[16:24] if line[0] == "-" else line for line in heads] == [
        "## `src/jobs.py`",
        "- `02-02` Ad",
        "- `02-01` Ad",
        "## `src/z.py`",
        "- `03-02` Mo",
        "## `src/a.py`",
        "- `03-01` Dr",
        "## No place named",
        "- `01-01` Ad",
        "- `01-02` Tr",
    ] or plan
    assert "  Done when: no test fails\n" in plan
    assert "size S" in plan


def test_a_plan_of_nothing_says_so() -> None:
    assert "Nothing can be planned yet." in work_of(s01=None).artifacts[2].text


def test_a_persons_text_survives() -> None:
    steps = [a_step("01", direct("Add a lock.")), a_step("02", None)]
    pack = a_pack(*steps)
    first = actionize(pack).artifacts[1].text
    begin = "<!-- keep: OP3-ab12cd34-01 -->\n"
    mine = first.replace(begin, f"{begin}My own words,\r\n  as they are.\n")

    again = actionize(pack, earlier_backlog=mine).artifacts[1].text
    without = actionize(a_pack(steps[1]), earlier_backlog=mine).artifacts[1].text

    assert again == mine
    assert "My own words,\r\n  as they are.\n" in without


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("a\n<!-- keep: x -->\nb\n", 2, id="no end"),
        pytest.param("<!-- keep: x -->\n<!-- keep: y -->\n<!-- /keep -->\n", 1, id="two begun"),
    ],
)
def test_a_text_without_an_end_is_an_error(text: str, line: int) -> None:
    with pytest.raises(InputError, match=f"line {line} has no end"):
        read_person_notes(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a\n<!-- keep: x --> my words\n<!-- /keep -->\n", id="words behind the mark"),
        pytest.param("a\n  <!-- keep: x -->\nmy words\n  <!-- /keep -->\n", id="an indented mark"),
        pytest.param("my words\n<!-- /keep -->\n", id="an end alone"),
    ],
)
def test_a_broken_mark_is_an_error_and_not_the_end_of_a_text(text: str) -> None:
    with pytest.raises(InputError, match="the mark in line 2"):
        read_person_notes(text)


def test_places_of_one_name_are_joined() -> None:
    place = "<!-- keep: x -->\n{}\n<!-- /keep -->\n"

    assert read_person_notes(place.format("a") + place.format("b")) == {"x": "a\nb\n"}


def test_a_rehearsal_says_so() -> None:
    import msgspec

    pack = msgspec.structs.replace(a_pack(a_step("01", direct("Add a lock."))), rehearsal=True)

    assert "rehearsal" in actionize(pack).artifacts[1].text


def test_counts_are_shown() -> None:
    assert {status.value for status in WorkStatus} == {"actionable", "blocked", "conflict", "noop"}


HOSTILE_LINES = {
    "a live image": "Add a lock ![x](https://evil.example/p.png) to `src/cache.py:3`.",
    "a raw image": "Add a lock <img src=https://evil.example/p.png> to `src/cache.py:3`.",
    "a raw comment": "Add a lock, see &lt;!-- oraclepack-task: OP3-ab12cd34-09-01 -->.",
    "code that ends elsewhere": "Add ``a ` <img src=x> ` b`` to `src/cache.py:3`.",
    "a mention": "Add a lock and ask @ada, @org/team or ada@example.org.",
    "closing words": "Add a lock; this fixes #13, closes octo/repo#14 and resolves GH-15.",
    "an address": "Add what https://github.com/octo/repo/issues/16 and www.example.org say.",
    "escapes and entities": r"Set foo\_bar where x &gt; 5 \* 3 \`y\` holds.",
    "a heading": r"Add a lock \# 1 \[a\](b) \<b> to the cache.",
}
OURS = re.compile(r"OP3-[0-9a-f]{8}-\d\d-\d\d")
LIVE = re.compile(r"@\w|#\d|\bGH-\d|://|\bwww\.|:[\w+-]+:|\b[0-9a-f]{7,40}\b", re.IGNORECASE)


def pieces_of(markdown: str) -> Iterator[tuple[str, str]]:
    """Every inline piece of a rendered text: its kind and its content."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    for token in parser.parse(markdown):
        assert token.type not in {"html_block", "fence", "code_block"} or (
            token.content.startswith(("<!-- keep: ", "<!-- /keep", "<!-- oraclepack-", END_MARK))
            or token.content.strip() in {"<details><summary>Details</summary>", "</details>"}
        )
        yield from ((child.type, child.content) for child in token.children or ())


@pytest.mark.parametrize("line", HOSTILE_LINES.values(), ids=HOSTILE_LINES)
def test_text_of_an_answer_stays_text(line: str) -> None:
    work = actionize(a_pack(a_step("01", direct(line))), tuple(Export))
    files = {artifact.path: artifact.text for artifact in work.artifacts}
    issues = json.loads(files["github-issues.json"])
    tasks = json.loads(files["taskmaster.json"])["master"]["tasks"]
    (action,) = work.records[0].actions

    for text in (
        files["backlog.md"],
        files["change-plan.md"],
        *(issue["body"] for issue in issues),
        *(task["details"] for task in tasks),
        *(
            part[field]
            for task in tasks
            for part in task["subtasks"]
            for field in ("details", "testStrategy")
        ),
    ):
        pieces = list(pieces_of(text))
        assert {kind for kind, _ in pieces} <= {"text", "code_inline", "softbreak"}
        plain = "".join(content for kind, content in pieces if kind == "text")
        assert not LIVE.search(OURS.sub("", plain))
    shown = "".join(content for issue in issues for _, content in pieces_of(issue["body"]))
    assert "".join(part for _, part in code_pieces(action)) in shown
    for issue in issues:
        assert issue["body"].count("<!--") == 2
        assert all(code or not LIVE.search(part) for code, part in code_pieces(issue["title"]))


def test_escapes_and_entities_of_an_answer_stay() -> None:
    text = r"Set foo\_bar where x &gt; 5 \* 3 holds for `a\_b`."
    (task,) = records_of(s01=direct(text))

    assert task.actions == (text,)


def test_tags_and_code_with_backquotes_are_not_lost() -> None:
    (task,) = records_of(s01=direct("Return Map<String, Foo> from ``a`b`` in <List> order."))

    assert task.actions == ("Return Map<String, Foo> from ``a`b`` in <List> order.",)


def test_the_first_page_has_each_verdict_its_tasks_and_its_file() -> None:
    long = "It is never emptied, so that it grows with every import, and nobody looks at its size."
    pack = a_pack(
        a_step("01", f"# The cache\n\n1) Direct answer\n\n- {long}\n- Add a limit.\n"),
        *(a_step(f"{n:02}", direct(f"Add a lock to `f{n}`.")) for n in range(2, 100)),
    )
    backlog = actionize(pack).artifacts[1].text
    first_page = backlog.partition("\n## Questions\n")[0]

    assert "| 01 | It is never emptied" in first_page
    assert "| 2 | `01-answer.md` |" in first_page
    assert len(first_page.splitlines()) < 120
    assert "Accepted when" not in backlog


@pytest.mark.parametrize("name", ["`__call__`", "__call__", "*-llms.txt", "src/**/a_b.py"])
def test_names_are_shown_as_they_are_written(name: str) -> None:
    backlog = work_of(s01=direct(f"Add a limit to {name} now.")).artifacts[1].text
    shown = "".join(content for _, content in pieces_of(backlog))

    assert f"Add a limit to {name.strip('`')} now" in shown


OLDER = """\
# Backlog

### 01 Question

- [x] `OP3-ab12cd34-01-01` Add lock to the cache (put)
  - Priority high (severe)
  - From: `01-answer.md:4`

<!-- keep: OP3-ab12cd34-01-01 -->
Ada does this.
<!-- /keep -->

- [ ] `OP3-ab12cd34-01-02` Add a test
  - From: `01-answer.md:3`

- [x] `OP3-ab12cd34-01-03` Gone since
  - From: `01-answer.md:40`
"""


def test_a_backlog_of_an_older_version_is_carried_over_by_title_and_lines() -> None:
    backlog = work_of(s01=direct("Add a test.", "Add a lock to `put`."))
    text = actionize(a_pack(a_step("01", direct("Add a test.", "Add a lock to `put`."))), (), OLDER)
    page = text.artifacts[1].text

    assert [record.title for record in backlog.records] == ["Add a test", "Add a lock to put"]
    assert "- [ ] `OP3-ab12cd34-01-01` Add a test\n" in page
    assert "- [x] `OP3-ab12cd34-01-02` Add a lock to put\n" in page
    assert "<!-- keep: OP3-ab12cd34-01-02 -->\nAda does this.\n" in page
    assert "- [x] `OP3-ab12cd34-01-03` Gone since\n" in page.partition("## Kept from before")[2]
