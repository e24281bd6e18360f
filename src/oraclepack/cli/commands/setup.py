"""`doctor`, `skills` and `mcp`: the machine and its coding agents."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import click

from oraclepack.authoring import skills as prompts
from oraclepack.authoring.skills import AGENTS, SKILLS
from oraclepack.cli.command import Group, command, option
from oraclepack.cli.reply import Reply, ReplyError, Styled, partial_failure, rollback_notice
from oraclepack.cli.text import columns
from oraclepack.doctor import Health, ProgramCheck, ProviderKey, examine_machine
from oraclepack.errors import ExitCode, MachineError, UsageError
from oraclepack.settings import call_settings, run_settings
from oraclepack.settings.loading import own_variables
from oraclepack.settings.registry import Settings
from oraclepack.system.printable import single_lines


@command(
    "doctor",
    data="doctor",
    changes="nothing",
    starts="installed programs, to ask for their versions",
    settings=(call_settings.ORACLE_BIN,),
    examples=("oraclepack doctor", "oraclepack doctor --json"),
)
def doctor(*, settings: Settings) -> Reply:
    """Check what is installed and what would not work.

    Asks each program for its version and times a login shell. Exit code 2 when bash is missing:
    nothing can be run without it; or when --oracle-bin, or its variable or user setting, names
    no program. Every other program is optional.
    """
    health = examine_machine(settings)
    named = ("oracle",) if settings[call_settings.ORACLE_BIN] else ()
    missing = [one for one in health.programs if one.name in named and one.path is None]
    if health.usable and not missing:
        text = _health_text(single_lines(health))
        return Reply(data=health, text=text, next="oraclepack new docs/pack.md")
    failure = ReplyError("ENVIRONMENT", "bash is missing", suggestion="install bash 4 or newer")
    if health.usable:
        failure = ReplyError("USAGE", missing[0].problem, suggestion="name a program by its path")
    return Reply(
        data=health,
        text=_health_text(single_lines(health)),
        exit_code=ExitCode.INVALID,
        error=failure,
    )


def _health_text(health: Health) -> tuple[str | Styled, ...]:
    pieces: list[str | Styled] = [f"oraclepack {health.oraclepack}, Python {health.python}\n"]
    for check in health.programs:
        pieces += _lines(check)
    pieces += _keys(health.keys)
    shell = health.login_shell
    if shell is not None:
        pieces.append(f"bash -lc true: {shell.login_ms} ms, bash -c true: {shell.plain_ms} ms\n")
        pieces += [f"  {shell.advice}\n"] if shell.advice else []
    if health.lacks_space:
        pieces += [Styled("disk   ", "yellow"), f" {health.lacks_space}; `run` asks nothing\n"]
    for skill in health.skills:
        fix = "" if skill.state == "current" else " (see `oraclepack skills check`)"
        pieces.append(f"skill for {skill.agent}: {skill.path} is {skill.state}{fix}\n")
    return tuple(pieces)


def _keys(keys: Sequence[ProviderKey]) -> list[str | Styled]:
    found = [f"{one.provider} ({one.found})" for one in keys if one.found]
    lacking = [f"{one.provider} ({one.variables[0]})" for one in keys if not one.found]
    pieces: list[str | Styled] = []
    if found:
        pieces += [Styled("ok     ", "green"), f" keys, not tried: {', '.join(found)}\n"]
    if lacking:
        pieces += [Styled("no key ", "yellow"), f" {', '.join(lacking)}\n"]
    if not found:
        pieces.append(
            "          without one: oracle asks through Chrome and your ChatGPT login\n"
            "          fix: echo 'export OPENAI_API_KEY=…' >> ~/.bash_profile\n"
        )
    return pieces


def _lines(check: ProgramCheck) -> list[str | Styled]:
    if check.status == "ok":
        text = f" {check.name} {check.version} ({check.path})\n"
        return [Styled("ok     ", "green"), text]
    what = f" {check.name} {check.version or ''}".rstrip()
    return [
        Styled(f"{check.status.value:<7}", "yellow"),
        f"{what}: {check.problem}\n",
        f"          without it: {check.without}\n          fix: {check.fix}\n",
    ]


_AGENT = click.Choice(tuple(AGENTS))
_SKILL = click.Choice(tuple(SKILLS))

skills = Group("skills", "The prompts for agents that write packs and run them.")

_directory = option(
    "--dir DIR",
    "A directory of skills or commands elsewhere, such as ~/.claude/skills.",
    name="directory",
)


_skills = option(
    "--skill",
    "Only this skill: writing packs, or running them.",
    name="chosen",
    many=True,
    type=_SKILL,
)


@command(
    "show",
    group=skills,
    data="skill",
    reads_config=False,
    examples=(
        "oraclepack skills show codex",
        "oraclepack skills show claude --skill oracle-run",
    ),
)
@click.argument("agent", type=_AGENT)
@option(
    "--skill",
    "Writing packs, or running them",
    default="oracle-pack",
    type=_SKILL,
)
def show(agent: str, skill: str) -> Reply:
    """Print the skill of an agent as it would be installed."""
    skill_text = prompts.show(agent, skill)
    return Reply(data=skill_text, text=skill_text.text)


@command(
    "install",
    group=skills,
    data="skills-install-report",
    changes="one file for each agent and skill",
    settings=(run_settings.ROLLBACK_ON_FAILURE,),
    exit_codes=(ExitCode.STEP_FAILED,),
    examples=(
        "oraclepack skills install codex claude",
        "oraclepack skills install gemini --dir ~/.gemini/commands",
    ),
)
@click.argument("agents", type=_AGENT, nargs=-1, required=True)
@_directory
@_skills
@option("--force", "Replace also a copy that was changed.")
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
    report = prompts.install(
        Path(settings.root),
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
    group=skills,
    data="skills-check",
    examples=(
        "oraclepack skills check",
        "oraclepack skills check claude --dir ~/.claude/skills",
    ),
)
@click.argument("agents", type=_AGENT, nargs=-1)
@_directory
@_skills
def check(
    agents: tuple[str, ...], directory: str, chosen: tuple[str, ...], *, settings: Settings
) -> Reply:
    """Find copies of the skills that are stale or edited.

    Those of all agents, unless some are named. Exit code 2 when there are any. A skill that is
    not installed is no fault.
    """
    report = prompts.check(Path(settings.root), directory, agents, chosen)
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


_NO_SERVER = (
    "the package mcp is not installed, so clients cannot start the server;"
    ' pip install "oraclepack[mcp]"'
)
_AT_A_TERMINAL = (
    "waiting for a client on standard input; `oraclepack mcp install CLIENT` sets one up,"
    " Ctrl-C stops this"
)
CLIENTS = ("claude-code", "claude-desktop", "codex", "gemini-cli", "cursor", "vscode")


@command(
    "mcp",
    data="mcp-install",
    changes="what the tools change that clients call; with install the file of the client",
    effect="execute",
    starts="with --allow-run the runs that clients ask for and users approve",
    examples=(
        "oraclepack mcp --root .",
        "oraclepack mcp --allow-run --root . --root ../other",
        "oraclepack mcp --transport http --port 8765",
        "oraclepack mcp install claude-code --print",
    ),
)
@click.argument("action", type=click.Choice(("serve", "install")), default="serve")
@click.argument("client", type=click.Choice(CLIENTS), required=False)
@option("--transport stdio|http|streamable-http", "How to connect.", default="stdio")
@option(
    "--root DIR",
    "A project that clients may use (default: the current directory).",
    name="roots",
    many=True,
)
@option("--allow-run", "Let clients run packs, each after approval.")
@option("--host NAME", "With http: where to listen.", default="127.0.0.1")
@option("--port N", "With http: the port.", default=8765, least=1, most=65535)
@option("--print", "With install: only print the entry.", name="prints")
def mcp(
    action: str,
    client: str | None,
    *,
    roots: tuple[str, ...],
    settings: Settings,
    **options: object,
) -> Reply:
    """Serve coding agents by the Model Context Protocol.

    Clients may use the projects below --root and nothing outside. They validate, plan, read
    answers and work; they run packs only with --allow-run (or ORACLEPACK_ENABLE_EXEC=1), and each
    run needs the user's approval in the client, or the token of a plan. Runs outlive the server.
    Over http clients must send a bearer token: that of ORACLEPACK_MCP_TOKEN, else one that is made
    once, kept in your state directory and printed on stderr. Beyond this machine the server listens
    only with a token of that variable. `mcp install CLIENT` puts the server into the configuration
    of a client.
    """
    if action == "install":
        return _install(client, Path(roots[0] if roots else settings.root), options)
    try:
        from oraclepack.mcp import services, transports
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in {"mcp", "mcp_types", "anyio", "uvicorn"}:
            raise
        raise MachineError(
            "the package mcp is not installed", hint='pip install "oraclepack[mcp]"'
        ) from None
    variables = own_variables()
    made = services.services_of(roots, allow_run=bool(options["allow_run"]), variables=variables)
    if options["transport"] == "stdio":
        if sys.stdin is not None and sys.stdin.isatty():
            click.echo(_AT_A_TERMINAL, err=True)
        transports.serve_stdio(made)
    else:
        given = variables.get(transports.BEARER_VARIABLE, "")
        host, port = str(options["host"]), options["port"]
        assert isinstance(port, int)
        token, notice = transports.bearer_token(host, given)
        listener = transports.listen(host, port)
        name = f"[{host}]" if ":" in host else host
        click.echo(f"listening at http://{name}:{port}/mcp; Ctrl-C stops it", err=True)
        click.echo(notice, err=True)
        transports.serve_http(made, listener, host, token)
    return Reply(bare="")


def _install(client: str | None, root: Path, options: dict[str, object]) -> Reply:
    if client is None:
        raise UsageError("install needs the name of a client", hint=", ".join(CLIENTS))
    from oraclepack.mcp.clients import install

    missing = () if find_spec("mcp") else (_NO_SERVER,)
    prints = bool(options["prints"])
    done = install(client, root.absolute(), allow_run=bool(options["allow_run"]), prints=prints)
    if prints:
        talk = f"# belongs in {done.path}\n"
        return Reply(done, done.entry, talk=talk, warnings=missing)
    word = "written" if done.changed else "unchanged"
    return Reply(done, f"{done.path} {word}\n", warnings=missing)
