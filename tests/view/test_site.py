"""A site over many runs: its pages, its trend, and that only what is new is written."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from oraclepack.errors import UsageError
from oraclepack.view.past_runs import listing_of
from oraclepack.view.report.site import SitePage, with_trend, write_site
from oraclepack.view.run import RunView
from tests.view.example_runs import BEGAN, LIVELY, Plan, a_run, answer_text

WEEKS = [
    replace(
        LIVELY,
        steps=4,
        failed=(3,) if week == 1 else (),
        cached=(),
        run_id=f"2026-03-{week:02}__abc1234__{{hash}}",
        began=BEGAN + timedelta(days=7 * week),
        cost=f"0.{4 + week}",
    )
    for week in (1, 2, 3)
]


def a_project(root: Path, plans: list[Plan]) -> Path:
    for plan in plans:
        a_run(root, plan)
    return root


def test_a_site_has_a_page_for_every_run_and_a_trend(tmp_path: Path) -> None:
    project = a_project(tmp_path / "shop", WEEKS)
    site = tmp_path / "site"

    made = write_site(project, str(site))

    assert (made.runs, made.written, made.unchanged) == (3, 3, 0)
    index = (site / "index.html").read_text()
    for page in sorted((site / "runs/shop").iterdir()):
        assert f'href="runs/shop/{page.name}"' in index
    assert "oracle-pack-2026-03-01.md" in index
    assert ">4/20</td>" in index


def test_only_what_is_new_is_written(tmp_path: Path) -> None:
    project = a_project(tmp_path / "shop", WEEKS[:2])
    site = tmp_path / "site"
    write_site(project, str(site))
    before = (site / "index.html").read_text()
    pages = {page.name: page.stat().st_mtime_ns for page in (site / "runs/shop").iterdir()}

    again = write_site(project, str(site))
    assert (again.written, again.unchanged) == (0, 2)
    assert (site / "index.html").read_text() == before
    a_run(project, WEEKS[2])
    more = write_site(project, str(site))

    assert (more.written, more.unchanged) == (1, 2)
    assert {name: (site / "runs/shop" / name).stat().st_mtime_ns for name in pages} == pages
    fresh = write_site(project, str(tmp_path / "fresh"))
    assert fresh.written == 3
    assert (tmp_path / "fresh/index.html").read_text() == (site / "index.html").read_text()


def test_several_projects_share_a_site(tmp_path: Path) -> None:
    projects = [a_project(tmp_path / name / "shop", WEEKS[:1]) for name in ("one", "two")]

    made = write_site(tmp_path, str(tmp_path / "site"), [str(one) for one in projects])

    assert made.projects == ("shop", "shop-2")
    assert len(list((tmp_path / "site/runs").iterdir())) == 2


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    project = a_project(tmp_path / "shop", WEEKS[:1])
    (tmp_path / "www").mkdir()
    (tmp_path / "www/index.html").write_text("my page")

    with pytest.raises(UsageError, match=r"not oraclepack's"):
        write_site(project, str(tmp_path / "www"))

    assert (tmp_path / "www/index.html").read_text() == "my page"


def test_a_broken_state_is_rebuilt(tmp_path: Path) -> None:
    project = a_project(tmp_path / "shop", WEEKS[:1])
    site = tmp_path / "site"
    write_site(project, str(site))
    (site / "site.json").write_text("{")

    assert write_site(project, str(site)).written == 1


def page(number: int, *tasks: str, ticked: tuple[str, ...] = ()) -> SitePage:
    run = listing_of(RunView())
    return SitePage(key="", project="p", page=f"{number}", run=run, tasks=tasks, ticked=ticked)


def test_tasks_are_opened_and_closed() -> None:
    newest_first = [page(3, "b", "c"), page(2, "b", "c", ticked=("c",)), page(1, "a", "b")]

    figures = [(one.page, opened, closed) for one, opened, closed in with_trend(newest_first)]

    assert figures == [("3", 0, 0), ("2", 1, 2), ("1", 2, 0)]


def test_a_hostile_run_stays_text_in_the_index(tmp_path: Path) -> None:
    plan = replace(WEEKS[0], model='<script>"x"</script>', answers={1: answer_text(1)})
    project = a_project(tmp_path / "shop", [plan])

    write_site(project, str(tmp_path / "site"))

    index = (tmp_path / "site/index.html").read_text()
    assert index.count("<script") == 1
    assert "&lt;script&gt;" in index
