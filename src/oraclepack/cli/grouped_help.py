"""The options of a command in its help: those that people look for, in groups where they are many.

What every command takes is named once, in the root help. Of a command that runs packs only the
options of `_GROUPS` are shown; all others are settings, which `-o NAME=VALUE`, a variable or a
config file gives. Their flags work, and `oraclepack config manifest COMMAND` describes them. A
switch is shown as `--[no-]name`, and a text that would wrap is cut to its first clause.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

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
