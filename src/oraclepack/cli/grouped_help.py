"""The options of a long command in groups, in the order in which people look for them.

Used by commands with so many options that one list would not fit two screens. A switch is shown as
`--[no-]name`. A text that would wrap is cut to its first clause; `docs/settings.md` has all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

MANY = 30
"""A command with more options than this shows them in groups."""

_ADVANCED = "Advanced"
_WIDEST = 29
"""Columns of the names; a longer name takes a line of its own."""
_LINE = 65
"""Characters of a text that fit beside the names."""

_GROUPS: dict[str, tuple[str, ...]] = {
    "Selection": (
        *("steps", "rerun", "resume_from", "run_id", "new_run", "resume", "run_all"),
        *("roi_threshold", "roi_mode", "dry_run", "engine", "refresh", "cache"),
    ),
    "Limits": (
        *("max_parallel", "keep_going", "stop_on_fail", "max_cost", "max_calls", "max_tokens"),
        *("on_unknown_price", "step_timeout", "idle_timeout", "call_timeout", "retry_budget"),
    ),
    "Verification": (
        *("validate", "strict", "output_verify", "output_require_headings", "output_chunk_mode"),
        *("output_contract", "output_retries", "min_completion", "min_yield"),
    ),
    "Output": (
        *("out_dir", "exports", "per", "allow_rehearsal", "junit", "github", "output", "json"),
        *("fields", "jq", "out", "color", "quiet", "tui", "json_log", "ci", "legacy_files"),
    ),
}


def write_groups(
    options: Sequence[click.Option], ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a command in their groups; those of no group are advanced."""
    for heading, members in _grouped(options):
        rows = [row for option in members if (row := _row(option, ctx)) is not None]
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows, col_max=_WIDEST)
    formatter.write("\nEvery setting in full: docs/settings.md.\n")


def _grouped(options: Sequence[click.Option]) -> Iterator[tuple[str, list[click.Option]]]:
    by_name = {option.name: option for option in options}
    for heading, names in _GROUPS.items():
        yield heading, [by_name.pop(name) for name in names if name in by_name]
    yield _ADVANCED, list(by_name.values())


def _row(option: click.Option, ctx: click.Context) -> tuple[str, str] | None:
    record = option.get_help_record(ctx)
    if record is None:
        return None
    names, text = record
    positive = option.opts[0].removeprefix("--")
    if option.secondary_opts == [f"--no-{positive}"]:
        names = f"--[no-]{positive}"
    return names, _short(text)


def _short(text: str) -> str:
    """The text of an option on one line where possible: its first clause and its default."""
    clauses, _, default = text.partition("  [default: ")
    default = default.rstrip("]").removesuffix(".0")
    ending = f" (default: {default})" if default not in {"", "0", "None"} else ""
    if len(clauses) + len(ending) > _LINE:
        clauses = f"{clauses.partition('; ')[0].rstrip('.')}."
    return f"{clauses}{ending}"
