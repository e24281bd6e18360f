"""Queries of the cache: its entries, why a question was not found, and pruning."""

import functools
import os
from datetime import timedelta
from pathlib import Path

from oraclepack.calls.cache import (
    GOOD,
    CacheDetails,
    CacheEntry,
    CacheExplanation,
    CacheList,
    CachePruneReport,
    CacheRow,
    CallExplanation,
    explained,
    row_of,
    to_prune,
)
from oraclepack.calls.file_cache import FileAnswerCache
from oraclepack.calls.file_store import project_cache
from oraclepack.errors import NotFoundError
from oraclepack.journal.events import InvocationOutcome
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import Cache
from oraclepack.journal.step_state import Invocation, StepState
from oraclepack.settings.call_settings import REHEARSAL
from oraclepack.store.index import indexed, version_in
from oraclepack.system.clock import SystemClock, rfc3339
from oraclepack.system.ownership import ForeignError
from oraclepack.system.path_jail import CACHE
from oraclepack.system.trust_key import find_key
from oraclepack.tools.tool_names import ORACLE
from oraclepack.view.past_runs import list_runs, named_run
from oraclepack.view.run import read_view


def list_cache(root: Path) -> CacheList:
    """Every answer of the project's cache, the newest first."""
    cache = _cache_of(root)
    trust = functools.cache(find_key)

    def read(key: str) -> tuple[CacheRow | None, bool]:
        one = cache.entry(key, trust)
        row = row_of(one.entry, one.state, one.foreign) if one is not None else None
        return row, one is not None and one.state == GOOD

    rows = list(indexed(root, CACHE, _versions_of_answers(cache), CacheRow, read).values())
    rows.sort(key=lambda row: (row.stored_at, row.key), reverse=True)
    return CacheList(directory=CACHE, entries=tuple(rows), bytes=sum(row.bytes for row in rows))


def _versions_of_answers(cache: FileAnswerCache) -> dict[str, str]:
    """The keys of the cache and the versions of their answers.

    An entry itself is signed and never changed alone, so its version is not looked up.
    """
    versions = dict.fromkeys(cache.find(), "")
    if versions:
        with os.scandir(cache.directory) as files:
            for one in files:
                key = one.name.removesuffix(".md")
                if key in versions:
                    versions[key] = version_in(one.stat(follow_symlinks=False))
    return versions


def show_cached(root: Path, beginning: str) -> CacheDetails:
    """One answer, by its key or the beginning of it."""
    cache = _cache_of(root)
    keys = cache.find(beginning) if beginning else ()
    if len(keys) != 1:
        what = "no answer has" if not keys else f"{len(keys)} answers have"
        raise NotFoundError(
            f"{what} a key that begins with {beginning!r}",
            hint="`oraclepack cache list` shows the keys",
        )
    entry = cache.get(keys[0])
    if entry is None:
        raise NotFoundError(f"the answer {keys[0][:12]} is gone", hint="`oraclepack cache prune`")
    answer = entry.data.decode("utf-8", "replace")
    return CacheDetails(entry=entry.entry, state=entry.state, answer=answer)


def explain_step(root: Path, step: str, run_name: str | None = None) -> CacheExplanation:
    """The calls of a step in its last run (or a named one), against what the cache has now."""
    run = named_run(root, run_name) if run_name else _last_run(root)
    state = read_view(run).state
    if step not in state.steps:
        known = ", ".join(sorted(state.steps)) or "none"
        raise NotFoundError(f"step {step} was not run in {run.run_id}", hint=f"steps run: {known}")
    return CacheExplanation(
        step=step, run_id=run.run_id, calls=explain_calls(root, state.step(step))
    )


def explain_calls(root: Path, step: StepState) -> tuple[CallExplanation, ...]:
    """The calls of oracle in a step's last attempt, against what the cache has now."""
    invocations = sorted(step.last_invocations(), key=lambda one: one.call)
    if not invocations:
        return ()
    cache = project_cache(root)
    entries = [one.entry for one in cache.entries() if one.foreign is None]
    parts = {entry.key: entry.parts for entry in entries}
    return tuple(_explained(one, parts, entries) for one in invocations if one.tool == ORACLE)


def _explained(
    invocation: Invocation, parts: dict[str, dict[str, str]], entries: list[CacheEntry]
) -> CallExplanation:
    record = invocation.record
    assert record is not None
    own = dict(invocation.intent.key_parts) if invocation.intent else {}
    explanation = CallExplanation(
        call=invocation.call,
        key=record.key,
        parts=own or parts.get(record.key or "", {}),
        cached=False,
        how=_how(invocation.outcome),
    )
    return explained(explanation, record.output_path, entries)


def _how(outcome: InvocationOutcome | None) -> str:
    if outcome is None:
        return "begun, and its end is not known"
    if not outcome.ok:
        return f"failed ({outcome.error.code})" if outcome.error else "failed"
    if outcome.provider == REHEARSAL:
        return "rehearsed"
    if outcome.adopted:
        return "answered by an earlier call"
    return "answered from the cache" if outcome.cache is Cache.HIT else "asked"


def _last_run(root: Path) -> RunDir:
    # A rehearsal only where nothing was asked for real: its calls have keys as well.
    own_runs = (run for run in list_runs(root).runs if run.foreign is None)
    runs = sorted(own_runs, key=lambda run: run.rehearsal)
    if not runs:
        raise NotFoundError("there is no run in this project", hint="run the pack first")
    return RunDir(root, runs[0].run_id, runs[0].run_dir.rpartition("/")[0])


def prune(
    root: Path, *, older_than: float | None, max_size: int | None, dry_run: bool = False
) -> CachePruneReport:
    """Remove old answers, then the oldest until the rest fits, and files without an entry.

    With `dry_run` nothing is removed.
    """
    cache = _cache_of(root)
    listed = list(cache.entries())
    entries = [one.entry for one in listed if one.foreign is None]
    before = None
    if older_than is not None:
        before = rfc3339(SystemClock().now() - timedelta(seconds=older_than))
    pruned = to_prune(entries, before=before, max_bytes=max_size)
    if not dry_run:
        for entry in pruned:
            cache.remove(entry.key)
        cache.sweep()
    size = sum(entry.bytes for entry in pruned)
    removed = tuple(sorted(entry.key for entry in pruned))
    foreign, remaining = len(listed) - len(entries), len(listed) - len(pruned)
    return CachePruneReport(
        removed=removed, bytes=size, kept=remaining, foreign=foreign, dry_run=dry_run
    )


def _cache_of(root: Path) -> FileAnswerCache:
    """The project's cache; refused where it cannot be ours."""
    cache = project_cache(root)
    foreign = cache.foreign
    if foreign is not None:
        raise ForeignError(f"{CACHE} is not used: {foreign.reason}", hint=foreign.way_out)
    return cache
