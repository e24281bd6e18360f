"""What a command is: options and settings in, a reply out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from oraclepack.cli.options import (
    SHARED,
    given_flags,
    option_for,
    settle_booleans,
    shared_options,
    write_options,
)
from oraclepack.cli.reply import Reply
from oraclepack.cli.value_completion import Offer
from oraclepack.errors import ExitCode, UsageError, did_you_mean
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.declaration import Setting
from oraclepack.settings.loading import load_settings
from oraclepack.settings.project_rules import SettingScope
from oraclepack.settings.registry import BY_NAME, COLOR, OUTPUT, Settings
from oraclepack.system.jq_filter import JqFilter, jq_filter
from oraclepack.system.printable import visible
from oraclepack.system.terminal import ask, can_ask

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class CommandLine(msgspec.Struct):
    """The parsed command line, as far as the error boundary needs it."""

    command: str = ""
    wants_json: bool = False
    wants_lines: bool = False
    """JSON in lines: events first, the envelope last."""
    logs_json: bool = False
    """Stderr is JSON lines only."""
    is_quiet: bool = False
    color: str = "auto"
    runs_something: bool = False
    warnings: tuple[str, ...] = ()
    phase: str = "arguments"
    argv: tuple[str, ...] = ()
    """The words of the command line, as they were given."""
    jq: JqFilter | None = None
    """Applied to the whole envelope."""
    root: str = ""
    """The project root, once it is known."""
    untrusted: tuple[str, ...] = ()
    """The parts of the data that hold text from outside."""
    run_id: str | None = None
    """The run that the reply is about."""
    data: str = ""
    """The schema of the command's data."""


ASKING = (
    ExitCode.STEP_FAILED,
    ExitCode.LOCKED,
    ExitCode.BUDGET,
    ExitCode.DECISION,
    ExitCode.TERMINATED,
)
"""How a command may end that asks models."""


class CommandInfo(msgspec.Struct, frozen=True):
    """The facts of a command for programs and for the documentation."""

    changes: str
    """What it changes on disk; `nothing` for most."""
    data: str
    """The schema of its `data`."""
    exit_codes: tuple[ExitCode, ...]
    settings: tuple[Setting[Any], ...]
    reads_config: bool
    examples: tuple[str, ...]
    effect: str = "read"
    """`read`, `write`, `execute` or `destructive`."""
    starts: str = ""
    """Which programs it starts, or which servers it contacts."""


class AnsweredError(Exception):
    """`--help` or `--version` was given: this is the answer."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class _ReplyCommand(click.Command):
    """A command whose help is an answer like any other, and whose booleans take `=true`."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        option = super().get_help_option(ctx)
        if option is not None:
            option.callback = _is_help_request
        return option

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not isinstance(self, click.Group):
            ctx.ensure_object(CommandLine).command = ctx.command_path.partition(" ")[2]
            args = settle_booleans(self.params, args)
        try:
            return super().parse_args(ctx, list(args))
        except click.UsageError as first:
            if isinstance(self, click.Group) or ctx.resilient_parsing:
                raise
            raise all_faults(self, ctx, args, first) from None


class Command(_ReplyCommand):
    """A command with everything a program needs to know about it."""

    def __init__(self, *args: Any, facts: CommandInfo, **kwargs: Any) -> None:
        kwargs["context_settings"] = CONTEXT
        super().__init__(*args, **kwargs)
        self.facts = facts

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        write_options(options, ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        with formatter.section("Examples"):
            for example in self.facts.examples:
                formatter.write(f"  {example}\n")


class Group(_ReplyCommand, click.Group):
    """A group of commands, in the order in which they were made."""

    def __init__(self, name: str, summary: str, **kwargs: Any) -> None:
        kwargs |= {"context_settings": CONTEXT, "no_args_is_help": False, "help": summary}
        super().__init__(name, **kwargs)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def summaries(self) -> dict[str, str]:
        """The first line of the help of each command."""
        return {name: _summary(command) for name, command in self.commands.items()}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        is_wrong = args[0] not in known and not args[0].startswith("-")
        if is_wrong and not ctx.resilient_parsing:
            hint = did_you_mean(args[0], known) or f"see {ctx.command_path} --help"
            raise UnknownCommandError(f"No such command {args[0]!r}.", ctx, hint)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        from click.shell_completion import CompletionItem as Item

        named = [
            Item(name, help=summary)
            for name, summary in self.summaries().items()
            if name.startswith(incomplete)
        ]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries().items()))


def _summary(command: click.Command) -> str:
    return (command.help or "").partition("\n")[0]


class UnknownCommandError(click.UsageError):
    """The command line names a command that does not exist."""

    def __init__(self, message: str, ctx: click.Context, hint: str) -> None:
        super().__init__(message, ctx)
        self.hint = hint


def option(
    spec: str,
    text: str,
    *,
    name: str = "",
    many: bool = False,
    least: int | None = None,
    most: int | None = None,
    complete: Offer | None = None,
    **attributes: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option: its spellings and what it takes, as in `-f --file PATH` or `--format html|md`.

    Without a word that it takes it is a switch. A text that is not given is empty.
    """
    spellings = [word for word in spec.split() if word.startswith("-")]
    takes = spec.removeprefix(" ".join(spellings)).strip()
    if not (takes or "type" in attributes):
        attributes["is_flag"] = True
    elif takes.islower() and "|" in takes:
        attributes["type"] = click.Choice(takes.split("|"))
    elif least is not None:
        attributes |= {"type": click.IntRange(least, most), "metavar": takes}
    elif "type" not in attributes:
        attributes = {"default": None if many or attributes.get("required") else ""} | attributes
        attributes["metavar"] = takes
    if attributes.get("default"):
        attributes["show_default"] = True
    return click.option(
        *spellings,
        *filter(None, [name]),
        help=f"{text} May be repeated." if many else text,
        multiple=many,
        shell_complete=complete,
        **attributes,
    )


def command(  # noqa: PLR0913 - each is a fact about the command, given by name
    name: str,
    *,
    examples: Sequence[str],
    data: str,
    group: Group | None = None,
    changes: str = "nothing",
    settings: Sequence[Setting[Any]] = (),
    exit_codes: Sequence[ExitCode] = (),
    reads_config: bool = True,
    effect: str = "",
    starts: str = "",
) -> Callable[[Callable[..., Reply]], Command]:
    """Make a function a command: parameters in, a reply out.

    A parameter `settings` receives the resolved settings.
    Parameters named `pack` or `packs` decide to which project the settings belong.
    Without an `effect` a command that changes something is one that writes.
    """
    codes = {ExitCode.DONE, ExitCode.INTERNAL, ExitCode.INVALID, ExitCode.INTERRUPTED}
    facts = CommandInfo(
        changes=changes,
        data=data,
        exit_codes=tuple(sorted(codes | set(exit_codes))),
        settings=tuple(dict.fromkeys((*settings, *SHARED))),
        reads_config=reads_config,
        examples=tuple(examples),
        effect=effect or ("read" if changes == "nothing" else "write"),
        starts=starts,
    )

    def wrap(function: Callable[..., Reply]) -> Command:
        params: list[click.Parameter] = list(reversed(getattr(function, "__click_params__", [])))
        params += [option_for(setting) for setting in facts.settings]
        params += shared_options()
        made = Command(
            name,
            callback=_answering(function, facts),
            params=params,
            help=function.__doc__,
            facts=facts,
        )
        if group is not None:
            group.add_command(made)
        return made

    return wrap


def _answering(function: Callable[..., Reply], facts: CommandInfo) -> Callable[..., Reply]:
    takes_settings = "settings" in function.__annotations__

    def answer(**params: Any) -> Reply:  # the parameters that the command declared
        request = click.get_current_context().ensure_object(CommandLine)
        request.runs_something = facts.effect == "execute"
        request.data = facts.data
        request.phase = "arguments"
        program = params.pop("jq", None)
        request.jq = None if program is None else jq_filter(program)
        request.wants_json = request.wants_json or request.jq is not None
        request.phase = "settings"
        flags = given_flags(params, facts.settings)
        settings = load_settings(_pack_path(params), flags, reads_config=facts.reads_config)
        _adopt(request, settings, facts)
        request.phase = "work"
        return function(**(params | {"settings": settings} if takes_settings else params))

    return answer


def command_words() -> tuple[str, ...]:
    """The command line that is being answered."""
    return click.get_current_context().ensure_object(CommandLine).argv


def _adopt(request: CommandLine, settings: Settings, facts: CommandInfo) -> None:
    request.wants_json = settings[OUTPUT] != "text" or request.jq is not None
    request.wants_lines = settings[OUTPUT] == "jsonl"
    request.logs_json = rs.JSON_LOG in facts.settings and logs_json(settings)
    request.root = settings.root
    request.color = settings[COLOR]
    request.is_quiet = settings[rs.QUIET]
    ignored = (one.message for one in settings.ignored if _concerns(facts, BY_NAME[one.name]))
    request.warnings = (*settings.warnings, *ignored)


def logs_json(settings: Settings) -> bool:
    """Whether stderr is JSON lines; --log with another kind wins over --ci and --json-log."""
    if settings[rs.DISPLAY] == "auto":
        return settings[rs.JSON_LOG] or settings[rs.CI]
    return settings[rs.DISPLAY] == "json"


def _concerns(facts: CommandInfo, setting: Setting[Any]) -> bool:
    """Whether an ignored value of a project is worth a warning.

    It is where the command uses the setting, or where only a user may set it.
    """
    if setting.project.scope is SettingScope.USER_ONLY:
        return True
    makes_calls = cs.ENGINE in facts.settings
    return setting in facts.settings or (makes_calls and setting in cs.PROVIDER_SETTINGS)


def _pack_path(params: Mapping[str, Any]) -> str | None:
    packs = params.get("packs") or ()
    first = params.get("pack") or (packs[0] if packs else None)
    return None if first is None else str(first)


def _is_help_request(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        text = ctx.get_help()
        raise AnsweredError(Reply({"help": text}, text))


def agree(about: str, question: str, *, is_agreed: bool) -> None:
    """Ask the person at the terminal, unless the answer was given; raises where it is not yes."""
    if is_agreed:
        return
    if not can_ask():
        raise UsageError(
            "there is no terminal to ask whether it is yours",
            hint="--yes takes it over without asking",
            detail=about,
        )
    if not ask(f"{visible(about)}{question}", lambda _: True):
        raise UsageError("nothing was taken over")


def paged(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command that lists something `--limit` and `--cursor`."""
    limit = option("--limit N", "Print at most N; see --cursor.", least=1)
    cursor = option(
        "--cursor NAME", "Continue after `next_cursor` of the page before.", default=None
    )
    return limit(cursor(function))


_MOST_ROUNDS = 20
"""Unknown options that are looked for; the rest is noticed the next time."""


class ArgumentsError(click.UsageError):
    """Several things are wrong with the arguments."""

    def __init__(self, faults: Sequence[click.UsageError], ctx: click.Context) -> None:
        super().__init__(f"{len(faults)} arguments cannot be used", ctx)
        self.lines = tuple(map(_line, faults))


def all_faults(
    command: click.Command, ctx: click.Context, args: Sequence[str], first: click.UsageError
) -> click.UsageError:
    """Click stops at the first fault; this goes through the arguments once more for the others."""
    faults = list(_faults(command, ctx, list(args)))
    if len(faults) < 2:
        return first
    return ArgumentsError(faults, ctx)


def _faults(
    command: click.Command, ctx: click.Context, args: list[str]
) -> Iterator[click.UsageError]:
    fresh = click.Context(command, parent=ctx.parent, info_name=ctx.info_name)
    for _ in range(_MOST_ROUNDS):
        try:
            values, rest, _order = command.make_parser(fresh).parse_args(list(args))
        except click.NoSuchOption as unknown:
            yield unknown
            left = [word for word in args if word.partition("=")[0] != unknown.option_name]
            if len(left) == len(args):
                return
            args = left
        except click.UsageError as fault:
            yield fault
            return
        else:
            break
    else:
        return
    for param in command.get_params(fresh):
        if param.is_eager:
            continue
        try:
            _, rest = param.handle_parse_result(fresh, values, rest)
        except click.UsageError as fault:
            yield fault
    if rest:
        yield click.UsageError(f"Got unexpected extra argument{'s' * (len(rest) > 1)} "
                               f"({' '.join(rest)})", ctx)  # fmt: skip


def _line(fault: click.UsageError) -> str:
    if isinstance(fault, click.NoSuchOption):
        hint = did_you_mean(fault.option_name, fault.possibilities or ())
        return f"{fault.message}{f' ({hint})' if hint else ''}"
    return " ".join(fault.format_message().split())
