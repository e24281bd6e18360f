"""The name of a run, and which run a command continues."""

from collections.abc import Collection, Iterable
from datetime import date
from pathlib import PurePosixPath

import msgspec

from oraclepack.settings.call_settings import REHEARSAL
from oraclepack.system.ownership import Foreign
from oraclepack.system.text_limits import regex

_DATE = regex(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
_RUN_ID = regex(r"(\d{4}-\d{2}-\d{2}__(?:[0-9a-f]{7}|nogit)__([0-9a-f]{8}))(?:__(\d+))?")


def pack_id(pack_path: str, pack_hash: str, git_sha: str | None, today: str) -> str:
    """`YYYY-MM-DD__<gitshort>__<packhash8>`.

    The date is the one in the pack's file name, if it has a real one, else the day of
    creation. Seven digits of the commit, always: git's own short form grows with the
    repository and would give one commit two names.
    """
    short = git_sha[:7] if git_sha else "nogit"
    return f"{_date_in(PurePosixPath(pack_path).name) or today}__{short}__{pack_hash[:8]}"


def _date_in(name: str) -> str | None:
    return next((found for found in _DATE.findall(name) if _is_date(found)), None)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def free_run_id(name: str, taken: Collection[str]) -> str:
    """The name itself, or with the first free one of the suffixes `__2`, `__3` and so on."""
    number = 1
    candidate = name
    while candidate in taken:
        number += 1
        candidate = f"{name}__{number}"
    return candidate


def is_run_id(text: str) -> bool:
    """It can be the name of a run directory, and never a path to somewhere else."""
    return _RUN_ID.fullmatch(text) is not None


def without_suffix(run_id: str) -> str:
    """The pack_id of a run: its name without what `--new-run` added."""
    found = _RUN_ID.fullmatch(run_id)
    return found[1] if found else run_id


def hash_in(run_id: str) -> str | None:
    """The beginning of the pack's hash, as the name of the run tells it."""
    found = _RUN_ID.fullmatch(run_id)
    return found[2] if found else None


def is_rehearsal(engine: str | None) -> bool:
    """Whether a run with this engine asks nobody."""
    return engine == REHEARSAL


class RunSummary(msgspec.Struct, frozen=True):
    """What is needed of a past run to decide whether to continue it."""

    run_id: str
    pack_hash: str
    git_sha: str | None = None
    heads: tuple[str, ...] = ()
    created_at: str = ""
    finished: bool = False
    mutating: bool = False
    rehearsal: bool = False
    """Its answers are oraclepack's own: nothing in it counts as done for a real run."""
    damage: str | None = None
    """Why its journal cannot be read to the end."""
    number: int = 0
    """Which of the pack's runs it is; 0 where nobody counted."""
    foreign: Foreign | None = None
    """Why it cannot be proven to be ours; then nothing it says is acted upon."""

    @property
    def age(self) -> tuple[int, str, int, str]:
        """Sorts the runs of a pack from the oldest to the newest, whatever the clock was."""
        found = _RUN_ID.fullmatch(self.run_id)
        return (self.number, self.created_at, int(found[3] or 1) if found else 0, self.run_id)

    def saw(self, head: str | None) -> bool:
        """The run was created at this commit, or has seen it since."""
        if not self.pack_hash:
            # Its journal tells nothing (not written yet, or broken at once); its name does.
            return self.run_id.split("__")[1:2] == [head[:7] if head else "nogit"]
        return head == self.git_sha or head in self.heads


class Choice(msgspec.Struct, frozen=True):
    """Which run goes on, and why; None is a new one."""

    run: RunSummary | None
    reason: str
    notice: str = ""
    """What a user would want to be told: that an earlier run is left behind."""


def choose_run(
    runs: Iterable[RunSummary],
    pack_hash: str,
    head: str | None,
    *,
    mutating: bool = False,
    rehearsal: bool | None = None,
) -> Choice:
    """The run that a command on this pack at this commit continues.

    A rehearsal goes on with rehearsals only, a real run with real ones; None takes both.

    The day plays no part: a run that crosses midnight is one run. A pack whose steps
    change the work tree may move HEAD itself, so its newest unfinished run goes on
    even at a commit the run has not seen.
    """
    known = (run for run in runs if _is_of(run, pack_hash) and _is_kind(run, rehearsal=rehearsal))
    same = sorted(known, key=lambda run: run.age)
    here = [run for run in same if run.saw(head)]
    if here:
        return Choice(here[-1], _seen(here[-1], head))
    unfinished = [run for run in same if mutating and not run.finished]
    if unfinished:
        reason = "it is the newest unfinished run of this pack, whose steps may commit"
        return Choice(unfinished[-1], reason)
    if same:
        was = (same[-1].git_sha or "no commit")[:9]
        notice = f"run {same[-1].run_id} of this pack began at {was}; HEAD is now elsewhere"
        return Choice(None, "no run of this pack has seen this commit", notice)
    return Choice(None, "there is no run of this pack yet")


def _is_of(run: RunSummary, pack_hash: str) -> bool:
    # A journal broken in its first line tells no hash; the name of the run still does.
    return (run.pack_hash or hash_in(run.run_id)) in {pack_hash, pack_hash[:8]}


def _is_kind(run: RunSummary, *, rehearsal: bool | None) -> bool:
    # A run whose beginning is lost may be either; whoever goes on with it hears of the damage.
    return rehearsal is None or not run.pack_hash or run.rehearsal == rehearsal


def _seen(run: RunSummary, head: str | None) -> str:
    if head is None:
        return "same pack, outside of git"
    if head in run.heads and head != run.git_sha:
        return f"same pack, and the run has seen commit {head[:7]}"
    return f"same pack, same commit {head[:7]}"
