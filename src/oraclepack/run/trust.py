"""The use case behind `trust`: records that are not signed with the user's key become the user's.

Everything else is signed first and the journal last: a command that is killed in between leaves
a foreign run, which the next one takes over.
"""

from pathlib import Path

import msgspec

from oraclepack.calls.file_cache import FileAnswerCache
from oraclepack.calls.file_store import project_cache, run_answers
from oraclepack.errors import LockedError, UsageError
from oraclepack.journal import events as j
from oraclepack.journal import journal_file, run_dir
from oraclepack.journal.run_dir import STEPS, RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.run.patch_undo import seal
from oraclepack.run.tree_guard import recorded_patches
from oraclepack.store.legacy import foreign_claims, trust_claim
from oraclepack.system import environment, locks
from oraclepack.system.clock import SystemClock
from oraclepack.system.ownership import (
    Foreign,
    ForeignError,
    TrustReport,
    folder_tracks,
    foreign_run,
)
from oraclepack.system.path_jail import CACHE, plain_file
from oraclepack.system.secrets import Redactor
from oraclepack.view.past_runs import named_run


class Candidate(msgspec.Struct, frozen=True):
    """A foreign run that could be taken over, and what it says of itself."""

    run: RunDir
    foreign: Foreign
    state: RunState


def find_candidate(root: Path, name: str) -> Candidate:
    """The foreign run of this name. Changes nothing."""
    run = named_run(root, name)
    examined = run_dir.examine(run)
    if examined.reading.damage is not None:
        raise journal_file.damaged(run.journal, examined.reading)
    if examined.foreign is None:
        raise UsageError(f"run {run.run_id} is yours already", hint="there is nothing to do")
    if not examined.foreign.may_be_ours:
        raise foreign_run(run.run_id, examined.foreign)
    return Candidate(run, examined.foreign, examined.state)


class CacheCandidates(msgspec.Struct, frozen=True):
    """What of the cache could be taken over, and what could not."""

    cache: FileAnswerCache
    keys: tuple[str, ...]
    claims: tuple[Path, ...]
    still_foreign: tuple[str, ...] = ()


def find_cache_candidates(root: Path) -> CacheCandidates:
    """The foreign answers and claims of the project's cache. Changes nothing."""
    cache = project_cache(root)
    if cache.foreign is not None:
        raise ForeignError(
            f"{CACHE} cannot be taken over: {cache.foreign.reason}", hint=cache.foreign.way_out
        )
    listed = [(one.entry.key, one.foreign) for one in cache.entries() if one.foreign is not None]
    claims = foreign_claims(cache.directory)
    tracked = [path for path in claims if folder_tracks(root, cache.directory, path.name)]
    return CacheCandidates(
        cache,
        keys=tuple(key for key, foreign in listed if foreign.may_be_ours),
        claims=tuple(path for path in claims if path not in tracked),
        still_foreign=(
            *(
                f"{key[:12]}: {foreign.reason}"
                for key, foreign in listed
                if not foreign.may_be_ours
            ),
            *(f"{path.name[:12]}: git tracks it" for path in tracked),
        ),
    )


def trust_cache(candidates: CacheCandidates) -> TrustReport:
    """Sign answers and claims, each at once; a command that is killed leaves the others foreign."""
    refused = {key: candidates.cache.take_over(key) for key in candidates.keys}
    return TrustReport(
        answers=tuple(key for key, reason in refused.items() if reason is None),
        claims=sum(map(trust_claim, candidates.claims)),
        still_foreign=(
            *candidates.still_foreign,
            *(f"{key[:12]}: {why}" for key, why in refused.items() if why),
        ),
    )


def trust_run(candidate: Candidate) -> TrustReport:
    """Sign a run as it is now; what has changed since the user looked at it is not taken over."""
    run, clock = candidate.run, SystemClock()
    locked = locks.acquire(run.path, locks.this_process("trust", clock))
    if isinstance(locked, locks.Holder):
        raise LockedError(f"run {run.run_id} is in use by {locked}", hint="wait for it to end")
    redactor = Redactor.of(environment.environment())
    with locked, journal_file.JournalFile(run.journal, clock, redactor, take_over=True) as file:
        if file.state != candidate.state:
            raise ForeignError(f"run {run.run_id} has changed meanwhile", hint="look at it again")
        # The journal last: until it is signed, all of it stays foreign.
        answers = run_answers(run.root, run.path)
        keys = [one.entry.key for one in answers.entries() if one.foreign is not None]
        refused = {key: answers.take_over(key) for key in keys}
        for path in foreign_claims(answers.directory):
            trust_claim(path)
        for name in recorded_patches(file.state):
            patch = plain_file(run.path, name)
            if patch is not None and name.startswith(f"{STEPS}/"):
                seal(patch)
        file.append(j.RunTrusted(reason=candidate.foreign.kind.value))
    return TrustReport(
        run_id=run.run_id,
        reason=candidate.foreign.reason,
        answers=tuple(key for key, why in refused.items() if why is None),
        still_foreign=tuple(f"{key[:12]}: {why}" for key, why in refused.items() if why),
    )
