"""The help of commands with many options: groups, and few enough lines to read."""

import click
import pytest

from oraclepack.cli.command import Command
from oraclepack.cli.command_manifest import commands
from oraclepack.cli.options import visible_options
from oraclepack.cli.root import ALIASES, current_words, load, root
from oraclepack.settings.registry import BY_NAME

HEADINGS = ("Selection:", "Limits:", "Verification:", "Output:", "Control:")
TEXT_WIDTH = 78
"""What click writes on a terminal of 80 columns."""
ENOUGH = 60


def help_lines(name: str) -> list[str]:
    command = load(name)
    context = click.Context(command, info_name=f"oraclepack {name}", terminal_width=TEXT_WIDTH)
    return command.get_help(context).splitlines()


@pytest.mark.parametrize("name", ["run", "pipeline", "plan"])
def test_a_long_help_is_grouped_and_fits_sixty_lines(name: str) -> None:
    lines = help_lines(name)

    assert [line for line in lines if line in HEADINGS] == list(HEADINGS)
    assert len(lines) <= ENOUGH
    assert max(map(len, lines)) <= TEXT_WIDTH


def test_what_a_long_help_leaves_out_is_a_setting_or_for_scripts() -> None:
    command = load("run")
    assert isinstance(command, Command)
    options = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    shown = {one.name for group in visible_options(options).values() for one in group}
    settings = {setting.parameter for setting in BY_NAME.values()}

    rest = {one.name for one in options} - shown - settings
    assert rest == {
        *("json", "jq", "assignments", "resume", "resume_from", "in_place", "expect_pack"),
        "import_state",
    }


def test_people_see_few_options() -> None:
    counts = {
        name: sum(
            len(group)
            for group in visible_options(
                [one for one in command.params if isinstance(one, click.Option)]
            ).values()
        )
        for name, command in commands(root())
    }

    assert counts["run"] < 30
    assert sum(counts.values()) <= 330


def test_the_root_help_fits_one_screen() -> None:
    lines = root().get_help(click.Context(root(), info_name="oraclepack")).splitlines()

    assert len(lines) <= 40
    assert max(map(len, lines)) <= 92


@pytest.mark.parametrize("old", ALIASES, ids=" ".join)
def test_a_name_of_earlier_versions_leads_to_a_command_of_today(old: tuple[str, ...]) -> None:
    words, note = current_words([*old, "x"])

    names = {name for name, _ in commands(root())}
    assert any(" ".join(words[:count]) in names for count in (1, 2))
    assert note.startswith(f"`oraclepack {' '.join(old)}` is called")


@pytest.mark.parametrize("words", ["--run-all", "--take-over"])
def test_an_old_spelling_is_understood_and_not_shown(words: str) -> None:
    command = load("run")

    assert words in {word for option in command.params for word in option.opts}
    assert words not in " ".join(help_lines("run"))


def test_a_short_help_keeps_one_list() -> None:
    assert "Options:" in help_lines("validate")
