"""The files in which the calls of one machine share answers, claims, limits and the budget.

Everything that reads or writes them gets them from here.
"""

from collections.abc import Callable
from pathlib import Path

from oraclepack.calls.claims import FileClaims
from oraclepack.calls.file_budget import FileBudget, budget_directory
from oraclepack.calls.file_cache import FileAnswerCache
from oraclepack.calls.limits import FileLimits, limits_directory
from oraclepack.calls.store import CallStore
from oraclepack.system.clock import Clock
from oraclepack.system.environment import data_directory
from oraclepack.system.path_jail import CACHE

_OWN_ANSWERS = "answers"


def file_store(
    root: Path,
    run_dir: Path,
    clock: Clock,
    *,
    use_cache: bool,
    user: bool = False,
    limits: Path | None = None,
    budget: Path | None = None,
) -> CallStore:
    """What the calls of a run share; with `user` also the answers in the user's own directory.

    `limits` and `budget` are the directories of slots and of the ledger, if not the user's own.
    """
    cache, own = project_cache(root), run_answers(root, run_dir)

    def folder() -> Path:
        is_usable = use_cache and cache.foreign is None
        return cache.directory if is_usable else own.directory

    return CallStore(
        cache,
        own,
        user_answers() if user else None,
        claims_in(root, folder),
        limits_in(limits, clock),
        FileBudget(budget, clock) if budget else user_budget(clock),
    )


def user_budget(clock: Clock) -> FileBudget:
    """What all calls of the user on this machine cost on a day and in a month."""
    return FileBudget(budget_directory(), clock)


def project_cache(root: Path) -> FileAnswerCache:
    """The answers that all runs of a project share."""
    return FileAnswerCache(root, root / CACHE)


def answer_caches(root: Path, *, user: bool) -> tuple[FileAnswerCache, ...]:
    """The caches of answers that are shared, the project's first."""
    return (project_cache(root), *((user_answers(),) if user else ()))


def user_answers() -> FileAnswerCache:
    """The answers that the user has paid for, in whichever project."""
    folder = data_directory()
    return FileAnswerCache(folder, folder / "answers")


def run_answers(root: Path, run_dir: Path) -> FileAnswerCache:
    """The answers that a run keeps for itself."""
    return FileAnswerCache(root, run_dir / _OWN_ANSWERS)


def claims_in(root: Path, folder: Callable[[], Path]) -> FileClaims:
    """The claims beside the answers in a folder."""
    return FileClaims(root, folder)


def limits_in(directory: Path | None, clock: Clock) -> FileLimits:
    """The slots of providers in a directory; those of the user, if none is given."""
    return FileLimits(directory or limits_directory(), clock)
