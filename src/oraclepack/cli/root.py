"""The commands there are, in the groups and the order of the help, none of them imported."""

from collections.abc import Sequence

import click

from oraclepack.cli.command import Group, LazyCommand

_PLACE = "oraclepack.cli.commands"

SECTIONS = {
    "Packs": {
        "validate": LazyCommand(
            f"{_PLACE}.packs:validate",
            "Check packs against every rule, without running them.",
        ),
        "explain": LazyCommand(
            f"{_PLACE}.config:explain",
            "Explain RULE (an id or a name), with a bad and a good example.",
        ),
        "list": LazyCommand(
            f"{_PLACE}.packs:list_steps", "List the questions of PACK and their status."
        ),
        "new": LazyCommand(
            f"{_PLACE}.authoring:new",
            "Write a new pack: a template, or what a run left open.",
        ),
        "generate": LazyCommand(
            f"{_PLACE}.authoring:generate",
            "Write a pack of questions about this repository.",
        ),
        "survey": LazyCommand(
            f"{_PLACE}.authoring:survey",
            "Show what a writer of questions needs to know of it.",
        ),
        "upgrade": LazyCommand(
            f"{_PLACE}.authoring:upgrade",
            "Propose the strict form of an old pack, with a proof.",
        ),
    },
    "Run": {
        "plan": LazyCommand(
            f"{_PLACE}.run:plan", "Forecast the calls, tokens, cost and time of a run."
        ),
        "run": LazyCommand(f"{_PLACE}.run:run", "Run a pack, or continue its run."),
        "ask": LazyCommand(f"{_PLACE}.run:ask", "Ask one question without a pack."),
        "pipeline": LazyCommand(
            f"{_PLACE}.run:pipeline",
            "Validate, run, verify and actionize a pack in one go.",
        ),
        "tui": LazyCommand(
            f"{_PLACE}.run:tui", "Browse, prepare, run, watch and read packs on the screen."
        ),
    },
    "Work": {
        "verify-outputs": LazyCommand(
            f"{_PLACE}.work:verify",
            "Check outputs against their contract. Starts no process.",
        ),
        "actionize": LazyCommand(
            f"{_PLACE}.work:actionize",
            "Turn answers into a backlog, a change plan and tracker files.",
        ),
        "report": LazyCommand(
            f"{_PLACE}.work:report",
            "Write a run, its answers and its work into one file.",
        ),
        "publish": LazyCommand(f"{_PLACE}.work:publish", "Publish the work of a run to a tracker."),
        "tickets": LazyCommand(
            f"{_PLACE}.tickets:tickets", "Turn tickets into a pack that works them off."
        ),
    },
    "Runs": {
        "runs": LazyCommand(
            f"{_PLACE}.runs:runs", "List, watch, control, compare and repair runs."
        ),
        "step": LazyCommand(f"{_PLACE}.steps:step", "Explain, accept, undo and restore steps."),
        "cache": LazyCommand(f"{_PLACE}.steps:cache", "List, explain and remove cached answers."),
    },
    "Setup": {
        "doctor": LazyCommand(
            f"{_PLACE}.setup:doctor", "Check what is installed and what would not work."
        ),
        "config": LazyCommand(
            f"{_PLACE}.config:config", "Show settings, prices, schemas; completion."
        ),
        "skills": LazyCommand(
            f"{_PLACE}.setup:skills",
            "The prompts for agents that write packs and run them.",
        ),
        "mcp": LazyCommand(
            f"{_PLACE}.setup:mcp", "Serve coding agents by the Model Context Protocol."
        ),
        "fleet": LazyCommand(
            f"{_PLACE}.fleet:fleet", "Run and manage many packs on many machines."
        ),
    },
}

COMMANDS = {name: entry for section in SECTIONS.values() for name, entry in section.items()}

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


class Root(Group):
    """The program itself."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, COMMANDS))
        for heading, entries in SECTIONS.items():
            formatter.write(f"\n{heading}:\n")
            for name, entry in entries.items():
                formatter.write(f"  {name:<{widest}}  {entry.summary}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"\n{EPILOG}")


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        raise VersionRequestedError


class VersionRequestedError(Exception):
    """`--version` was given."""


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
    return Root("oraclepack", entries=COMMANDS, params=[version, json], help=HELP)
