"""A report of any run: what it shows, what it never shows, and that it is the same every time."""

import json
import re
import shutil
import time
from dataclasses import replace
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from oraclepack.errors import InputError, UsageError
from oraclepack.journal import events as j
from oraclepack.journal import journal_file
from oraclepack.journal.run_dir import RunDir
from oraclepack.view.report.answer_html import CitationLinks, render_answer
from oraclepack.view.report.data import AttentionKind, redacted_data
from oraclepack.view.report.gather import gather_report, is_capture
from oraclepack.view.report.page import Page, run_page
from oraclepack.view.report.quotes import citations_in
from oraclepack.view.report.write import ReportFormat, find_run, render_report, write_report
from oraclepack.work.actionize import locked
from tests.events import write_journal
from tests.keep.past_runs import KEPT
from tests.view.example_runs import LIVELY, PACK, Plan, a_run, answer_text

SENTINEL = "sk-sentinel-0123456789abcdef"
PAST = sorted(KEPT.glob("*/*/project/.oraclepack/runs/*/journal.jsonl"))
HOSTILE = (
    """\
## Direct answer

<script>document.title = "owned"</script> </script><img src=x onerror="document.title='owned'">
<style>body{display:none}</style><iframe src="javascript:alert(1)"></iframe>
[click](javascript:alert(1)) [data](data:text/html,<script>1</script>) [rel](../../etc/passwd)
![beacon](https://tracker.example/pixel.png) [local](#summary) <a href="x" style="color:red">a</a>

\u202egnp.exe\u202c\u200f\u061c {{ 7 * 7 }} {% raw %}

`</code></pre><script>1</script>` and **</strong><script>2</script>**

```html
</pre></code><script>alert(3)</script>
```

"""
    + "x" * 10_000
)


def html_of(run: RunDir) -> str:
    return run_page(gather_report(run))


def test_a_report_shows_the_run(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    data = gather_report(run)
    page = run_page(data)

    assert (data.answered, len(data.steps)) == (19, 20)
    kinds = [(one.kind, one.steps) for one in data.attention]
    # What becomes of a cut-off answer as work is the actionizer's business.
    assert [pair for pair in kinds if pair[0] is not AttentionKind.BLOCKED] == [
        (AttentionKind.FAILED, ("15",)),
        (AttentionKind.PARTIAL, ("09",)),
        (AttentionKind.CITATION, ("02",)),
    ]
    for part in (
        "summary",
        "work",
        "attention",
        "answers",
        "timeline",
        "money",
        "pack",
        "run",
        "logs",
    ):
        assert f'<section id="{part}"' in page
    assert "$8.92" in page
    assert re.search(r'cite-verified" href="#s02-1-1"[^>]*>src/shop/stock.py:19-24</a>', page)
    assert 'class="cite cite-not_attached"' in page
    assert "OutOfStock" in page
    # Answer 4 is a capture: its sections stand out, its underscores are literal.
    assert '<h4 id="a04-1-L1">Direct answer</h4>' in page
    assert "so that __init__ finds" in page
    assert "self._store.write(key, current - amount)" in page


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        pytest.param("word " * 17 + "last?", "word " * 17 + "last?", id="it fits"),
        pytest.param("word " * 17 + "lasting, and more", "word " * 16 + "word…", id="cut"),
        pytest.param("y" * 300, "y" * 89 + "…", id="one long word"),
    ],
)
def test_a_long_question_is_cut_after_a_word(title: str, expected: str, tmp_path: Path) -> None:
    data = gather_report(a_run(tmp_path))
    first = msgspec.structs.replace(data.steps[0], title=title)

    assert Page(data).title(first) == expected


def test_every_link_inside_the_page_leads_somewhere(tmp_path: Path) -> None:
    page = html_of(a_run(tmp_path))
    ids = re.findall(r' id="([^"]+)"', page)

    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    run = a_run(tmp_path / "one")
    other = a_run(tmp_path / "two")

    gathered = [gather_report(one) for one in (run, run, other)]

    for form in ReportFormat:
        assert len({render_report(data, form) for data in gathered}) == 1


def test_a_report_is_written_once(tmp_path: Path) -> None:
    run = a_run(tmp_path)

    first, second = (write_report(tmp_path).report for _ in range(2))

    assert (first.changed, second.changed) == (True, False)
    assert Path(first.path) == run.path / "report.html"
    data = gather_report(run)
    assert (first.answered, first.tasks) == (19, data.tasks)
    assert first.attention == len(data.attention)
    assert first.tasks > 10


def test_a_file_of_a_person_is_not_replaced(tmp_path: Path) -> None:
    a_run(tmp_path)
    (tmp_path / "notes.html").write_text("my notes")

    with pytest.raises(UsageError, match=r"not a report of oraclepack"):
        write_report(tmp_path, out=str(tmp_path / "notes.html"))

    assert (tmp_path / "notes.html").read_text() == "my notes"


def test_twenty_steps_take_less_than_a_second_and_half_a_megabyte(tmp_path: Path) -> None:
    run = a_run(tmp_path, replace(LIVELY, log_lines=0))
    html_of(run)  # libraries are loaded once

    began = time.process_time()
    page = html_of(run)

    assert time.process_time() - began < 1
    assert len(page.encode()) < 500_000


@pytest.mark.parametrize("journal", PAST, ids=lambda path: "-".join(path.parts[-6:-5]))
def test_runs_of_earlier_versions_are_shown(journal: Path, tmp_path: Path) -> None:
    shutil.copytree(journal.parents[3], tmp_path / "project")
    run = RunDir(tmp_path / "project", journal.parent.name)

    data = gather_report(run)
    page = run_page(data)

    assert data.run.foreign is not None  # version 0.1.0 signed nothing
    assert data.manifest is not None
    assert data.manifest.pack_hash in page
    phases = {one.doing for call in data.calls for one in call.segments}
    assert "backing off" not in phases
    assert all(not quote.lines for step in data.steps for a in step.answers for quote in a.quotes)


def test_nothing_is_written_into_a_foreign_run(tmp_path: Path) -> None:
    shutil.copytree(PAST[0].parents[3], tmp_path / "project")

    with pytest.raises(InputError, match=r"foreign"):
        write_report(tmp_path / "project")
    made = write_report(tmp_path / "project", out=str(tmp_path / "report.html"))

    assert made.report.status == "foreign"


def test_hostile_text_is_only_text(tmp_path: Path) -> None:
    run = a_run(tmp_path, replace(LIVELY, answers={1: HOSTILE, 4: HOSTILE.replace("`", "'")}))
    for name in ("01", "04"):
        (run.path / f"logs/{name}.1.stdout.log").write_text(HOSTILE)
    page = html_of(run)

    tags = Tags(page)
    assert [tags.count(name) for name in ("script", "style", "img", "iframe")] == [1, 1, 0, 0]
    names = {name for _, attributes in tags.found for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in {"style", "src"}}
    links = {attributes.get("href", "#") or "" for _, attributes in tags.found}
    assert not {link for link in links if not link.startswith(("#", "https://", "mailto:"))}
    assert not set(page) & set("\u202e\u202c\u200f\u061c")
    assert "{{ 7 * 7 }}" in page


class Tags(HTMLParser):
    """Every tag of a page with its attributes, as a browser would read them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def count(self, name: str) -> int:
        return sum(tag == name for tag, _ in self.found)


def test_secrets_never_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leaking = answer_text(1).replace("The store may", f"The key {SENTINEL} may")
    run = a_run(tmp_path, replace(LIVELY, answers={1: leaking}))
    (run.path / "logs/15.1.stderr.log").write_text(f"key {SENTINEL}\n")
    source = tmp_path / "src/shop/api.py"
    source.write_text(source.read_text().replace("current < amount", f"'{SENTINEL}'"))
    assert SENTINEL in html_of(run)

    monkeypatch.setenv("OPENAI_API_KEY", SENTINEL)

    data = gather_report(run)
    for form in ReportFormat:
        assert SENTINEL not in render_report(data, form)


def test_a_redacted_report_has_no_prompts_and_no_sources(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    data = gather_report(run)
    prompt, source, log = "Answer format:", "self._store.read(key)", "step 01: line 0"
    question = "Where can a quantity become negative?"
    assert all(text in run_page(data) for text in (prompt, source, log, question))

    for form in ReportFormat:
        page = render_report(redacted_data(data), form)
        assert not [text for text in (prompt, source, log, question) if text in page]
    page = run_page(redacted_data(data))
    assert "were left out of this file" in page
    assert "a quantity becomes negative" in page  # answers stay


def test_the_page_says_that_it_holds_source_code(tmp_path: Path) -> None:
    page = html_of(a_run(tmp_path))

    assert re.search(r"This file holds \d+ lines of source code from 19 files", page)


def test_files_outside_of_the_project_are_not_quoted(tmp_path: Path) -> None:
    project = tmp_path / "project"
    outside = tmp_path / "outside.py"
    outside.write_text("password = 'not for you'\n" * 30)
    run = a_run(project, replace(LIVELY, answers={1: f"See `{outside}:3` and `.git/config:1`."}))
    (project / "src/shop/api.py").unlink()
    (project / "src/shop/api.py").symlink_to(outside)

    assert "not for you" not in html_of(run)


@pytest.mark.parametrize("name", ["outputs/02-stock-invariant.md", "steps.json", "run.json"])
def test_missing_files_are_said(name: str, tmp_path: Path) -> None:
    run = a_run(tmp_path)
    (run.path / name).unlink(missing_ok=True)

    data = gather_report(run)

    assert run_page(data)
    assert any("02-stock-invariant.md is gone" in one for one in data.warnings) is ("02" in name)


def test_the_same_thing_in_several_answers_is_said_once(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    for name in ("02-stock-invariant.md", "03-price-cache.md"):
        (run.path / "outputs" / name).write_text("something else\n")

    data = gather_report(run)

    said = [one for one in data.attention if one.kind is AttentionKind.EDITED]
    assert [one.steps for one in said] == [("02", "03")]
    page = run_page(data)
    assert page.count(said[0].message) == 1
    assert page.index('id="work"') < page.index('id="attention"') < page.index('id="answers"')


@pytest.mark.parametrize(
    ("damage", "answered"),
    [
        pytest.param(lambda data: data[: len(data) // 2], range(5, 15), id="torn in the middle"),
        pytest.param(lambda data: b"garbage\n" + data, range(1), id="garbage at the beginning"),
        pytest.param(lambda _: b"", range(1), id="empty"),
        pytest.param(
            lambda data: data.replace(b'"step":"10"', b'"step":"11"', 1), range(5, 15), id="changed"
        ),
    ],
)
def test_a_damaged_run_is_shown_as_far_as_it_goes(
    damage: object, answered: range, tmp_path: Path
) -> None:
    run = a_run(tmp_path)
    assert callable(damage)
    run.journal.write_bytes(damage(run.journal.read_bytes()))

    data = gather_report(run)

    assert data.answered in answered
    assert run_page(data)


def test_an_unfinished_run_shows_open_calls(tmp_path: Path) -> None:
    run = a_run(tmp_path, replace(LIVELY, steps=6, open=(6,), failed=()))

    data = gather_report(run)
    page = run_page(data)

    assert data.run.status == "interrupted"
    assert [one.steps for one in data.attention if one.kind is AttentionKind.INTERRUPTED] == [
        ("06",)
    ]
    assert "no end recorded" in page


def test_a_huge_log_is_cut_and_its_size_said(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    with (run.path / "logs/15.1.stderr.log").open("wb") as log:
        log.truncate(50_000_000)
        log.seek(0, 2)
        log.write(b"\nthe last line\n")

    page = html_of(run)

    assert "the last line" in page
    assert "50.0 MB, the last" in page
    assert len(page) < 500_000


def test_a_run_is_found_by_name_directory_or_pack(tmp_path: Path) -> None:
    first = a_run(tmp_path)
    later = a_run(tmp_path, replace(LIVELY, run_id="2026-03-02__abc1234__{hash}"))

    assert find_run(tmp_path, "2026-03-01") == first
    assert find_run(tmp_path, str(first.path)) == first
    assert find_run(tmp_path, str(tmp_path / PACK)).run_id in {first.run_id, later.run_id}
    (tmp_path / "other.md").write_text("# A pack\n\n```bash\n# 01) x\ntrue\n```\n")
    with pytest.raises(InputError, match=r"no run of"):
        find_run(tmp_path, str(tmp_path / "other.md"))
    with pytest.raises(UsageError, match=r"no run 2031"):
        find_run(tmp_path, "2031")


@pytest.mark.parametrize(
    "text", ["`src/a.py`:3 ", "x", "src/a.py:1 ", "`a` ", "[a](http://b) ", "> ", "**a ", "|a"]
)
def test_reading_and_rendering_are_linear(text: str) -> None:
    def work(size: int) -> float:
        answer = text * (size // len(text))
        began = time.process_time()
        citations_in(answer)
        is_capture(answer)
        render_answer(answer, "a-", CitationLinks(()), plain=False)
        return time.process_time() - began

    work(1_000)
    # Quadratic work would be 16 times as much; short times are noise.
    assert min(work(40_000), work(40_000)) < max(8 * work(10_000), 0.5)


def test_markdown_escapes_and_counts(tmp_path: Path) -> None:
    hostile = "## Direct answer\n\nFix `src/shop/api.py:3` | <img src=x> @team closes #1\n"
    run = a_run(tmp_path, replace(LIVELY, answers={1: hostile}))

    text = render_report(gather_report(run), ReportFormat.MARKDOWN)

    assert text.startswith("<!-- oraclepack report -->\n# ")
    assert "19 of 20 questions answered" in text
    assert "<img" not in text.replace("`<img src=x>`", "")
    assert "`@team`" in text or "@team" not in text


def test_a_trace_has_every_call_and_its_phases(tmp_path: Path) -> None:
    run = a_run(tmp_path)

    trace = json.loads(render_report(gather_report(run), ReportFormat.TRACE))

    events = trace["traceEvents"]
    calls = [one for one in events if one.get("cat") == "call"]
    assert len(calls) == 20
    assert all(one["ph"] == "X" and one["dur"] >= 0 for one in calls)
    backoff = [one for one in events if one["name"] == "backing off"]
    assert [one["dur"] for one in backoff] == [20_000_000, 20_000_000]
    assert {one["args"]["name"] for one in events if one["name"] == "process_name"} == {
        "commands",
        "openai",
    }


def test_a_report_may_go_to_stdout(tmp_path: Path) -> None:
    a_run(tmp_path, Plan(steps=3))

    done = write_report(tmp_path, out="-", form="md")

    assert done.report.path == "-"
    assert done.text.startswith("<!-- oraclepack report -->")


def test_what_a_running_command_asks_is_shown(tmp_path: Path) -> None:
    run = a_run(tmp_path, replace(LIVELY, steps=6, open=(6,), failed=()))
    events = [
        msgspec.structs.replace(event, seq=0) for event in journal_file.load(run.journal).events
    ]
    asked = j.DecisionNeeded(
        step="06", call=1, question="Was it paid for?", options=("retry", "fail"), at=events[-1].at
    )
    reserved = j.BudgetReserved(
        step="06", attempt=1, call=1, reservation="r", cost=Decimal("1.25"), tokens=9, at=asked.at
    )
    forecast = j.ForecastRecorded(
        to_ask=6,
        low=Decimal("7.10"),
        likely=Decimal("8.20"),
        high=Decimal("9.30"),
        spent_before=Decimal(1),
        at=asked.at,
    )
    write_journal(run.path, *events, asked, reserved, forecast)  # type: ignore[arg-type]
    assert gather_report(run).decisions == ()  # no command works on the run

    with locked(run.path):
        data = gather_report(run)

    assert data.run.status == "needs_decision"
    assert [one.message for one in data.attention if one.kind is AttentionKind.DECISION] == [
        "The run waits for a person: Was it paid for? (retry, fail)"
    ]
    page = run_page(data)
    assert "$1.25 were reserved" in page
    assert data.run.cost.cost is not None
    ((row, actual),) = data.forecasts
    assert (row.likely, actual) == (Decimal("8.20"), data.run.cost.cost - 1)
    assert all(amount in page for amount in ("$7.10", "$8.20", "$9.30"))


def test_a_report_can_be_made_while_the_journal_is_being_written(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    whole = run.journal.read_bytes()
    for size in range(0, len(whole), len(whole) // 12):
        run.journal.write_bytes(whole[:size])
        data = gather_report(run)
        assert run_page(data)
        assert data.run.damage is None or size < 200
