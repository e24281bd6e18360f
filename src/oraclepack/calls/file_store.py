"""What the calls of one user share: answers in files, everything else in the user's store."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from oraclepack.calls.file_cache import FileAnswerCache, SeveralCaches
from oraclepack.calls.store import CallStore
from oraclepack.store.budget import Budget
from oraclepack.store.claims import Claims
from oraclepack.store.history import note_answer
from oraclepack.store.legacy import ClaimFile, find_claim
from oraclepack.store.limits import Limits
from oraclepack.store.runner import Runner
from oraclepack.store.sqlite import SqliteDatabase
from oraclepack.system.clock import Clock
from oraclepack.system.environment import data_directory
from oraclepack.system.ownership import folder_tracks
from oraclepack.system.path_jail import CACHE

_OWN_ANSWERS = "answers"


@contextmanager
def user_store(
    root: Path,
    run_dir: Path,
    clock: Clock,
    *,
    use_cache: bool,
    user: bool = False,
    folder: Path | None = None,
) -> Iterator[CallStore]:
    """What the calls of a run share; with `user` also the answers in the user's own directory.

    `folder` is where the store is, if not in the user's state directory.
    """
    cache, own = project_cache(root), run_answers(root, run_dir)
    shared = SeveralCaches(answer_caches(root, user=user))
    database = SqliteDatabase(folder, clock)
    runner = Runner(database)

    def claim_file(key: str) -> ClaimFile | None:
        """The claim of oraclepack 0.2; one that git tracks is not ours to read or to remove."""
        is_usable = use_cache and cache.foreign is None
        folder = cache.directory if is_usable else own.directory
        file = find_claim(folder, key)
        return None if file and folder_tracks(root, folder, file.path.name) else file

    try:
        yield CallStore(
            shared,
            own,
            # A run that uses no answers of others waits for none of them either.
            Claims(database, runner, claim_file, "" if use_cache else f"{run_dir}:"),
            Limits(database, runner),
            Budget(database, runner),
            partial(note_answer, database),
        )
    finally:
        runner.close()


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
