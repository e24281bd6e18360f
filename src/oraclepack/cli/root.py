"""The commands there are, in the order of the help, none of them imported."""

import click

from oraclepack.cli.command import Group, LazyCommand

_PLACE = "oraclepack.cli.commands"

COMMANDS = {
    "validate": LazyCommand(
        f"{_PLACE}.validate_command:validate",
        "Check packs against every rule, without running them.",
    ),
    "explain": LazyCommand(
        f"{_PLACE}.reference_commands:explain",
        "Explain RULE (an id or a name), with a bad and a good example.",
    ),
    "list": LazyCommand(
        f"{_PLACE}.steps_commands:list_steps",
        "List the steps of PACK with score, category, tools and outputs.",
    ),
    "plan": LazyCommand(
        f"{_PLACE}.plan_command:plan", "Forecast the calls, tokens, cost and time of a run."
    ),
    "run": LazyCommand(f"{_PLACE}.run_command:run", "Run a pack, or continue its run."),
    "tui": LazyCommand(
        f"{_PLACE}.tui_command:tui", "Browse, prepare, run, watch and read packs on the screen."
    ),
    "call": LazyCommand(f"{_PLACE}.call_command:call", "Ask one question without a pack."),
    "why": LazyCommand(
        f"{_PLACE}.steps_commands:why", "Explain why a step ran, was skipped, or would run."
    ),
    "verify-outputs": LazyCommand(
        f"{_PLACE}.verify_command:verify",
        "Check outputs against their contract. Starts no process.",
    ),
    "actionize": LazyCommand(
        f"{_PLACE}.actionize_command:actionize",
        "Turn the answers of a pack into a backlog, a change plan and tracker files.",
    ),
    "followup": LazyCommand(
        f"{_PLACE}.followup_command:followup",
        "Write a pack that asks the open questions of a run again.",
    ),
    "publish": LazyCommand(
        f"{_PLACE}.publish_commands:publish", "Publish the work of a run to a tracker."
    ),
    "pipeline": LazyCommand(
        f"{_PLACE}.pipeline_command:pipeline",
        "Validate, run, verify and actionize a pack in one go.",
    ),
    "report": LazyCommand(
        f"{_PLACE}.report_command:report", "Write a run, its answers and its work into one file."
    ),
    "runs": LazyCommand(
        f"{_PLACE}.runs_commands:runs",
        "List, watch, control, compare and remove runs.",
    ),
    "quarantine": LazyCommand(
        f"{_PLACE}.quarantine_commands:quarantine",
        "List and restore the outputs of failed attempts.",
    ),
    "survey": LazyCommand(
        f"{_PLACE}.generate_command:survey",
        "Tell what a writer of questions needs to know of this repository.",
    ),
    "generate": LazyCommand(
        f"{_PLACE}.generate_command:generate",
        "Write a pack of the questions that this repository gives evidence for.",
    ),
    "new": LazyCommand(
        f"{_PLACE}.authoring_commands:new", "Write an empty pack that teaches the format."
    ),
    "upgrade": LazyCommand(
        f"{_PLACE}.authoring_commands:upgrade",
        "Propose the strict form of an old pack, with a proof.",
    ),
    "skills": LazyCommand(
        f"{_PLACE}.skills_commands:skills", "The prompts for agents that write packs and run them."
    ),
    "ticketify": LazyCommand(
        f"{_PLACE}.ticketify_command:ticketify",
        "Turn tickets into an index, a list of actions, a PRD and a pack that works them off.",
    ),
    "tickets": LazyCommand(
        f"{_PLACE}.tickets_commands:tickets",
        "Commands for the steps of the ticket action pack.",
    ),
    "accept": LazyCommand(
        f"{_PLACE}.accept_command:accept",
        "Take an answer that misses its contract, or an edited one, as it is.",
    ),
    "undo": LazyCommand(
        f"{_PLACE}.quarantine_commands:undo", "Take back what a step changed in the work tree."
    ),
    "trust": LazyCommand(
        f"{_PLACE}.trust_commands:trust",
        "Take over a run, or the cache, that is not signed with your key.",
    ),
    "cache": LazyCommand(
        f"{_PLACE}.cache_commands:cache", "List, explain and remove cached answers."
    ),
    "fleet": LazyCommand(
        f"{_PLACE}.fleet_commands:fleet", "Run and manage many packs on many machines."
    ),
    "prices": LazyCommand(
        f"{_PLACE}.prices_commands:prices", "Show the prices of models, with their source and date."
    ),
    "mcp": LazyCommand(
        f"{_PLACE}.mcp_command:mcp", "Serve coding agents by the Model Context Protocol."
    ),
    "doctor": LazyCommand(
        f"{_PLACE}.setup_commands:doctor", "Check what is installed and what would not work."
    ),
    "config": LazyCommand(
        f"{_PLACE}.setup_commands:config", "Show the settings and their origin, trust a project."
    ),
    "schema": LazyCommand(
        f"{_PLACE}.reference_commands:schema", "Print the JSON Schema of a published shape."
    ),
    "manifest": LazyCommand(
        f"{_PLACE}.reference_commands:manifest", "Describe every command for programs."
    ),
    "completion": LazyCommand(
        f"{_PLACE}.reference_commands:completion", "Print a shell completion script."
    ),
}

HELP = """Validate, run and verify packs of questions for strong models.

A pack is a Markdown file with one bash block of numbered steps.
"""

EPILOG = """Each command has its own --help with examples. Options may also be set by
ORACLEPACK_* variables, .env, oraclepack.toml or [tool.oraclepack]:
see "oraclepack config show"."""


class Root(Group):
    """The program itself."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(f"\n{EPILOG}\n")


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
