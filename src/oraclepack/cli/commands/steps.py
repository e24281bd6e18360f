"""`step` and `cache`: what became of steps and of their questions."""

from __future__ import annotations

import re
from pathlib import Path
from shlex import quote

import click

from oraclepack.calls.cache import CacheRow, CallExplanation
from oraclepack.cli.command import Group, command, option, paged
from oraclepack.cli.reply import Reply
from oraclepack.cli.text import SHORT, before_rerun, call_line, columns, differing, size, some_of
from oraclepack.cli.value_completion import pack_files, run_ids, step_of_run
from oraclepack.cli.value_completion import step_id as complete_step
from oraclepack.errors import ExitCode, UsageError
from oraclepack.pack.pack_files import read_pack
from oraclepack.run import cache_queries, quarantine
from oraclepack.run.accept import AcceptReport, accept_outputs
from oraclepack.run.explain_steps import explain_step
from oraclepack.run.quarantine import QuarantineEntry
from oraclepack.run.undo import undo_step
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import Settings
from oraclepack.settings.value_kinds import Duration, flag_value
from oraclepack.system.paging import page
from oraclepack.system.printable import one_line, quantity, single_lines

step = Group("step", "Explain, accept, undo and restore steps.")


@command(
    "why",
    group=step,
    data="why-report",
    settings=(cs.ENGINE,),
    examples=("oraclepack step why pack.md 07", "oraclepack step why pack.md 07 --json"),
)
@click.argument("pack", shell_complete=pack_files)
@click.argument("step", metavar="NN", shell_complete=complete_step)
def why(pack: str, step: str, settings: Settings) -> Reply:
    """Explain why a step ran, was skipped, or would run.

    For each call of its last attempt: whether it was asked or answered from the cache, and in
    which parts its question differs from the one asked before.
    """
    why_text, reasons = explain_step(pack, step, settings)
    printable = single_lines(reasons)
    lines = [f"{one_line(why_text)}\n", f"run {printable.run_id}: {printable.run_reason}\n"]
    lines.append(f"status {printable.status}, attempts {printable.attempts}\n")
    if printable.error:
        lines.append(f"last error {printable.error}: {printable.message}\n")
    if printable.error and printable.changed_files:
        lines.append(f"it changed {some_of(printable.changed_files)}\n")
        lines.append(f"{before_rerun(pack, printable.step_id)}\n")
    if printable.recorded_hash not in {None, printable.command_hash}:
        lines.append(f"commands {printable.recorded_hash} then, {printable.command_hash} now\n")
    lines += [call_line(call) + differing(call) for call in printable.calls]
    if printable.compared_run is not None:
        changed = "differs in:" if printable.changes else "asks the same, as far as its text shows"
        lines.append(f"from run {printable.compared_run} of this pack it {changed}\n")
        lines += [f"  call {one.call}: {one.change}\n" for one in printable.changes]
    return Reply(reasons, "".join(lines))


@command(
    "accept",
    group=step,
    data="accept-report",
    settings=(rs.OUTPUT_REQUIRE_HEADINGS, rs.OUTPUT_CHUNK_MODE, rs.OUTPUT_CONTRACT),
    changes="the run's journal, and its copy of the output",
    exit_codes=(ExitCode.LOCKED,),
    examples=(
        'oraclepack step accept pack.md 03 --reason "no risks, and that is right"',
        "oraclepack step accept pack.md 03 --file out/03-risks-unknowns.md",
    ),
)
@click.argument("pack", shell_complete=pack_files)
@click.argument("step", metavar="NN", shell_complete=complete_step)
@option("--reason TEXT", "Why; kept in the journal.")
@option("--file PATH", "Which output, where several could be meant.", name="outputs", many=True)
@option("--run-id ID", "Of this run (see `oraclepack runs list`).", complete=run_ids)
def accept(
    pack: str,
    step: str,
    reason: str,
    outputs: tuple[str, ...],
    run_id: str,
    settings: Settings,
) -> Reply:
    """Take an answer that misses its contract, or an edited one, as it is.

    The file at its path becomes the recorded output; what was recorded before is kept in the run
    directory. The step is ok and shown as accepted, and its question is not asked again. Other runs
    of the project take it for the same question, with a note that it was accepted; it does not
    enter the cache. A missing or empty file and a
    rehearsal are never accepted.
    """
    report = accept_outputs(
        pack, step, settings, reason=reason, outputs=outputs, run_id=run_id or None
    )
    return Reply(report, _accepted(report), next=f"oraclepack run {quote(pack)}")


def _accepted(report: AcceptReport) -> str:
    lines = [f"{one.line}\n" for one in report.outputs]
    lines += [f"{one.line}\n" for one in report.failures]
    return "".join((*lines, f"step {report.step_id} is {report.status}\n"))


@command(
    "undo",
    group=step,
    data="undo-report",
    changes="the files the step changed",
    effect="destructive",
    exit_codes=(ExitCode.LOCKED,),
    examples=("oraclepack step undo pack.md 10",),
)
@click.argument("pack", shell_complete=pack_files)
@click.argument("step", metavar="NN", shell_complete=complete_step)
@option("--run-id ID", "Of this run (see `oraclepack runs list`).", complete=run_ids)
def undo(pack: str, step: str, run_id: str, settings: Settings) -> Reply:
    """Take back what a step changed in the work tree.

    Applies the step's recorded patch in reverse. Refuses when the files have changed since, so
    your own work is never touched. An undo that was cut off is finished by the next one.
    """
    undone = undo_step(pack, step, settings, run_id or None)
    listed = "".join(f"  {path}\n" for path in single_lines(undone).files)
    text = f"taken back, step {undone.step_id}:\n{listed}"
    return Reply(undone, text, next=f"oraclepack run {quote(pack)}")


@command(
    "quarantine",
    group=step,
    data="quarantine",
    examples=("oraclepack step quarantine", "oraclepack step quarantine pack.md --json"),
)
@click.argument("pack", required=False, shell_complete=pack_files)
@paged
def list_entries(
    pack: str | None, limit: int | None, cursor: str | None, settings: Settings
) -> Reply:
    """List the outputs of failed attempts.

    With PACK only those of its runs.
    """
    every = quarantine.list_quarantine(Path(settings.root), read_pack(Path(pack)) if pack else None)
    entries = page(every, "files", lambda file: file.path, limit, cursor)
    if not every.files:
        return Reply(entries, talk="nothing is in quarantine\n")
    heads = ("step", "attempt", "came from", "size", "now there", "why", "path")
    return Reply(entries, columns(heads, map(_quarantine_row, entries.files)))


@command(
    "restore",
    group=step,
    data="quarantine-restore-report",
    changes="moves the named files back; with --force, moves files in their place to quarantine",
    exit_codes=(ExitCode.LOCKED,),
    examples=(
        "oraclepack step restore docs/out/_failed/2026-03-01__abc1234__55555555/step-03/1",
        "oraclepack step restore --force docs/out/_failed/2026-03-01__abc1234__55555555",
    ),
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@option("--force", "Swap with a file that is at the original path now.")
def restore(paths: tuple[str, ...], settings: Settings, *, force: bool) -> Reply:
    """Bring files back to where they came from.

    PATH is a file in quarantine, or a directory of it: everything below comes back. Either all
    can be restored, or nothing is touched.
    """
    done, warnings = quarantine.restore_files(Path(settings.root), paths, force=force)
    text = "".join(f"{move.source} -> {move.target}\n" for move in single_lines(done).moves)
    return Reply(done, text, warnings=warnings)


def _quarantine_row(entry: QuarantineEntry) -> tuple[str, ...]:
    there = "a file" if entry.occupied else "-"
    bytes_now = size(entry.bytes)
    return (entry.step_id, entry.attempt, entry.original, bytes_now, there, entry.cause, entry.path)


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)i?b?", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}

cache = Group("cache", "List, explain and remove cached answers.")


@command("list", group=cache, data="cache-list", examples=("oraclepack cache list",))
@paged
def list_all(limit: int | None, cursor: str | None, settings: Settings) -> Reply:
    """List the cached answers, the newest first.

    An answer that was edited is listed as changed; it is asked for again. A foreign one is not
    signed with your key: it is never served, unless you take it over with `oraclepack runs trust`.
    """
    every = cache_queries.list_cache(Path(settings.root))
    entries = page(every, "entries", lambda entry: entry.key, limit, cursor)
    if not every.entries:
        return Reply(entries, talk=f"the cache of {settings.root} is empty\n")
    heads = ("key", "stored", "bytes", "step", "files", "model", "state", "output")
    return Reply(entries, columns(heads, map(_cache_row, entries.entries)))


@command("show", group=cache, data="cache-details", examples=("oraclepack cache show 3f1a9c",))
@click.argument("key", metavar="KEY")
def show(key: str, settings: Settings) -> Reply:
    """Show a cached answer and what was asked.

    KEY may be the beginning of a key, if no other begins so.
    """
    stored = cache_queries.show_cached(Path(settings.root), key)
    entry = single_lines(stored.entry)
    head = f"key {entry.key} ({stored.state}), stored {entry.stored_at}\n"
    return Reply(stored, f"{head}{_parts(entry.parts)}\n{stored.answer}")


@command(
    "explain",
    group=cache,
    data="cache-explanation",
    examples=("oraclepack cache explain 07", "oraclepack cache explain 07 --run-id 2026-03"),
)
@click.argument("step", metavar="NN", shell_complete=step_of_run)
@option(
    "--run-id RUN",
    "The run to look at (or the beginning of its name), not the last.",
    complete=run_ids,
)
def explain(step: str, run_id: str, settings: Settings) -> Reply:
    """Explain why a step's calls were or were not cached.

    For each call: what its key is made of and, where the cache has no answer, in which parts
    it differs from the question most like it.
    """
    explanation = cache_queries.explain_step(Path(settings.root), step.zfill(2), run_id or None)
    text = "\n".join(map(_call, single_lines(explanation).calls)) or "it made no call of oracle\n"
    return Reply(explanation, f"step {explanation.step} in {explanation.run_id}\n{text}")


@command(
    "prune",
    group=cache,
    data="cache-prune-report",
    changes="the cache",
    effect="destructive",
    examples=(
        "oraclepack cache prune --older-than 30d",
        "oraclepack cache prune --max-size 200MB --dry-run",
    ),
)
@option("--older-than DURATION", "Remove answers that are older.")
@option("--max-size SIZE", "Remove the oldest until the rest fits.")
@option("--dry-run", "Only list what would be removed.")
def prune_old(older_than: str, max_size: str, *, dry_run: bool, settings: Settings) -> Reply:
    """Remove cached answers by age or by total size.

    A question whose answer was removed is paid for again when it is asked again. Foreign answers
    stay.
    """
    if not (older_than or max_size):
        raise UsageError("nothing to go by", hint="give --older-than, --max-size or both")
    report = cache_queries.prune(
        Path(settings.root),
        older_than=flag_value(Duration(), older_than, "--older-than") if older_than else None,
        max_size=_bytes(max_size) if max_size else None,
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


def _cache_row(row: CacheRow) -> tuple[str, ...]:
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
