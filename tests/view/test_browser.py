"""The pages in a real browser: from disk, offline, by keyboard, light and dark, with axe-core."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oraclepack.view.report.data import Report
from oraclepack.view.report.diff import diff_runs
from oraclepack.view.report.gather import gather_report
from oraclepack.view.report.page import run_page
from oraclepack.view.report.site import write_site
from tests.real.install import NotToBeHadError
from tests.view.browser import OpenPage, axe_script, browser, violations
from tests.view.example_runs import LIVELY, a_run, answer_text
from tests.view.test_report import HOSTILE

pytestmark = pytest.mark.heavy

SCHEMES = ["light", "dark"]
WORD = "zanzibar"
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


@pytest.fixture(scope="module")
def started() -> Iterator[Any]:
    try:
        with browser() as found:
            yield found
    except NotToBeHadError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def axe() -> None:
    try:
        axe_script()
    except NotToBeHadError as reason:
        pytest.skip(str(reason))


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A report whose answer 17, and no other, holds a word."""
    seventeen = answer_text(17).replace("The store may", f"The {WORD} store may")
    answers = {**LIVELY.answers, 17: seventeen}
    return page_of(tmp_path, gather_report(a_run(tmp_path, replace(LIVELY, answers=answers))))


def page_of(folder: Path, data: Report, name: str = "report.html") -> Path:
    page = folder / name
    page.write_text(run_page(data), encoding="utf-8")
    return page


def opened(started: Any, page: Path, **options: Any) -> OpenPage:
    return OpenPage(started, page, **options)


def test_a_report_opens_offline_without_a_request_or_an_error(started: Any, report: Path) -> None:
    page = opened(started, report)

    assert page.page.title().startswith("oracle-pack-2026-03-01.md")
    assert page.page.locator("article.question").count() == 20
    assert (page.trouble, page.foreign_requests) == ([], [])
    page.close()


def test_search_finds_a_word_in_answer_17_and_goes_there(started: Any, report: Path) -> None:
    page = opened(started, report)
    keyboard = page.page.keyboard

    keyboard.press("/")
    keyboard.type(WORD)
    page.page.wait_for_selector("#hits a")
    hits = page.page.locator("#hits a")
    assert hits.count() == 1
    assert hits.locator(".num").inner_text() == "17"
    keyboard.press("Enter")

    assert page.page.locator("#q17 > details").get_attribute("open") is not None
    found = page.page.locator(f"#q17 .answer :text('{WORD}')").last
    box = found.bounding_box()
    assert box is not None
    assert 0 < box["y"] < 900
    assert (page.trouble, page.foreign_requests) == ([], [])
    page.close()


def test_filters_leave_what_was_asked_for(started: Any, report: Path) -> None:
    page = opened(started, report)
    shown = page.page.locator("details.task:visible")
    every = shown.count()

    page.page.select_option("#task-filters [name=kind]", "experiment")
    kinds = {shown.nth(number).get_attribute("data-kind") for number in range(shown.count())}
    assert kinds == {"experiment"}
    assert page.page.locator("#task-count").inner_text() == f"{shown.count()} of {every} records"
    page.page.click("#task-filters [type=reset]")
    page.page.wait_for_timeout(50)
    page.page.fill("#task-filters [name=file]", "stock.py")
    files = [shown.nth(number).get_attribute("data-files") for number in range(shown.count())]
    assert 0 < len(files) < every
    assert all("stock.py" in (names or "") for names in files)
    page.page.click("#task-filters [type=reset]")
    page.page.wait_for_timeout(50)
    assert shown.count() == every

    page.page.select_option("#answer-filters [name=show]", "look")
    questions = page.page.locator("article.question:visible")
    ids = {questions.nth(number).get_attribute("id") for number in range(questions.count())}
    assert {"q02", "q09", "q15"} <= ids
    assert "q01" not in ids
    page.close()


def test_everything_can_be_done_by_keyboard(started: Any, report: Path) -> None:
    page = opened(started, report)
    keyboard = page.page.keyboard

    keyboard.press("Tab")
    assert page.page.evaluate("document.activeElement.className") == "skip"
    keyboard.press("j")
    keyboard.press("j")
    at = "document.activeElement.closest('article').id"
    assert page.page.evaluate(at) == "q02"
    keyboard.press("k")
    assert page.page.evaluate(at) == "q01"
    keyboard.press("Enter")
    assert page.page.locator("#q01 > details").get_attribute("open") is not None
    keyboard.press("o")
    assert page.page.locator("#q01 > details").get_attribute("open") is None
    keyboard.press("e")
    assert page.page.locator("article.question > details[open]").count() == 20
    keyboard.press("?")
    assert page.page.locator("#help").is_visible()
    keyboard.press("Escape")
    assert not page.page.locator("#help").is_visible()
    page.close()


def test_links_open_what_they_lead_to(started: Any, report: Path) -> None:
    page = opened(started, report)

    page.page.evaluate("location.hash = 's02-1-1'")
    page.page.wait_for_timeout(150)
    quote = page.page.locator("#s02-1-1")
    assert quote.is_visible()
    assert "self._store.write(key, current - amount)" in quote.inner_text()
    link = page.page.locator("details.task a[href^='#a']").first
    target = str(link.get_attribute("href"))
    page.page.evaluate(f"location.hash = {target!r}")
    page.page.wait_for_timeout(150)
    assert page.page.locator(target).is_visible()
    page.close()


def test_it_can_be_read_without_javascript(started: Any, report: Path) -> None:
    page = opened(started, report, java_script_enabled=False)

    assert not page.page.locator(".find").is_visible()
    assert page.page.locator("article.question h3").first.is_visible()
    page.page.locator("#q02 > details > summary").click()
    assert page.page.locator("#q02 .answer").is_visible()
    assert page.page.locator("svg.timeline").is_visible()
    page.close()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("size", [(1280, 900), (420, 900)], ids=["wide", "narrow"])
def test_axe_finds_no_violation(
    started: Any, axe: None, report: Path, scheme: str, size: tuple[int, int]
) -> None:
    page = opened(started, report, color_scheme=scheme, bypass_csp=True, size=size)
    page.page.keyboard.press("e")
    page.page.evaluate(OPEN_ALL)
    if size[0] < 1000:
        wide = "document.documentElement.scrollWidth <= innerWidth"
        assert page.page.evaluate(wide), "the page scrolls sideways"

    assert violations(page) == []
    page.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_axe_finds_nothing_in_comparison_and_site(
    started: Any, axe: None, scheme: str, tmp_path: Path
) -> None:
    later = replace(LIVELY, run_id="2026-03-08__abc1234__{hash}", failed=(3,), answers={})
    runs = [a_run(tmp_path, plan).run_id for plan in (LIVELY, later)]
    diff_runs(tmp_path, *runs, html=str(tmp_path / "diff.html"))
    write_site(tmp_path, str(tmp_path / "site"))

    for place in (tmp_path / "diff.html", tmp_path / "site/index.html"):
        page = opened(started, place, color_scheme=scheme, bypass_csp=True)
        assert violations(page) == []
        assert (page.trouble, page.foreign_requests) == ([], [])
        page.close()


def test_a_hostile_answer_shows_as_text_and_does_nothing(started: Any, tmp_path: Path) -> None:
    answers = {1: HOSTILE, 4: HOSTILE.replace("`", "'")}
    run = a_run(tmp_path, replace(LIVELY, answers=answers, model="<b onclick=1>m</b>"))
    (run.path / "logs/01.1.stdout.log").write_text(HOSTILE)
    page = opened(started, page_of(tmp_path, gather_report(run)))

    page.page.keyboard.press("e")
    page.page.evaluate(OPEN_ALL)
    page.page.wait_for_timeout(200)

    text = page.page.locator("#q01 .answer").inner_text()
    assert '<script>document.title = "owned"</script>' in text
    assert "owned" not in page.page.title()
    assert page.page.locator(".answer a[href^='javascript']").count() == 0
    assert page.page.locator("img, iframe, object, embed").count() == 0
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert (page.trouble, page.foreign_requests) == ([], [])
    page.close()


def test_two_thousand_answers_open_in_less_than_three_seconds(started: Any, tmp_path: Path) -> None:
    data = gather_report(a_run(tmp_path))
    steps = tuple(replace_step(data, number) for number in range(2_000))
    many = page_of(tmp_path, replace_steps(data, steps), "many.html")
    began = time.monotonic()
    page = opened(started, many)
    page.page.locator("#q1999 h3").wait_for(state="attached")
    took = time.monotonic() - began
    metrics = page.context.new_cdp_session(page.page)
    # The work of the browser, not the time on the clock: other programs may be busy.
    metrics.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.page.reload()
    found = {one["name"]: one["value"] for one in metrics.send("Performance.getMetrics")["metrics"]}
    print(f"{many.stat().st_size:,} bytes, {took:.1f} s, {found['TaskDuration']:.1f} s of work")
    assert 0.05 < found["TaskDuration"] < 3
    page.page.keyboard.press("/")
    page.page.keyboard.type("OutOfStock")
    page.page.wait_for_selector("#hits a")
    assert page.page.locator("#hits a").count() == 60
    assert page.trouble == []
    page.close()


def replace_step(data: Report, number: int) -> Any:
    return msgspec.structs.replace(data.steps[number % 20], step_id=f"{number:04}", logs=())


def replace_steps(data: Report, steps: tuple[Any, ...]) -> Report:
    return msgspec.structs.replace(data, steps=steps, attention=(), issues=())


def test_everything_is_printed(started: Any, report: Path, tmp_path: Path) -> None:
    page = opened(started, report)
    page.page.emulate_media(media="print")

    pdf = tmp_path / "report.pdf"
    page.page.pdf(path=pdf)

    assert pdf.stat().st_size > 50_000
    assert page.page.locator("#q17 .answer").is_visible()
    assert not page.page.locator(".side").is_visible()
    page.close()
