"""The help of commands with many options: groups, and few enough lines to read."""

import click
import pytest

from oraclepack import api
from oraclepack.cli.command import Command, load
from oraclepack.cli.root import COMMANDS

HEADINGS = ("Selection:", "Limits:", "Verification:", "Output:", "Advanced:")
TEXT_WIDTH = 78
"""What click writes on a terminal of 80 columns."""
ENOUGH = 60


def help_lines(name: str) -> list[str]:
    command = load(COMMANDS[name])
    assert command is not None
    context = click.Context(command, info_name=f"oraclepack {name}", terminal_width=TEXT_WIDTH)
    return command.get_help(context).splitlines()


@pytest.mark.parametrize("name", ["run", "pipeline", "plan"])
def test_a_long_help_is_grouped_and_fits_sixty_lines(name: str) -> None:
    lines = help_lines(name)

    assert [line for line in lines if line in HEADINGS] == list(HEADINGS)
    assert len(lines) <= ENOUGH
    assert max(map(len, lines)) <= TEXT_WIDTH


def test_every_option_is_shown_once_or_is_a_setting() -> None:
    command = load(COMMANDS["run"])
    assert isinstance(command, Command)
    words = " ".join(help_lines("run")[:-5]).replace(",", "").split()
    settings = {setting.parameter for setting in api.BY_NAME.values()}

    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            name = max(option.opts, key=len).removeprefix("--")
            count = words.count(f"--{name}") + words.count(f"--[no-]{name}")
            assert count == 1 or (count == 0 and option.name in settings), name


@pytest.mark.parametrize("words", ["--run-all", "--take-over"])
def test_an_old_spelling_is_understood_and_not_shown(words: str) -> None:
    command = load(COMMANDS["run"])
    assert command is not None

    assert words in {word for option in command.params for word in option.opts}
    assert words not in " ".join(help_lines("run"))


def test_a_short_help_keeps_one_list() -> None:
    assert "Options:" in help_lines("validate")
