"""Packs, findings and steps: what is shown, and what each key does."""

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Input

from oraclepack.tui.app import TuiApp, known_keys
from oraclepack.tui.findings_screen import FindingsScreen
from oraclepack.tui.key_table import keymap
from oraclepack.tui.pack_screen import TextPane, fitted_widths
from oraclepack.tui.packs_screen import PacksScreen
from oraclepack.tui.read_screen import ReadScreen
from oraclepack.tui.steps_screen import StepsScreen
from oraclepack.tui.watch_screen import WatchScreen
from tests.authoring.repositories import SINGLE_FILE, a_repository
from tests.packs import pack_text
from tests.tui.screens import SMALL, WIDE, keys, screen_text, settle, use_screen
from tests.view.example_runs import PACK


@pytest.mark.slow
def test_packs_are_listed_opened_and_made(shop: Path) -> None:
    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        text = screen_text(app)
        assert "2 packs below" in text
        assert "oracle-pack-2026-03-01.md  ✓ valid" in text
        assert "✗ failed" in text
        assert "faulty.md" in text

        await keys(pilot, "n")
        app.screen.query_one("#line", Input).value = str(shop / "made.md")
        await keys(pilot, "enter")
        assert "3 packs below" in screen_text(app)
        assert (shop / "made.md").is_file()

        await keys(pilot, "n", "escape", "w")
        assert isinstance(app.screen, PacksScreen), "it has not run"
        await keys(pilot, "down", "down", "w")
        assert isinstance(app.screen, WatchScreen)
        await keys(pilot, "escape", "enter")
        assert isinstance(app.screen, StepsScreen)
        await keys(pilot, "escape", "v")
        assert isinstance(app.screen, FindingsScreen)
        await keys(pilot, "escape", "escape")
        assert isinstance(app.screen, PacksScreen)
        await pilot.press("q")

    assert use_screen(shop, script).return_value == 0


@pytest.mark.parametrize("name", [".", PACK])
def test_a_project_elsewhere_is_shown_with_its_runs(
    shop: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no git repository, and the working directory is another one."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        if name == ".":
            assert "✗ failed  19/20" in screen_text(app)
            await keys(pilot, "down", "enter")
        assert isinstance(app.screen, StepsScreen)
        assert "✗ failed" in screen_text(app)
        await keys(pilot, "w")
        assert "19 of 20 done" in screen_text(app)
        assert app.load_settings(str(shop / PACK)).root == str(shop)

    use_screen(shop / name, script)
    assert not list((tmp_path / "here").iterdir())


@pytest.mark.parametrize(
    ("widths", "flexible", "room", "fitted"),
    [
        pytest.param([4, 50], [1], 60, [4, 50], id="there is room"),
        pytest.param([4, 50], [1], 40, [4, 36], id="the flexible column gives way"),
        pytest.param([4, 50, 30], [1, 2], 60, [4, 28, 28], id="the widest first"),
        pytest.param([4, 50], [1], 10, [4, 20], id="not below the narrowest"),
        pytest.param([40, 12], [1], 30, [40, 12], id="a narrow one stays"),
    ],
)
def test_columns_fit_their_table(
    widths: list[int], flexible: list[int], room: int, fitted: list[int]
) -> None:
    assert fitted_widths(widths, flexible, room) == fitted


@pytest.mark.parametrize("size", [WIDE, SMALL])
def test_a_long_path_gives_way_to_the_cost(tmp_path: Path, size: tuple[int, int]) -> None:
    folder = tmp_path / "docs/questions-about-this-repository"
    folder.mkdir(parents=True)
    for topic in ("security", "performance"):
        file = folder / f"oracle-pack-2026-11-18-{topic}.md"
        file.write_text(pack_text("# 01) first\ntrue\n"))

    async def script(app: TuiApp, _pilot: Pilot[Any]) -> None:
        lines = screen_text(app).splitlines()
        (head,) = (line for line in lines if "Last run" in line)
        assert head.partition("│")[0].rstrip().endswith("Done  Cost")
        names = [line.split()[0] for line in lines if line.startswith(" …")]
        assert [name.rpartition("-")[2] for name in names] == ["performance.md", "security.md"]

    use_screen(tmp_path, script, size)


def test_a_folder_without_packs_says_what_to_do(tmp_path: Path) -> None:
    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        assert "Press n to write an empty pack" in screen_text(app)
        await keys(pilot, "enter", "v", "e")
        assert isinstance(app.screen, PacksScreen)

    use_screen(tmp_path, script)


@pytest.mark.heavy
def test_a_repository_becomes_a_pack(tmp_path: Path) -> None:
    a_repository(tmp_path, SINGLE_FILE)

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "g", "enter")
        assert "review-pack.md" in screen_text(app)

    use_screen(tmp_path, script)
    assert "tool.py" in (tmp_path / "review-pack.md").read_text()


def test_findings_show_their_lines_and_are_fixed_after_a_preview(shop: Path) -> None:
    pack = shop / "faulty.md"
    before = pack.read_text()

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "v")
        text = screen_text(app)
        assert "with a fix" in text
        assert "▸    4 # 01) Ask" in text or "▸    5 oracle" in text
        detail = app.screen.query_one("#findings-detail", TextPane)
        assert "About the rule" in detail.plain

        await keys(pilot, "f")
        assert "+++" in screen_text(app)
        await keys(pilot, "n")
        assert pack.read_text() == before, "no is no"
        await keys(pilot, "f", "y")
        assert pack.read_text() != before
        await keys(pilot, "f")
        assert isinstance(app.screen, FindingsScreen), "nothing is left to fix"

    use_screen(pack, script)


def test_steps_are_filtered_sorted_and_selected(pack: Path) -> None:
    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        screen = app.screen
        assert isinstance(screen, StepsScreen)
        assert "20 steps by step" in screen_text(app)

        await pilot.press("slash", *"roi>9")
        await keys(pilot, "enter")
        assert "3 of 20 steps" in screen_text(app)
        await keys(pilot, "a")
        assert screen.selected_ids() == ("01", "02", "03")
        await keys(pilot, "space")
        assert screen.selected_ids() == ("02", "03")
        await keys(pilot, "escape", "x")
        assert screen.selected_ids() == ()
        assert "20 steps by step" in screen_text(app)

        await keys(pilot, "s", "S")
        assert "by ROI ↑" in screen_text(app)
        step = screen.current_step()
        assert step is not None
        table = screen.query_one("#steps", DataTable)
        assert table.get_row_at(0)[1].plain == "20"

        screen.query_one("#filter", Input).value = "roi>x"
        await settle(pilot)
        assert "a number is missing" in screen_text(app)

    use_screen(pack, script)


def test_enter_opens_the_answer_of_a_step_that_needs_a_look(pack: Path) -> None:
    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "down")
        text = screen_text(app)
        assert "! look at it  Where can a quantity become negative?" in text
        assert "3 things to look at" in text
        assert "prompt" not in text, "the question itself comes first"
        await keys(pilot, "enter")
        assert isinstance(app.screen, ReadScreen)
        assert "Where can a quantity become negative?" in screen_text(app)
        await keys(pilot, "enter")
        assert "Yes: a quantity becomes negative" in screen_text(app)

    use_screen(pack, script, SMALL)


TABS = [
    pytest.param("1", "Where can a quantity become negative?", id="question"),
    pytest.param("2", "src/shop/stock.py", id="files"),
    pytest.param("3", "--model=gpt-5.2", id="command"),
    pytest.param("4", "Yes: a quantity becomes negative", id="answer"),
    pytest.param("6", "step 02 runs", id="why"),
    pytest.param("7", "☐", id="work"),
]


@pytest.mark.slow
def test_each_tab_tells_of_the_step_and_is_copied(pack: Path) -> None:
    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "down")
        for tab in TABS:
            key, words = tab.values
            await keys(pilot, str(key), "y")
            assert str(words) in screen_text(app), tab.id
            assert str(words) in app.clipboard, tab.id
        assert "src/shop/stock.py:19-24" in app.screen.query_one("#text-answer", TextPane).plain
        assert "verified" in app.screen.query_one("#text-answer", TextPane).plain

        await keys(pilot, "5")
        for _ in range(100):
            await settle(pilot)
            if "step 02: line 2" in screen_text(app):
                break
        await keys(pilot, "y")
        assert "step 02: line 2" in app.clipboard

    use_screen(pack, script, oracle_flag="--model=gpt-5.2")


@pytest.mark.heavy
def test_costs_come_from_a_rehearsal(shop: Path) -> None:
    (shop / "two.md").write_text(
        "```bash\n# 01) a\noracle -m gpt-5.2 -p hello --write-output out/1.md\n```\n"
    )

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        await keys(pilot, "c")
        assert "~$0." in screen_text(app)

    use_screen(shop / "two.md", script, engine="api")


@pytest.mark.slow
def test_a_small_screen_with_other_keys_has_one_column_help_and_palette(
    pack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORACLEPACK_TUI_KEYS", "steps.findings=f9")

    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        assert app.screen.has_class("-narrow")
        table = app.screen.query_one("#steps", DataTable)
        tabs = app.screen.query_one("#tabs")
        assert tabs.region.y >= table.region.bottom
        assert table.region.width == SMALL[0]

        await keys(pilot, "v")
        assert isinstance(app.screen, StepsScreen), "v has no meaning now"
        await keys(pilot, "question_mark")
        text = screen_text(app)
        assert "Keys of this screen" in text
        assert "steps.filter" in text
        await keys(pilot, "escape", "f9")
        assert isinstance(app.screen, FindingsScreen)
        await keys(pilot, "escape", "ctrl+p")
        await pilot.press(*"findings")
        await keys(pilot, "enter")
        assert isinstance(app.screen, FindingsScreen)

    use_screen(pack, script, SMALL)


@pytest.mark.heavy
def test_the_mouse_chooses_rows_tabs_and_keys_of_the_footer(pack: Path) -> None:
    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        screen = app.screen
        assert isinstance(screen, StepsScreen)
        await pilot.click("#steps", offset=(6, 3))
        await settle(pilot)
        step = screen.current_step()
        assert step is not None
        assert step.step_id == "03"
        await pilot.click("#--content-tab-tab-command")
        await settle(pilot)
        assert screen.active_tab == "command"
        await pilot.click("FooterKey.-command-palette")
        await pilot.pause()
        assert "Search for commands" in screen_text(app)

    use_screen(pack, script)


def test_no_key_is_one_of_tmux() -> None:
    known = known_keys()

    assert {"copy", "help", "quit", "back", "steps.filter"} <= known
    with pytest.raises(Exception, match="ctrl\\+b is used by tmux"):
        keymap(("copy=ctrl+b",), known)
    with pytest.raises(Exception, match="no key named coppy"):
        keymap(("coppy=x",), known)
    with pytest.raises(Exception, match="must be ID=KEY"):
        keymap(("copy",), known)


def test_a_key_that_comes_before_the_run_is_read_waits_for_it(pack: Path) -> None:
    async def script(app: TuiApp, pilot: Pilot[Any]) -> None:
        screen = StepsScreen(str(pack))
        await app.push_screen(screen)
        screen.action_watch()
        await settle(pilot)
        assert isinstance(app.screen, WatchScreen)

    use_screen(pack, script)
