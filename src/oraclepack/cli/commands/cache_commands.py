"""`cache`: look at and trim the answers that need not be asked for again."""

from __future__ import annotations

import re

import click

from oraclepack.calls.cache import CacheRow, CallExplanation
from oraclepack.cli.command import Group, LazyCommand, command, paged
from oraclepack.cli.reply import Reply
from oraclepack.cli.text import SHORT, call_line, columns, differing, size
from oraclepack.cli.value_completion import run_ids, step_of_run
from oraclepack.errors import UsageError
from oraclepack.run.project_records import ProjectCache
from oraclepack.settings import value_kinds
from oraclepack.settings.registry import Settings
from oraclepack.system.paging import page
from oraclepack.system.printable import quantity, single_lines

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)i?b?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}

cache = Group(
    "cache",
    entries={
        "list": LazyCommand(f"{__name__}:list_all", "List the cached answers, the newest first."),
        "show": LazyCommand(f"{__name__}:show", "Show a cached answer and what was asked."),
        "explain": LazyCommand(
            f"{__name__}:explain", "Explain why a step's calls were or were not cached."
        ),
        "prune": LazyCommand(
            f"{__name__}:prune_old", "Remove cached answers by age or by total size."
        ),
    },
    help="List, explain and remove cached answers.",
)


@command("list", data="cache-list", examples=("oraclepack cache list",))
@paged
def list_all(limit: int | None, cursor: str | None, settings: Settings) -> Reply:
    """List the cached answers, the newest first.

    An answer that was edited is listed as changed; it is asked for again. A foreign one is not
    signed with your key: it is never served, unless you take it over with `oraclepack runs trust`.
    """
    every = ProjectCache(settings.root).list()
    entries = page(every, "entries", lambda entry: entry.key, limit, cursor)
    if not every.entries:
        return Reply(entries, talk=f"the cache of {settings.root} is empty\n")
    heads = ("key", "stored", "bytes", "step", "files", "model", "state", "output")
    return Reply(entries, columns(heads, map(_row, entries.entries)))


@command("show", data="cache-details", examples=("oraclepack cache show 3f1a9c",))
@click.argument("key", metavar="KEY")
def show(key: str, settings: Settings) -> Reply:
    """Show a cached answer and what was asked.

    KEY may be the beginning of a key, if no other begins so.
    """
    stored = ProjectCache(settings.root).show(key)
    entry = single_lines(stored.entry)
    head = f"key {entry.key} ({stored.state}), stored {entry.stored_at}\n"
    return Reply(stored, f"{head}{_parts(entry.parts)}\n{stored.answer}")


@command(
    "explain",
    data="cache-explanation",
    examples=("oraclepack cache explain 07", "oraclepack cache explain 07 --run-id 2026-03"),
)
@click.argument("step", metavar="NN", shell_complete=step_of_run)
@click.option(
    "--run-id",
    help="The run to look at (or the beginning of its name), not the last.",
    shell_complete=run_ids,
)
def explain(step: str, run_id: str | None, settings: Settings) -> Reply:
    """Explain why a step's calls were or were not cached.

    For each call: what its key is made of and, where the cache has no answer, in which parts
    it differs from the question most like it.
    """
    explanation = ProjectCache(settings.root).explain(step, run_id)
    text = "\n".join(map(_call, single_lines(explanation).calls)) or "it made no call of oracle\n"
    return Reply(explanation, f"step {explanation.step} in {explanation.run_id}\n{text}")


@command(
    "prune",
    data="cache-prune-report",
    changes="the cache",
    effect="destructive",
    examples=(
        "oraclepack cache prune --older-than 30d",
        "oraclepack cache prune --max-size 200MB --dry-run",
    ),
)
@click.option("--older-than", metavar="DURATION", help="Remove answers that are older.")
@click.option("--max-size", metavar="SIZE", help="Remove the oldest until the rest fits.")
@click.option("--dry-run", is_flag=True, help="Only list what would be removed.")
def prune_old(
    older_than: str | None, max_size: str | None, *, dry_run: bool, settings: Settings
) -> Reply:
    """Remove cached answers by age or by total size.

    A question whose answer was removed is paid for again when it is asked again. Foreign answers
    stay.
    """
    if older_than is None and max_size is None:
        raise UsageError("nothing to go by", hint="give --older-than, --max-size or both")
    report = ProjectCache(settings.root).prune(
        older_than=None
        if older_than is None
        else value_kinds.seconds_of(older_than, "--older-than"),
        max_size=None if max_size is None else _bytes(max_size),
        dry_run=dry_run,
    )
    done, rest = ("would remove", "would keep") if dry_run else ("removed", "kept")
    listed = "".join(f"{key}\n" for key in report.removed) if dry_run else ""
    count = f"{quantity(len(report.removed), 'answer')}, {size(report.bytes)}"
    text = f"{listed}{done} {count}; {rest} {report.kept}\n"
    if report.foreign:
        text += f"{report.foreign} of them are foreign, and not removed\n"
    return Reply(report, text)


def _bytes(text: str) -> int:
    """`500`, `20k`, `1.5MB`, `2GiB` → bytes; a thousand is a thousand."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"--max-size: must be a size like 500k, 20MB or 1GB, not {text!r}")
    return int(float(match[1]) * _FACTORS[match[2].lower()])


def _row(row: CacheRow) -> tuple[str, ...]:
    return (
        row.key[:SHORT],
        row.stored_at[:16].replace("T", " "),
        str(row.bytes),
        row.step or "-",
        str(row.files),
        row.model or "-",
        row.state,
        row.output_path or "-",
    )


def _parts(parts: dict[str, str]) -> str:
    return "".join(f"  {name}: {value}\n" for name, value in sorted(parts.items()))


def _call(call: CallExplanation) -> str:
    head = call_line(call)
    return head if call.reason else f"{head}{_parts(call.parts)}{differing(call)}"
