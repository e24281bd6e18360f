"""Options of the command line, made from the declarations of the settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click

from oraclepack import api
from oraclepack.api import call_settings as cs
from oraclepack.api import run_settings as rs
from oraclepack.api import value_kinds as kinds
from oraclepack.cli.value_completion import rule_list
from oraclepack.errors import UsageError

SHARED: tuple[api.Setting[Any], ...] = (api.CWD, api.OUTPUT, api.COLOR)
"""What every command takes."""

JSON_FLAG = "--json"
_LOGS = (rs.CI, rs.JSON_LOG)
_OF_RULES = (api.LINT_SELECT, api.LINT_IGNORE)


def option_for(setting: api.Setting[Any]) -> click.Option:
    """The option of a setting. It has no default of its own: not given means not given."""
    names = [*filter(None, [setting.short]), setting.flag, setting.parameter]
    match setting.kind:
        case kinds.Bool():
            names[0] = f"{setting.flag}/{setting.off_flag}"
            return click.Option(names, default=None, help=setting.help)
        case kinds.Choice(choices=choices):
            return click.Option(names, type=click.Choice(choices), help=_with_default(setting))
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


def json_option() -> click.Option:
    return click.Option([JSON_FLAG], is_flag=True, help="Short for --output json.")


def given_flags(
    params: dict[str, Any], settings: Iterable[api.Setting[Any]]
) -> dict[str, api.SettingValue]:
    """Take the settings out of a command's parameters: only those that were given."""
    given: dict[str, api.SettingValue] = {}
    for setting in settings:
        value = params.pop(setting.parameter, None)
        if value is not None and value != ():
            flag = setting.off_flag if value is False else setting.flag
            given[setting.name] = api.SettingValue(value, flag)
    if params.pop("json", False):
        if given.get(api.OUTPUT.name, api.SettingValue("json", "")).value != "json":
            raise UsageError("--json and --output with another value contradict each other")
        given[api.OUTPUT.name] = api.SettingValue("json", JSON_FLAG)
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
_BEFORE = frozenset({JSON_FLAG, rs.TUI.flag, rs.TUI.off_flag})
_BEFORE_WITH_VALUE = frozenset(
    {*(one.flag for one in (*SHARED, *_OF_GO)), rs.OUT_DIR.short, "--fields", "--jq"}
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
        elif name in {api.OUTPUT.flag, "--format"}:
            last = (value if equals else following) in {"json", "jsonl"}
        elif name in {"--fields", "--jq"}:
            return True
    return variables.get(api.OUTPUT.variable) in {"json", "jsonl"} if last is None else last


def asks_for_log(args: Sequence[str], variables: Mapping[str, str]) -> bool:
    """Whether stderr must be JSON lines, judged before anything is parsed."""
    words = args[: args.index("--")] if "--" in args else args
    flags = {one.flag for one in _LOGS}
    given = [value for name, _, value in (word.partition("=") for word in words) if name in flags]
    given += [variables[one.variable] for one in _LOGS if one.variable in variables]
    return any(kinds.BOOLEANS.get(value.lower(), not value) for value in given)


def _with_default(setting: api.Setting[Any]) -> str:
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
