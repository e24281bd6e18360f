"""Options made from settings, those that pick a run, and how the help shows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from oraclepack.cli.value_completion import rule_list
from oraclepack.errors import UsageError, did_you_mean
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings import value_kinds as kinds
from oraclepack.settings.declaration import Setting
from oraclepack.settings.registry import (
    BY_NAME,
    COLOR,
    CWD,
    LINT_IGNORE,
    LINT_SELECT,
    OUTPUT,
    SettingValue,
)

SHARED: tuple[Setting[Any], ...] = (CWD, OUTPUT, COLOR, rs.QUIET)
"""What every command takes, beside `--json`, `--jq` and `-o`; the root help names them."""

JSON_FLAG = "--json"
JQ_FLAG = "--jq"
_LOGS = (rs.CI, rs.JSON_LOG)
_OF_RULES = (LINT_SELECT, LINT_IGNORE)


def option_for(setting: Setting[Any]) -> click.Option:
    """The option of a setting. It has no default of its own: not given means not given."""
    names = [*filter(None, [setting.short]), setting.flag, setting.parameter]
    names += [setting.former_flag] if setting.former_flag else []
    match setting.kind:
        case kinds.Bool():
            names[0] = f"{setting.flag}/{setting.off_flag}"
            return click.Option(names, default=None, help=setting.help)
        case kinds.Choice(choices=choices, former=former):
            taken = FormerChoice(choices, dict(former)) if former else click.Choice(choices)
            return click.Option(names, type=taken, help=_with_default(setting))
        case kinds.Names():
            text = f"{setting.help} May be repeated."
            offer = rule_list if setting in _OF_RULES else None
            return click.Option(
                names, multiple=True, metavar="WORDS", help=text, shell_complete=offer
            )
        case kinds.Texts():
            text = f"{setting.help} May be repeated."
            return click.Option(names, multiple=True, metavar="TEXT", help=text)
        case kinds.Path():
            metavar = "DIR" if setting.flag.endswith(("dir", "cwd")) else "FILE"
            return click.Option(names, type=click.Path(), metavar=metavar, help=setting.help)
        case kind_of_value:
            name = kind_of_value.name.upper()
            return click.Option(names, metavar=name, help=_with_default(setting))


class FormerChoice(click.Choice[str]):
    """A choice that also takes earlier words, which it does not offer."""

    def __init__(self, choices: Sequence[str], former: Mapping[str, str]) -> None:
        super().__init__(choices)
        self._former = former

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return super().convert(self._former.get(value, value), param, ctx)


def shared_options() -> list[click.Parameter]:
    """What every command takes beside the shared settings."""
    return [
        click.Option([JSON_FLAG], is_flag=True, help="Print one JSON envelope."),
        click.Option([JQ_FLAG], metavar="PROGRAM", help="Apply a jq program to the JSON envelope."),
        click.Option(
            ["-o", "assignments"],
            metavar="NAME=VALUE",
            multiple=True,
            help="Set any setting; `oraclepack config show` lists them. May be repeated.",
        ),
    ]


def _assigned(words: Iterable[str], settings: Iterable[Setting[Any]]) -> dict[str, SettingValue]:
    """What `-o` says: a setting by its name or, as in the Go tool, the directory of answers."""
    given: dict[str, SettingValue] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if equals and name in BY_NAME:
            given[name] = SettingValue(value, f"-o {name}")
        elif not equals and rs.OUT_DIR in settings:
            given[rs.OUT_DIR.name] = SettingValue(word, "-o")
        else:
            hint = did_you_mean(name, BY_NAME) or "`oraclepack config show` lists the settings"
            raise UsageError(f"-o takes NAME=VALUE of a setting, not {word!r}", hint=hint)
    return given


def given_flags(
    params: dict[str, Any], settings: Sequence[Setting[Any]]
) -> dict[str, SettingValue]:
    """Take the settings out of a command's parameters: only those that were given."""
    given = _assigned(params.pop("assignments", ()), settings)
    for setting in settings:
        value = params.pop(setting.parameter, None)
        if value is not None and value != ():
            flag = setting.off_flag if value is False else setting.flag
            given[setting.name] = SettingValue(value, flag)
    if params.pop("json", False):
        if given.get(OUTPUT.name, SettingValue("json", "")).value != "json":
            raise UsageError("--json and --output with another value contradict each other")
        given[OUTPUT.name] = SettingValue("json", JSON_FLAG)
    return given


def settle_booleans(params: Sequence[click.Parameter], args: Sequence[str]) -> list[str]:
    """Rewrite `--flag=true|false|…` as the bare flag it means.

    Click knows `--flag` and `--no-flag`; with a value it would either refuse or
    swallow the next word.
    """
    switches, takers, doubled = _switches(params), _takers(params), _doubled(params)
    settled: list[str] = []
    rest = iter(args)
    for word in rest:
        if word == "--":
            settled += [word, *rest]
            break
        name, equals, value = word.partition("=")
        name = doubled.get(name, name)
        if equals and name in switches:
            settled.append(_switch(name, value, switches[name]))
            continue
        settled.append(f"{name}{equals}{value}")
        if word in takers:
            settled += [value for value in [next(rest, None)] if value is not None]
    return settled


_OF_GO = (cs.ORACLE_BIN, rs.OUT_DIR)
_BEFORE = frozenset({JSON_FLAG, rs.QUIET.flag, rs.TUI.flag, rs.TUI.off_flag})
_BEFORE_WITH_VALUE = frozenset(
    {*(one.flag for one in (CWD, OUTPUT, COLOR, *_OF_GO)), "-o", JQ_FLAG}
)
"""What may be given before the command: what every command takes, and the Go tool's root flags."""


def shared_options_last(args: Sequence[str]) -> list[str]:
    """The words with the options before the command moved behind it: `--json runs list`."""
    moved: list[str] = []
    rest = list(args)
    while rest and rest[0].startswith("-"):
        name, equals, _ = rest[0].partition("=")
        count = 2 if name in _BEFORE_WITH_VALUE and not equals else 1
        if name not in _BEFORE | _BEFORE_WITH_VALUE:
            break
        moved += rest[:count]
        del rest[:count]
    if not rest:
        return []
    end = rest.index("--") if "--" in rest else len(rest)
    return [*rest[:end], *moved, *rest[end:]]


def asks_for_json(args: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Whether an answer must be JSON, judged before anything is parsed.

    A wrong flag is reported while parsing, when the settings are not known yet.
    """
    words = list(args[: args.index("--")] if "--" in args else args)
    last: bool | None = None
    for word, following in zip(words, [*words[1:], ""][: len(words)], strict=True):
        name, equals, value = word.partition("=")
        if name == JSON_FLAG:
            last = kinds.BOOLEANS.get(value.lower(), True) if equals else True
        elif name in {OUTPUT.flag, "--format"}:
            last = (value if equals else following) in {"json", "jsonl"}
        elif name == JQ_FLAG:
            return True
    return variables.get(OUTPUT.variable) in {"json", "jsonl"} if last is None else last


def asks_for_log(args: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Whether stderr must be JSON lines, judged before anything is parsed."""
    words = args[: args.index("--")] if "--" in args else args
    flags = {one.flag for one in _LOGS}
    given = [value for name, _, value in (word.partition("=") for word in words) if name in flags]
    given += [variables[one.variable] for one in _LOGS if one.variable in variables]
    text = " ".join(words).replace("=", " ")
    return "--log json" in text or any(
        kinds.BOOLEANS.get(value.lower(), not value) for value in given
    )


def _with_default(setting: Setting[Any]) -> str:
    return f"{setting.help}  [default: {setting.default}]"


def _switches(params: Sequence[click.Parameter]) -> dict[str, str]:
    """Each spelling of a boolean option, and the spelling of its opposite."""
    switches: dict[str, str] = {}
    for param in params:
        if isinstance(param, click.Option) and param.is_flag and param.is_bool_flag:
            opposite = param.secondary_opts[0] if param.secondary_opts else ""
            switches |= dict.fromkeys(param.opts, opposite)
            switches |= dict.fromkeys(param.secondary_opts, param.opts[0])
    return switches


def _doubled(params: Sequence[click.Parameter]) -> dict[str, str]:
    """`--no-no-tui`, as some flags were once spelled, and the flag that says the same."""
    return {
        f"--no-{negative.removeprefix('--')}": param.opts[0]
        for param in params
        if isinstance(param, click.Option)
        for negative in param.secondary_opts
    }


def _takers(params: Sequence[click.Parameter]) -> set[str]:
    """The options that take the next word as their value."""
    return {
        spelling
        for param in params
        if isinstance(param, click.Option) and not param.is_flag and not param.count
        for spelling in param.opts
    }


def _switch(name: str, value: str, opposite: str) -> str:
    if value.lower() not in kinds.BOOLEANS:
        raise UsageError(f"{name}: must be one of {', '.join(kinds.BOOLEANS)}, not {value!r}")
    if kinds.BOOLEANS[value.lower()]:
        return name
    if not opposite:
        raise UsageError(f"{name} cannot be switched off; leave it out")
    return opposite


MANY = 30
"""A command with more options than this shows them in groups."""

_WIDEST = 29
"""Columns of the names; a longer name takes a line of its own."""
_LINE = 55
"""Characters of a text that fit beside the names."""

_SHARED = frozenset({"json", "jq", "cwd", "quiet", "color", "output", "help", "assignments"})

_GROUPS: dict[str, tuple[str, ...]] = {
    "Question": ("prompt", "attached", "model", "answer_file", "preflight"),
    "Selection": (
        *("steps", "rerun", "run_id", "new_run", "dry_run", "form", "engine"),
        *("refresh", "existing"),
    ),
    "Limits": ("max_parallel", "keep_going", "max_cost", "max_calls", "step_timeout"),
    "Verification": ("strict", "output_verify", "min_completion", "min_yield"),
    "Output": ("out_dir", "exports", "junit", "page", "display", "ci"),
    "Control": (*("yes", "detach", "wait_for", "rollback_on_failure", "oracle_flag"),),
}

_SETTINGS = """\
  -o NAME=VALUE                  Set any setting of `oraclepack config show`.
"""


def visible_options(options: Sequence[click.Option]) -> dict[str, tuple[click.Option, ...]]:
    """The options that the help shows, by group; a command with few has one group."""
    shown = {
        option.name: option
        for option in options
        if not option.hidden and option.name not in _SHARED
    }
    if len(shown) <= MANY:
        return {"Options": tuple(shown.values())} if shown else {}
    groups = {
        heading: tuple(shown[name] for name in members if name in shown)
        for heading, members in _GROUPS.items()
    }
    return {heading: members for heading, members in groups.items() if members}


def write_options(
    options: Sequence[click.Option], ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a command, in groups where there are many."""
    groups = visible_options(options)
    for heading, members in groups.items():
        with formatter.section(heading):
            formatter.write_dl([_row(option, ctx) for option in members], col_max=_WIDEST)
    if len(groups) > 1:
        with formatter.section("Everything else"):
            formatter.write(_SETTINGS)


def _row(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    names, text = option.get_help_record(ctx) or ("", "")
    if option.secondary_opts:
        names = _names(option)
    elif len(names) > _WIDEST:
        names = f"{_names(option)} NAME"
    return names, _short_text(text)


def _names(option: click.Option) -> str:
    """An option without its value; a switch with both of its names."""
    positive = option.opts[0]
    if option.secondary_opts == [f"--no-{positive.removeprefix('--')}"]:
        return f"--[no-]{positive.removeprefix('--')}"
    return " / ".join([positive, *option.secondary_opts])


def _short_text(text: str) -> str:
    """The text of an option on one line where possible: its first clause and its default."""
    clauses, _, default = text.partition("  [default: ")
    default = default.rstrip("]").removesuffix(".0")
    ending = f" (default: {default})" if default not in {"", "0", "None"} else ""
    if len(clauses) + len(ending) > _LINE:
        clauses = f"{clauses.partition('; ')[0].rstrip('.')}."
    return f"{clauses}{ending}"
