"""The help of commands with many options: groups, and few enough lines to read."""

import click
import pytest

from oraclepack import api
from oraclepack.cli import grouped_help
from oraclepack.cli.command import Command, load
from oraclepack.cli.root import COMMANDS

HEADINGS = ("Selection:", "Limits:", "Verification:", "Output:", "Advanced:")
TEXT_WIDTH = 78
"""What click writes on a terminal of 80 columns."""
TWO_SCREENS = 100


def help_lines(name: str) -> list[str]:
    command = load(COMMANDS[name])
    assert command is not None
    context = click.Context(command, info_name=f"oraclepack {name}", terminal_width=TEXT_WIDTH)
    return command.get_help(context).splitlines()


@pytest.mark.parametrize("name", ["run", "pipeline", "plan"])
def test_a_long_help_is_grouped_and_fits_two_screens(name: str) -> None:
    lines = help_lines(name)

    assert [line for line in lines if line in HEADINGS] == list(HEADINGS)
    assert len(lines) <= TWO_SCREENS
    assert max(map(len, lines)) <= TEXT_WIDTH


def test_every_option_is_in_one_group() -> None:
    command = load(COMMANDS["run"])
    assert isinstance(command, Command)
    lines = [line for line in help_lines("run") if line.startswith("  -")]
    rare = lines.index(next(line for line in lines if "--[no-]stop-on-fail," in line))
    shown = [line.split()[0].rstrip(",") for line in lines[:rare]]
    shown += " ".join(lines[rare:]).replace(",", "").split()
    expected = {
        f"--[no-]{option.opts[0][2:]}"
        if option.secondary_opts == [f"--no-{option.opts[0][2:]}"]
        else option.opts[0]
        for option in command.params
        if isinstance(option, click.Option)
    }

    assert len(shown) == len(set(shown))
    assert expected <= set(shown)


def test_an_option_without_a_text_is_explained_as_a_setting() -> None:
    assert set(grouped_help._RARE) <= set(api.BY_NAME)


def test_a_short_help_keeps_one_list() -> None:
    assert "Options:" in help_lines("validate")
