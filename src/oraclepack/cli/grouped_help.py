"""The options of a long command in groups, in the order in which people look for them.

Used by commands with so many options that one list would not fit two screens. A switch is shown as
`--[no-]name`. A text that would wrap is cut to its first clause, and rarely used options are only
named.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

import click

from oraclepack import api

MANY = 30
"""A command with more options than this shows them in groups."""

_WIDEST = 29
"""Columns of the names; a longer name takes a line of its own."""
_LINE = 55
"""Characters of a text that fit beside the names."""

_GROUPS: dict[str, tuple[str, ...]] = {
    "Selection": (
        *("steps", "rerun", "resume_from", "run_id", "new_run", "dry_run", "engine"),
        *("refresh", "existing"),
    ),
    "Limits": ("max_parallel", "keep_going", "max_cost", "max_calls", "step_timeout"),
    "Verification": ("strict", "output_verify", "min_completion", "min_yield"),
    "Output": ("out_dir", "exports", "json", "jq", "quiet", "ci"),
    "Advanced": (*("yes", "detach", "rollback_on_failure", "oracle_flag", "cwd"),),
}
"""Every other option is rare: a setting that few change, or one that is named after them."""


def write_groups(
    options: Sequence[click.Option], ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a command in their groups, then the names of the others."""
    shown = {option.name: option for option in options if not option.hidden}
    for heading, members in _GROUPS.items():
        rows = [_row(shown.pop(name), ctx) for name in members if name in shown]
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows, col_max=_WIDEST)
    parameters = {setting.parameter for setting in api.BY_NAME.values()}
    settings = [name for name in shown if name in parameters]
    names = ", ".join(_names(option) for name, option in shown.items() if name not in settings)
    rest = f"{names}, and {len(settings)} settings of docs/settings.md"
    with formatter.section("Rarer (`oraclepack manifest COMMAND` describes all)"):
        for line in wrap(rest, formatter.width - 2, break_on_hyphens=False):
            formatter.write(f"  {line}\n")


def _row(option: click.Option, ctx: click.Context) -> tuple[str, str]:
    names, text = option.get_help_record(ctx) or ("", "")
    if option.secondary_opts:
        names = _names(option)
    elif len(names) > _WIDEST:
        names = f"{_names(option)} NAME"
    return names, _short(text)


def _names(option: click.Option) -> str:
    """An option without its value; a switch with both of its names."""
    positive = option.opts[0]
    if option.secondary_opts == [f"--no-{positive.removeprefix('--')}"]:
        return f"--[no-]{positive.removeprefix('--')}"
    return " / ".join([positive, *option.secondary_opts])


def _short(text: str) -> str:
    """The text of an option on one line where possible: its first clause and its default."""
    clauses, _, default = text.partition("  [default: ")
    default = default.rstrip("]").removesuffix(".0")
    ending = f" (default: {default})" if default not in {"", "0", "None"} else ""
    if len(clauses) + len(ending) > _LINE:
        clauses = f"{clauses.partition('; ')[0].rstrip('.')}."
    return f"{clauses}{ending}"
