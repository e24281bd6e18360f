"""Which runs may go: finished ones, beyond those to keep, whose answers are safe elsewhere."""

from collections import Counter
from collections.abc import Collection, Sequence

import msgspec

from oraclepack.journal import events as j
from oraclepack.journal.run_state import RunState
from oraclepack.journal.step_state import StepState
from oraclepack.tools.tool_names import ORACLE

FINISHED = "ok"
"""The status of a run in which nothing is left to do."""


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What decides about a run, as far as its journal tells it."""

    run_id: str
    """Its name: that of a rehearsal begins with `rehearsals/`."""
    is_rehearsal: bool = False
    """It starts over whenever it is given again, so there is nothing to finish in it."""
    pack_path: str = ""
    pack_hash: str = ""
    status: str = FINISHED
    """As `runs list` tells it."""
    last_at: str = ""
    has_open_calls: bool = False
    is_rolling_back: bool = False
    quarantined: int = 0
    """Files of it that are in quarantine."""


class RunRemoved(msgspec.Struct, frozen=True, kw_only=True):
    """A run that was removed, or would be."""

    run_id: str
    bytes: int


class RunKept(msgspec.Struct, frozen=True, kw_only=True):
    """A run that stays, and why."""

    run_id: str
    reason: str


class RunsPruned(msgspec.Struct, frozen=True, kw_only=True):
    """What `runs prune` answers."""

    removed: tuple[RunRemoved, ...]
    """With `dry_run`: what would be."""
    kept: tuple[RunKept, ...]
    bytes: int
    dry_run: bool = False


def newest_first(runs: Sequence[RunFacts]) -> list[RunFacts]:
    return sorted(runs, key=lambda run: (run.last_at, run.run_id), reverse=True)


def reasons_to_keep(
    runs: Sequence[RunFacts], *, before: str | None, keep: int | None
) -> dict[str, str]:
    """The runs that stay whatever is in them, with the reason, by their id.

    `before`: only runs that nothing happened to since then may go. `keep`: so many of the
    newest of each pack stay.
    """
    newer: Counter[tuple[str, bool]] = Counter()
    kept: dict[str, str] = {}
    for run in newest_first(runs):
        reason = _unfinished(run)
        kind = (run.pack_path, run.is_rehearsal)
        newer[kind] += 1
        if reason is None and keep is not None and newer[kind] <= keep:
            reason = f"among the newest {keep} of its pack"
        if reason is None and before is not None and run.last_at >= before:
            reason = "not old enough"
        if reason is not None:
            kept[run.run_id] = reason
    return kept


def continued_ones(runs: Sequence[RunFacts]) -> frozenset[str]:
    """The newest run of each pack as it is written: the one that the next `run` goes by."""
    newest: dict[str, str] = {}
    for run in newest_first(runs):
        if not run.is_rehearsal:
            newest.setdefault(run.pack_hash, run.run_id)
    return frozenset(newest.values())


def unpaid_again(state: RunState, cached: Collection[str]) -> str | None:
    """Why the next `run` of the pack would pay again without this run; None when it would not."""
    for step in state.steps.values():
        if step.imported and step.outputs:
            return (
                "the next run would ask again: no cache has what was taken over from a state file"
            )
        if step.accepted:
            return "the next run would ask again: no cache has what a person accepted"
        for call in step.invocations:
            outcome = call.outcome
            if outcome is None:
                continue
            if outcome.unmet_sha256 is not None and not _is_answered(step, outcome):
                return "the next run would ask again: no cache has an answer that was corrected"
            if not outcome.ok:
                continue
            if outcome.tool != ORACLE:
                return f"the next run would call {outcome.tool} again"
            if outcome.sha256 is None or outcome.sha256 not in cached:
                return "the next run would ask again: not all of its answers are in the cache"
    return None


def _is_answered(step: StepState, failed: j.InvocationOutcome) -> bool:
    """The same question was answered after a call that failed."""
    ended = (call.outcome for call in step.invocations if call.outcome is not None)
    return any(one.ok and one.key == failed.key and one.seq > failed.seq for one in ended)


def _unfinished(run: RunFacts) -> str | None:
    if run.status != FINISHED and not (run.is_rehearsal and run.status in _TO_FINISH):
        return _WORDS.get(run.status, run.status)
    if run.has_open_calls and not run.is_rehearsal:
        return "a call of it may still be answered"
    if run.is_rolling_back:
        return "a rollback of it is not finished"
    if run.quarantined:
        return f"{run.quarantined} file(s) of it are in quarantine"
    return None


_TO_FINISH = frozenset(("failed", "incomplete", "interrupted"))
_WORDS = {
    "running": "in use",
    "failed": "unfinished: a step failed",
    "incomplete": "unfinished",
    "interrupted": "unfinished: interrupted",
    "damaged": "its journal is damaged; `oraclepack doctor --rebuild` tells more",
    "empty": "its journal says nothing",
    "foreign": "foreign: not known to be yours",
}
