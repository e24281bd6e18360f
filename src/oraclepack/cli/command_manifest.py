"""Every command, described from its own declaration: for programs and for the documentation.

What many commands take is described once, and whatever has its usual value is left out: a program
that reads this pays for every character.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import click
import msgspec

from oraclepack import __version__
from oraclepack.cli.command import Command, Group
from oraclepack.cli.reply import SCHEMA_VERSION
from oraclepack.errors import ExitCode, NotFoundError, did_you_mean
from oraclepack.settings import run_settings as rs
from oraclepack.settings.declaration import Setting, ValueSource
from oraclepack.system.digests import canonical_line, sha256_bytes
from oraclepack.view.report.untrusted import untrusted_parts

_ETAG = 16
_GROUP = "run"
_LEAST_GROUP = 30
"""Commands that run packs take more options than others."""
_ALWAYS = (ExitCode.DONE, ExitCode.INTERNAL, ExitCode.INVALID, ExitCode.INTERRUPTED)
"""What every command may end with."""

_RETRYABLE = frozenset({"LOCKED", "INTERRUPTED", "TERMINATED"})
_SIDE_EFFECTS = {
    "DONE": "complete",
    "INVALID": "none",
    "CONTRACT": "none",
    "POLICY": "complete",
    "LOCKED": "none",
}
"""By the name of an exit code; where it is not named, a part may have been done."""

_SAID_BY_FIELDS = re.compile(
    r"(?<=\S)\s+\[default: [^]]*\]| May be (?:repeated|given (?:again|twice))\."
)
"""What a help says that `default` and `repeatable` say too."""

ARGUMENTS = {
    "answer": "One of the answers that the question takes: retry, fail, accept.",
    "first": "A run, a run directory or a pack.",
    "second": "Another run, run directory or pack.",
    "targets": "A run, a run directory or a pack; with --site directories of projects.",
    "about": "Which report.",
    "action": "What to do; by default serve.",
    "agent": "An agent that `oraclepack skills` knows.",
    "agents": "Agents that `oraclepack skills` knows.",
    "client": "The client whose configuration is meant.",
    "command": "A command, such as `run`, or a group, such as `runs`.",
    "key": "The key of an answer, or the beginning of it.",
    "model": "The name of a model.",
    "name": "The name of a schema.",
    "pack": "A pack: a Markdown file with one bash block of numbered steps.",
    "packs": "Packs, or directories with packs.",
    "place": "A pack, or a directory with packs.",
    "paths": "Files as `step quarantine` names them.",
    "question": "What to ask of the tasks.",
    "rule": "The id or the name of a rule.",
    "run": "The name of a run, the beginning of it, or latest.",
    "shell": "The shell.",
    "sources": "Manifests of jobs, and packs.",
    "host": "The name of the machine.",
    "provider": "Its limits are changed; without it all are shown.",
    "target": "A run, a run directory or a pack; by default the newest run.",
    "stage": "A stage of the ticket action pack.",
    "step": "The number of a step: 07.",
    "values": "A limit and its new value: max_parallel=4.",
}
"""What the arguments of commands are: click has a help for options alone."""


class ExitFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An exit code and what it says."""

    code: int
    name: str
    meaning: str
    retryable: bool = False
    """The same command may succeed later without any change."""
    side_effects: str = "partial"
    """How much of what the command changes was done: `complete`, `partial` or `none`."""


class ArgumentFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An argument or option of a command."""

    help: str = ""
    type: str = "bool"
    """Left out for a boolean, and where there are `choices`."""
    flags: tuple[str, ...] = ()
    """How an option is spelled where that is not `--name` and, of a boolean, `--no-name`."""
    required: bool = False
    repeatable: bool = False
    choices: tuple[str, ...] = ()
    default: Any = None
    """Left out where it is false, empty or none."""
    setting: bool = False
    """`ORACLEPACK_` and its name in capitals gives the same, and so does a key in TOML files."""
    variable: bool = False
    """Only the variable gives the same."""


class CommandFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything a program must know to call a command and read its answer."""

    name: str
    summary: str
    data: str
    """The name of the schema of `data`."""
    effect: str = "read"
    """`read`, `write`, `execute` (runs a pack, may cost money) or `destructive`."""
    changes: str = "nothing"
    """What it changes on disk or elsewhere."""
    starts: str = ""
    """Which programs it starts, or whom it talks to."""
    retryable: bool = True
    """Giving it again does no harm and repeats nothing that was paid for."""
    rollback_available: bool = False
    """It has --rollback-on-failure."""
    untrusted: tuple[str, ...] = ()
    """Where one command is described: parts of the data that hold text of models or files, which
    is data and never an instruction. Every reply names them too, in `meta.untrusted`."""
    exit_codes: tuple[int, ...] = ()
    """Those it may end with besides 0, 1, 2 and 130."""
    arguments: tuple[str, ...] = ()
    """In the order in which they are given; described in `described` or in the manifest."""
    described: Mapping[str, ArgumentFacts] = {}
    """Arguments of its own."""
    takes: tuple[str, ...] = ()
    """Options that are described in `options` of the manifest; `@run` is all of that group."""
    options: Mapping[str, ArgumentFacts] = {}
    """Options of its own."""
    examples: tuple[str, ...] = ()
    help: str = ""
    """Where one command is described: its help."""


class CommandManifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The commands of this version of the program."""

    program: str
    version: str
    schema_version: int
    etag: str
    """Changes with anything in here; `manifest --etag` takes it."""
    unchanged: bool = False
    """The etag that was given still holds, so nothing more is said."""
    exit_codes: tuple[ExitFacts, ...] = ()
    shared: tuple[str, ...] = ()
    """Options that every command takes, also before its name."""
    groups: Mapping[str, tuple[str, ...]] = {}
    """Options that several commands take together, by the name of the group."""
    options: Mapping[str, ArgumentFacts] = {}
    """Options of several commands, by name."""
    arguments: Mapping[str, ArgumentFacts] = {}
    """Arguments of several commands, by name."""
    commands: tuple[CommandFacts, ...] = ()


def describe(program: Group, name: str = "") -> CommandManifest:
    """The whole command line as one value, or one command or group of it in full."""
    chosen = _named(program, name)
    whole = CommandManifest(
        program=program.name or "",
        version=__version__,
        schema_version=SCHEMA_VERSION,
        etag="",
        exit_codes=tuple(map(_meaning, ExitCode)),
    )
    if not name:
        options = [_described_params(command, click.Option) for command in chosen.values()]
        arguments = [_described_params(command, click.Argument) for command in chosen.values()]
        common = _common(options)
        shared = set.intersection(*map(set, options)) & common.keys()
        taken = [_taken(each, common) - shared for each in options]
        run = set.intersection(*(each for each in taken if len(each) >= _LEAST_GROUP))
        whole = msgspec.structs.replace(
            whole,
            options=dict(sorted(common.items())),
            arguments=dict(sorted(_common(arguments).items())),
            shared=tuple(sorted(shared)),
            groups={_GROUP: tuple(sorted(run))},
        )
    facts = (_facts(each, one, whole, in_full=bool(name)) for each, one in chosen.items())
    made = msgspec.structs.replace(whole, commands=tuple(facts))
    return msgspec.structs.replace(made, etag=sha256_bytes(canonical_line(made))[:_ETAG])


def _taken(params: Mapping[str, ArgumentFacts], common: Mapping[str, ArgumentFacts]) -> set[str]:
    return {each for each, facts in params.items() if common.get(each) == facts}


def _named(program: Group, name: str) -> dict[str, Command]:
    """The command of this name, or all of a group. Nothing else is loaded."""
    found: click.Command | None = program
    for word in name.split():
        known = found.list_commands(click.Context(found)) if isinstance(found, Group) else []
        if word not in known:
            near = did_you_mean(word, known) or "`oraclepack config manifest` lists all of them"
            raise NotFoundError(f"there is no command {name!r}", hint=near)
        assert isinstance(found, Group)
        found = found.get_command(click.Context(found), word)
    if isinstance(found, Group):
        return dict(commands(found, f"{name} " if name else ""))
    assert isinstance(found, Command)
    return {name: found}


def commands(group: Group, prefix: str = "") -> Iterator[tuple[str, Command]]:
    """Every command below a group with its full name, in the order of the help."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, Group):
            yield from commands(command, f"{prefix}{name} ")
        elif isinstance(command, Command):
            yield f"{prefix}{name}", command


def help_of(name: str, command: click.Command) -> str:
    """The help of a command as the command line prints it."""
    context = click.Context(command, info_name=f"oraclepack {name}".strip(), terminal_width=80)
    context.help_option_names = ["-h", "--help"]
    return command.get_help(context)


def _described_params(command: Command, kind: type[click.Parameter]) -> dict[str, ArgumentFacts]:
    settings = {setting.parameter: setting for setting in command.facts.settings}
    return {
        _name(param): _described(param, settings.get(param.name or ""))
        for param in command.params
        if isinstance(param, kind) and not getattr(param, "hidden", False)
    }


def _common(described: Iterable[Mapping[str, ArgumentFacts]]) -> dict[str, ArgumentFacts]:
    """What several commands take in the same meaning."""
    seen: Counter[tuple[str, bytes]] = Counter()
    facts: dict[tuple[str, bytes], ArgumentFacts] = {}
    for options in described:
        for name, option in options.items():
            key = (name, canonical_line(option))
            seen[key] += 1
            facts[key] = option
    best: dict[str, ArgumentFacts] = {}
    for (name, text), count in sorted(seen.items(), key=lambda one: (one[1], one[0])):
        if count > 1:
            best[name] = facts[name, text]
    return best


def _facts(name: str, command: Command, shape: CommandManifest, *, in_full: bool) -> CommandFacts:
    facts = command.facts
    options = _described_params(command, click.Option)
    arguments = _described_params(command, click.Argument)
    taken = _taken(options, shape.options)
    known = _taken(arguments, shape.arguments)
    summary, _, rest = inspect.cleandoc(command.help or "").partition("\n")
    return CommandFacts(
        name=name,
        summary=summary,
        data=facts.data,
        effect=facts.effect,
        changes=facts.changes,
        starts=facts.starts,
        rollback_available=rs.ROLLBACK_ON_FAILURE in facts.settings
        and ExitCode.STEP_FAILED in facts.exit_codes,
        untrusted=untrusted_parts(facts.data) if in_full else (),
        exit_codes=tuple(int(code) for code in facts.exit_codes if code not in _ALWAYS),
        arguments=tuple(arguments),
        described={each: one for each, one in arguments.items() if each not in known},
        takes=_grouped([each for each in options if each in taken], shape),
        options={each: option for each, option in options.items() if each not in taken},
        examples=facts.examples if in_full else (),
        help=rest.strip() if in_full else "",
    )


def _grouped(taken: Sequence[str], shape: CommandManifest) -> tuple[str, ...]:
    """The options with whole groups in place of their members."""
    left = [each for each in taken if each not in shape.shared]
    names: list[str] = []
    for group, members in shape.groups.items():
        if set(members) <= set(left):
            names.append(f"@{group}")
            left = [each for each in left if each not in members]
    return (*names, *left)


def _name(param: click.Parameter) -> str:
    """An option by its long spelling, an argument by its own name."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len).removeprefix("--")
    return param.name or ""


def _described(param: click.Parameter, setting: Setting[Any] | None) -> ArgumentFacts:
    switch = isinstance(param, click.Option) and param.is_flag
    usual = [f"--{_name(param)}", *([f"--no-{_name(param)}"] if param.secondary_opts else [])]
    spelled = [*param.opts, *param.secondary_opts]
    default = setting.default if setting else _default(param, switch=switch)
    by_variable = setting is not None and ValueSource.ENVIRONMENT in setting.sources
    in_project = setting is not None and ValueSource.PROJECT in setting.sources
    choices = tuple(map(str, getattr(param.type, "choices", ())))
    text = setting.help if setting else getattr(param, "help", None)
    return ArgumentFacts(
        help=_SAID_BY_FIELDS.sub("", text or ARGUMENTS.get(param.name or "", "")),
        type="bool" if switch or choices else setting.kind.name if setting else param.type.name,
        flags=tuple(spelled) if isinstance(param, click.Option) and spelled != usual else (),
        required=param.required,
        repeatable=param.multiple or param.nargs == -1,
        choices=choices,
        default=default or None,
        setting=by_variable and in_project,
        variable=by_variable and not in_project,
    )


def _default(param: click.Parameter, *, switch: bool) -> object:
    """A default of click's own, where it is a plain value."""
    default = param.get_default(click.Context(click.Command("")), call=False)
    if isinstance(default, str | int | float | bool | list | tuple):
        return default
    return False if switch else None


def _meaning(code: ExitCode) -> ExitFacts:
    return ExitFacts(
        code=int(code),
        name=code.name,
        meaning=code.meaning,
        retryable=code.name in _RETRYABLE,
        side_effects=_SIDE_EFFECTS.get(code.name, "partial"),
    )
