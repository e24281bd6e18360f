"""`skills`: the prompts for agents that write packs and run them."""

from __future__ import annotations

import shlex

import click

from oraclepack.authoring.skills import ProjectSkills
from oraclepack.cli.command import Group, LazyCommand, command
from oraclepack.cli.reply import Reply, ReplyError, partial_failure, rollback_notice
from oraclepack.cli.text import columns
from oraclepack.errors import ExitCode
from oraclepack.settings import run_settings
from oraclepack.settings.registry import Settings

NAMES = click.Choice(("codex", "gemini", "claude"))
SKILLS = click.Choice(("oracle-pack", "oracle-run"))

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
    help="The prompts for agents that write packs and run them.",
)

_directory = click.option(
    "--dir",
    "directory",
    default="",
    metavar="DIR",
    help="A directory of skills or commands elsewhere, such as ~/.claude/skills.",
)


_skills = click.option(
    "--skill",
    "chosen",
    multiple=True,
    type=SKILLS,
    help="Only this skill: writing packs, or running them. May be repeated.",
)


@command(
    "show",
    data="skill",
    reads_config=False,
    examples=(
        "oraclepack skills show codex",
        "oraclepack skills show claude --skill oracle-run",
    ),
)
@click.argument("agent", type=NAMES)
@click.option(
    "--skill",
    default="oracle-pack",
    type=SKILLS,
    help="Writing packs, or running them  [default: oracle-pack]",
)
def show(agent: str, skill: str) -> Reply:
    """Print the skill of an agent as it would be installed."""
    skill_text = ProjectSkills().show(agent, skill)
    return Reply(data=skill_text, text=skill_text.text)


@command(
    "install",
    data="skills-install-report",
    changes="one file for each agent and skill",
    settings=(run_settings.ROLLBACK_ON_FAILURE,),
    exit_codes=(ExitCode.STEP_FAILED,),
    rollback_available=True,
    examples=(
        "oraclepack skills install codex claude",
        "oraclepack skills install gemini --dir ~/.gemini/commands",
    ),
)
@click.argument("agents", type=NAMES, nargs=-1, required=True)
@_directory
@_skills
@click.option("--force", is_flag=True, help="Replace also a copy that was changed.")
def install(
    agents: tuple[str, ...],
    directory: str,
    chosen: tuple[str, ...],
    *,
    force: bool,
    settings: Settings,
) -> Reply:
    """Write the skills of agents into the project.

    Codex reads .agents/skills, the Gemini CLI .gemini/commands, Claude .claude/skills.
    """
    report = ProjectSkills(settings.root).install(
        agents,
        directory,
        skills=chosen,
        force=force,
        rollback_on_failure=settings[run_settings.ROLLBACK_ON_FAILURE],
    )
    if not report.ok:
        return partial_failure(report, "not every skill was installed")
    rows = [
        (skill.agent, skill.skill, "written" if skill.written else "unchanged", skill.path)
        for skill in report.skills
    ]
    text = columns(("agent", "skill", "result", "path"), rows)
    return Reply(data=report, text=text, warnings=rollback_notice(report))


@command(
    "check",
    data="skills-check",
    examples=(
        "oraclepack skills check",
        "oraclepack skills check claude --dir ~/.claude/skills",
    ),
)
@click.argument("agents", type=NAMES, nargs=-1)
@_directory
@_skills
def check(
    agents: tuple[str, ...], directory: str, chosen: tuple[str, ...], *, settings: Settings
) -> Reply:
    """Find copies of the skills that are stale or edited.

    Those of all agents, unless some are named. Exit code 2 when there are any. A skill that is
    not installed is no fault.
    """
    report = ProjectSkills(settings.root).check(directory, agents, chosen)
    rows = [
        (skill.agent, skill.skill, skill.state.value, skill.version or "-", skill.path)
        for skill in report.skills
    ]
    text = columns(("agent", "skill", "state", "made by", "path"), rows)
    if not report.outdated:
        return Reply(data=report, text=text)
    words = [
        *dict.fromkeys(skill.agent for skill in report.outdated),
        *(["--dir", directory] if directory else []),
    ]
    failure = ReplyError(
        "OUTDATED_SKILL",
        f"stale or edited: {', '.join(skill.path for skill in report.outdated)}",
        suggestion=f"oraclepack skills install {shlex.join(words)} (with --force to drop edits)",
    )
    return Reply(data=report, text=text, exit_code=ExitCode.INVALID, error=failure)
