"""The commands there are, in the groups and the order of the help, none of them imported."""

import re
from collections.abc import Sequence
from importlib import import_module

import click

from oraclepack import __version__
from oraclepack.cli.command import AnsweredError, Group
from oraclepack.cli.reply import Reply

SECTIONS = {
    "Packs": {
        "validate": "packs:validate",
        "explain": "config:explain",
        "list": "packs:list_steps",
        "new": "authoring:new",
        "generate": "authoring:generate",
        "survey": "authoring:survey",
        "upgrade": "authoring:upgrade",
    },
    "Run": {
        "plan": "run:plan",
        "run": "run:run",
        "ask": "run:ask",
        "pipeline": "run:pipeline",
        "tui": "run:tui",
    },
    "Work": {
        "verify-outputs": "work:verify",
        "actionize": "work:actionize",
        "report": "work:report",
        "publish": "work:publish",
        "tickets": "tickets:tickets",
    },
    "Runs": {
        "runs": "runs:runs",
        "step": "steps:step",
        "cache": "steps:cache",
    },
    "Setup": {
        "doctor": "setup:doctor",
        "config": "config:config",
        "skills": "setup:skills",
        "mcp": "setup:mcp",
        "fleet": "fleet:fleet",
    },
}
"""The module of `cli.commands` that has a command, and its name there."""

COMMANDS = {name: place for section in SECTIONS.values() for name, place in section.items()}

ALIASES: dict[tuple[str, ...], tuple[str, ...]] = {
    ("call",): ("ask",),
    ("why",): ("step", "why"),
    ("accept",): ("step", "accept"),
    ("undo",): ("step", "undo"),
    ("quarantine", "list"): ("step", "quarantine"),
    ("quarantine", "restore"): ("step", "restore"),
    ("trust",): ("runs", "trust"),
    ("followup",): ("new", "--from-run", "latest"),
    ("ticketify",): ("tickets", "build"),
    ("prices", "list"): ("config", "prices"),
    ("prices", "show"): ("config", "prices"),
    ("prices",): ("config", "prices"),
    ("schema",): ("config", "schema"),
    ("manifest",): ("config", "manifest"),
    ("completion",): ("config", "completion"),
    ("doctor", "--rebuild"): ("runs", "repair"),
}
"""The names of 0.2 and what they are called now; the longest match counts."""

HELP = "Validate, run and verify packs of questions for strong models."

EPILOG = """\
All commands: --json, --jq PROGRAM, --cwd DIR, --quiet, --color WHEN, -h, --help; --version.
"""


def current_words(args: Sequence[str]) -> tuple[list[str], str]:
    """A command line with the names of today, and a note where it had an earlier one."""
    for old in sorted(ALIASES, key=len, reverse=True):
        if tuple(args[: len(old)]) == old:
            new = ALIASES[old]
            note = f"`oraclepack {' '.join(old)}` is called `oraclepack {' '.join(new)}` now"
            return [*new, *args[len(old) :]], note
    return list(args), ""


_HELP_LINE = re.compile(r"^  ([a-z-]+)  +(\S.*)$", re.MULTILINE)


def load(name: str) -> click.Command:
    """Import a command."""
    module, _, attribute = COMMANDS[name].partition(":")
    made: click.Command = getattr(import_module(f"oraclepack.cli.commands.{module}"), attribute)
    return made


class Root(Group):
    """The program itself. Its commands are imported when they are called or described."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load(cmd_name) if cmd_name in COMMANDS else None

    def summaries(self) -> dict[str, str]:
        """As the help has them, so that completing a name imports no command."""
        from importlib.resources import files

        text = files("oraclepack.cli").joinpath("root_help.txt").read_text(encoding="utf-8")
        return dict(_HELP_LINE.findall(text))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for heading, entries in SECTIONS.items():
            formatter.write(f"\n{heading}:\n")
            for name in entries:
                summary, _, _ = (load(name).help or "").partition("\n")
                formatter.write(f"  {name:<{widest}}  {summary}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"\n{EPILOG}")


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        raise AnsweredError(Reply({"version": __version__}, f"oraclepack {__version__}"))


def root() -> Root:
    """The command line as a whole."""
    version = click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Show the version and exit.",
    )
    # `--json --help`: that JSON is wanted was seen before anything is parsed.
    json = click.Option(["--json"], is_flag=True, expose_value=False, hidden=True)
    return Root("oraclepack", HELP, params=[version, json])
