"""The options of a long command in groups, in the order in which people look for them.

Used by commands with so many options that one list would not fit two screens. A switch is shown as
`--[no-]name`. A text that would wrap is cut to its first clause, and rarely used settings are only
named; `docs/settings.md` has all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

import click

MANY = 30
"""A command with more options than this shows them in groups."""

_ADVANCED = "Advanced"
_WIDEST = 29
"""Columns of the names; a longer name takes a line of its own."""
_LINE = 55
"""Characters of a text that fit beside the names."""

_GROUPS: dict[str, tuple[str, ...]] = {
    "Selection": (
        *("steps", "rerun", "resume_from", "run_id", "new_run", "resume", "dry_run"),
        *("engine", "refresh", "cache"),
    ),
    "Limits": (
        *("max_parallel", "keep_going", "max_cost", "max_calls", "max_tokens", "step_timeout"),
    ),
    "Verification": ("validate", "strict", "output_verify", "min_completion", "min_yield"),
    "Output": (
        *("out_dir", "exports", "per", "allow_rehearsal", "junit", "github", "output", "json"),
        *("fields", "jq", "reply_file", "quiet", "display", "ci"),
    ),
}
_RARE = (
    *(
        "allow_dirty_rerun",
        "allow_unseen_calls",
        "call_timeout",
        "chatgpt_url",
        "color",
        "confirm_above",
    ),
    *("idle_timeout", "json_log", "legacy_files", "login", "on_unknown", "on_unknown_price"),
    *("oracle_bin", "output_chunk_mode", "output_contract", "output_require_headings"),
    *("output_retries", "retry_base_seconds", "retry_budget", "roi_mode", "roi_threshold"),
    *("stop_on_fail", "tui"),
)
"""Settings that stay the same for most users: named at the end, without their texts."""


def write_groups(
    options: Sequence[click.Option], ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a command in their groups; those of no group are advanced."""
    for heading, members in _grouped(options):
        rows = [row for option in members if (row := _row(option, ctx)) is not None]
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows, col_max=_WIDEST)
    names = ", ".join(_names(option) for option in options if option.name in _RARE)
    with formatter.section("More settings, explained in docs/settings.md"):
        for line in wrap(names, formatter.width - 2, break_on_hyphens=False):
            formatter.write(f"  {line}\n")


def _grouped(options: Sequence[click.Option]) -> Iterator[tuple[str, list[click.Option]]]:
    by_name = {option.name: option for option in options if option.name not in _RARE}
    for heading, names in _GROUPS.items():
        yield heading, [by_name.pop(name) for name in names if name in by_name]
    yield _ADVANCED, list(by_name.values())


def _row(option: click.Option, ctx: click.Context) -> tuple[str, str] | None:
    record = option.get_help_record(ctx)
    if record is None:
        return None
    names, text = record
    return _names(option) if option.secondary_opts else names, _short(text)


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
