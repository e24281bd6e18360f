"""`skills`: the one prompt for agents that write packs."""

import shlex
from pathlib import Path

import click

from oraclepack.authoring import skills as use_case
from oraclepack.cli.command import Group, LazyCommand, command
from oraclepack.cli.reply import Reply, ReplyError, partial_failure, rollback_notice
from oraclepack.cli.text import columns
from oraclepack.errors import ExitCode
from oraclepack.settings.registry import Settings
from oraclepack.settings.run_settings import ROLLBACK_ON_FAILURE

NAMES = click.Choice(("codex", "gemini", "claude"))

skills = Group(
    "skills",
    entries={
        "show": LazyCommand(
            f"{__name__}:show", "Print the skill of an agent as it would be installed."
        ),
        "install": LazyCommand(
            f"{__name__}:install", "Write the skills of agents into the project."
        ),
        "check": LazyCommand(
            f"{__name__}:check", "Find copies of the skills that are stale or edited."
        ),
    },
    help="The prompt for agents that write packs.",
)

_directory = click.option(
    "--dir",
    "directory",
    default="",
    metavar="DIR",
    help="A directory of skills or commands elsewhere, such as ~/.claude/skills.",
)


@command(
    "show",
    data="skill",
    reads_config=False,
    examples=("oraclepack skills show codex", "oraclepack skills show gemini --json"),
)
@click.argument("agent", type=NAMES)
def show(agent: str) -> Reply:
    """Print the skill of an agent as it would be installed."""
    found = use_case.show(agent)
    return Reply(data=found, text=found.text)


@command(
    "install",
    data="skills-installed",
    changes="one file for each agent",
    settings=(ROLLBACK_ON_FAILURE,),
    exit_codes=(ExitCode.STEP_FAILED,),
    rollback_available=True,
    examples=(
        "oraclepack skills install codex claude",
        "oraclepack skills install gemini --dir ~/.gemini/commands",
    ),
)
@click.argument("agents", type=NAMES, nargs=-1, required=True)
@_directory
@click.option("--force", is_flag=True, help="Replace also a copy that somebody has changed.")
def install(agents: tuple[str, ...], directory: str, *, force: bool, settings: Settings) -> Reply:
    """Write the skills of agents into the project.

    Codex reads .agents/skills, the Gemini CLI .gemini/commands, Claude .claude/skills.
    """
    told = use_case.install(
        Path(settings.root),
        agents,
        directory,
        force=force,
        rollback_on_failure=settings[ROLLBACK_ON_FAILURE],
    )
    if not told.ok:
        return partial_failure(told, "not every skill was installed")
    rows = [
        (skill.agent, "written" if skill.written else "unchanged", skill.path)
        for skill in told.skills
    ]
    text = columns(("agent", "skill", "path"), rows)
    return Reply(data=told, text=text, warnings=rollback_notice(told))


@command(
    "check",
    data="skills-checked",
    examples=(
        "oraclepack skills check",
        "oraclepack skills check claude --dir ~/.claude/skills",
    ),
)
@click.argument("agents", type=NAMES, nargs=-1)
@_directory
def check(agents: tuple[str, ...], directory: str, *, settings: Settings) -> Reply:
    """Find copies of the skills that are stale or edited.

    Those of all agents, unless some are named. Exit code 2 when there are any. A skill that is
    not installed is no fault.
    """
    told = use_case.check(Path(settings.root), directory, agents or use_case.EVERYBODY)
    rows = [
        (skill.agent, skill.state.value, skill.version or "-", skill.path) for skill in told.skills
    ]
    text = columns(("agent", "state", "made by", "path"), rows)
    if not told.outdated:
        return Reply(data=told, text=text)
    words = [
        *(skill.agent for skill in told.outdated),
        *(["--dir", directory] if directory else []),
    ]
    failure = ReplyError(
        "OUTDATED_SKILL",
        f"stale or edited: {', '.join(skill.path for skill in told.outdated)}",
        suggestion=f"oraclepack skills install {shlex.join(words)} (with --force to drop edits)",
    )
    return Reply(data=told, text=text, exit_code=ExitCode.INVALID, error=failure)
