"""The run directory: the files and folders of a run."""

import os
import re
from collections.abc import Collection, Iterable
from datetime import date
from functools import cached_property
from pathlib import Path, PurePosixPath

import msgspec

from oraclepack.journal import journal_file
from oraclepack.journal.blobs import BACKUPS
from oraclepack.journal.blobs import FOLDER as BLOBS
from oraclepack.journal.line_format import JournalContent, Link
from oraclepack.journal.run_state import RunState, fold
from oraclepack.settings.call_settings import REHEARSAL
from oraclepack.system import files, locks
from oraclepack.system.ownership import Foreign, ForeignReason, foreign_run, linked, tracked
from oraclepack.system.path_jail import REHEARSALS, RUNS

_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
_RUN_ID = re.compile(r"(\d{4}-\d{2}-\d{2}__(?:[0-9a-f]{7}|nogit)__([0-9a-f]{8}))(?:__(\d+))?")


def pack_id(pack_path: str, pack_hash: str, git_sha: str | None, today: str) -> str:
    """`YYYY-MM-DD__<gitshort>__<packhash8>`.

    The date is the one in the pack's file name, if it has a real one, else the day of
    creation. Seven digits of the commit, always: git's own short form grows with the
    repository and would give one commit two names.
    """
    short = git_sha[:7] if git_sha else "nogit"
    dates = filter(_is_date, _DATE.findall(PurePosixPath(pack_path).name))
    return f"{next(dates, today)}__{short}__{pack_hash[:8]}"


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def free_run_id(name: str, existing: Collection[str]) -> str:
    """The name itself, or with the first free one of the suffixes `__2`, `__3` and so on."""
    number = 1
    candidate = name
    while candidate in existing:
        number += 1
        candidate = f"{name}__{number}"
    return candidate


def is_run_id(text: str) -> bool:
    """It can be the name of a run directory, and never a path to somewhere else."""
    return _RUN_ID.fullmatch(text) is not None


def without_suffix(run_id: str) -> str:
    """The pack_id of a run: its name without what `--new-run` added."""
    match = _RUN_ID.fullmatch(run_id)
    return match[1] if match else run_id


def hash_in(run_id: str) -> str | None:
    """The beginning of the pack's hash, from the name of the run."""
    match = _RUN_ID.fullmatch(run_id)
    return match[2] if match else None


def is_rehearsal(engine: str | None) -> bool:
    """Whether a run with this engine makes no calls."""
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
    """Which of the pack's runs it is; 0 where it is not numbered."""
    foreign: Foreign | None = None
    """Why it cannot be proven to be ours; then nothing it says is acted upon."""

    @property
    def age(self) -> tuple[int, str, int, str]:
        """Sorts the runs of a pack from the oldest to the newest, whatever the clock was."""
        match = _RUN_ID.fullmatch(self.run_id)
        return (self.number, self.created_at, int(match[3] or 1) if match else 0, self.run_id)

    def has_recorded(self, head: str | None) -> bool:
        """Whether the run was created at this commit or has recorded it since."""
        if not self.pack_hash:
            # The journal is empty or broken at its first line; use the name.
            return self.run_id.split("__")[1:2] == [head[:7] if head else "nogit"]
        return head == self.git_sha or head in self.heads


class RunChoice(msgspec.Struct, frozen=True):
    """Which run is continued, and why; None is a new one."""

    run: RunSummary | None
    reason: str
    notice: str = ""
    """A notice for the user that an earlier run is not continued."""


def choose_run(
    runs: Iterable[RunSummary],
    pack_hash: str,
    head: str | None,
    *,
    mutating: bool = False,
    rehearsal: bool | None = None,
) -> RunChoice:
    """The run that a command on this pack at this commit continues.

    A rehearsal goes on with rehearsals only, a real run with real ones; None takes both.

    The day plays no part: a run that crosses midnight is one run. A pack whose steps
    change the work tree may move HEAD itself, so its newest unfinished run goes on
    even at a commit the run has not seen.
    """
    known = (run for run in runs if _is_of(run, pack_hash) and _is_kind(run, rehearsal=rehearsal))
    same = sorted(known, key=lambda run: run.age)
    here = [run for run in same if run.has_recorded(head)]
    if here:
        return RunChoice(here[-1], _head_text(here[-1], head))
    unfinished = [run for run in same if mutating and not run.finished]
    if unfinished:
        reason = "it is the newest unfinished run of this pack, whose steps may commit"
        return RunChoice(unfinished[-1], reason)
    if same:
        was = (same[-1].git_sha or "no commit")[:9]
        notice = f"run {same[-1].run_id} of this pack began at {was}; HEAD is now elsewhere"
        return RunChoice(None, "no run of this pack has seen this commit", notice)
    return RunChoice(None, "there is no run of this pack yet")


def _is_of(run: RunSummary, pack_hash: str) -> bool:
    # A journal broken in its first line has no hash; the name of the run still has it.
    return (run.pack_hash or hash_in(run.run_id)) in {pack_hash, pack_hash[:8]}


def _is_kind(run: RunSummary, *, rehearsal: bool | None) -> bool:
    # A run whose beginning is lost may be either; a command that continues it reports the damage.
    return rehearsal is None or not run.pack_hash or run.rehearsal == rehearsal


def _head_text(run: RunSummary, head: str | None) -> str:
    if head is None:
        # Outside of git, or in a repository without a commit.
        return "same pack, and there is no commit to compare"
    if head in run.heads and head != run.git_sha:
        return f"same pack, and the run has seen commit {head[:7]}"
    return f"same pack, same commit {head[:7]}"


STEPS = "steps"
NOTIFICATIONS = "notifications.jsonl"
OWN_NAMES = (
    *(journal_file.NAME, "outputs", "logs", BACKUPS, STEPS, "answers", "aside", BLOBS, "calls"),
    *("actionizer", "_failed", "lock", "run.json", "steps.json"),
    NOTIFICATIONS,
    *("report.html", "report.md", "trace.json"),
)
"""What we make in a run directory."""
_NOTHING_READ = JournalContent((), Link(), 0)
_REHEARSAL = "rehearsals/"
_LOG = re.compile(r"logs/[\w.-]+\.log")
"""What a journal may name as a log: one from elsewhere may name any file."""


class RunDir(msgspec.Struct, frozen=True):
    """One run's directory under a project root."""

    root: Path
    run_id: str
    folder: str = RUNS
    """Where it lies: among the runs, or among the rehearsals."""

    @property
    def relative(self) -> str:
        """Relative to the project root."""
        return f"{self.folder}/{self.run_id}"

    @property
    def name(self) -> str:
        """A unique name: a rehearsal may have the id of a real run."""
        return self.run_id if self.folder == RUNS else f"{_REHEARSAL}{self.run_id}"

    @property
    def place(self) -> str:
        """As text: a step makes several paths from it, which by `Path` would take it longer."""
        return f"{self.root}/{self.relative}"

    @property
    def path(self) -> Path:
        return Path(self.place)

    @property
    def journal(self) -> Path:
        return self.path / journal_file.NAME

    @property
    def outputs(self) -> Path:
        return self.path / "outputs"

    @property
    def has_outputs(self) -> bool:
        """Some step has left an answer: by then the journal must know of it."""
        return any(not name.startswith(".") for name in _names_in(self.outputs))

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    def log(self, name: str) -> Path | None:
        """The log that a record names; None where it is no log, is not there, or is a link."""
        if _LOG.fullmatch(name) is None:
            return None
        path = self.path / name
        return path if path.is_file() and not path.is_symlink() else None

    @property
    def failed(self) -> Path:
        """The quarantine of a pack without an out_dir."""
        return self.path / "_failed"

    def step(self, step_id: str) -> Path:
        return self.path / STEPS / step_id

    @property
    def has_changes(self) -> bool:
        """Some step may have changed the work tree, whether or not that was taken back."""
        return (self.path / STEPS).is_dir()

    def link_at(self, name: str) -> Foreign | None:
        """The symbolic link of this name in the run directory, if there is one."""
        is_link = os.path.islink(f"{self.place}/{name}")  # for every run there is
        return Foreign(ForeignReason.LINKED, f"{self.relative}/{name}") if is_link else None

    def attempts_on_disk(self) -> frozenset[str]:
        """The attempts that have left logs here, whether or not the journal knows."""
        return frozenset(name.rpartition(".std")[0] for name in _names_in(self.logs))

    def create(self) -> None:
        """Make what is missing of it; only its owner may look inside."""
        files.make_private(self.path, self.outputs, self.logs)

    def clear(self) -> None:
        """Remove everything in it but its lock, which the caller holds."""
        for entry in list(self.path.iterdir()):
            if entry.name != locks.NAME:
                files.remove_tree(entry)
        self.create()

    def sweep(self, *others: Path) -> None:
        """Remove what a killed command left half written, here or in other folders of ours.

        Needs the run's lock.
        """
        # The root too: the files of the older tool are written there.
        answers = self.path / "answers"  # of runs without a cache
        own_folder = (self.root / RUNS).parent
        for directory in (
            self.root,
            own_folder,
            own_folder / "published",
            self.path,
            self.path / BLOBS,
            self.outputs,
            answers,
            answers / "unmet",
            *others,
        ):
            files.sweep(directory)


class ExaminedRun(msgspec.Struct, frozen=True, dict=True):
    """A run as recorded in its journal, and whether it is signed by the user."""

    run_id: str
    reading: JournalContent
    foreign: Foreign | None = None

    @cached_property
    def state(self) -> RunState:
        """What the intact part of the journal says, whoever wrote it."""
        return fold(self.reading.events)

    def own_state(self) -> RunState:
        """The same of a run of ours. Raises ForeignError."""
        if self.foreign is not None:
            raise foreign_run(self.run_id, self.foreign)
        return self.state


def examine(run: RunDir) -> ExaminedRun:
    """Read the journal of a run: the only way to one, so that its ownership is always checked.

    Nothing is read through a link. Raises InputError where the journal cannot be read.
    """
    link = linked(run.root, run.relative) or next(filter(None, map(run.link_at, OWN_NAMES)), None)
    if link is not None:
        return ExaminedRun(run.run_id, _NOTHING_READ, link)
    reading = journal_file.load(run.journal)
    # What git tracks first: whatever else is the matter, it cannot be the user's own.
    foreign = tracked(run.root, run.relative) or journal_file.foreign_reading(reading)
    return ExaminedRun(run.run_id, reading, foreign)


def examine_at(directory: Path) -> ExaminedRun:
    """The same of a run directory that was named by its path, and may have been moved."""
    named = directory.absolute()
    for place in (named, named.resolve()):
        for folder in (RUNS, REHEARSALS):
            if place.parent.as_posix().endswith(f"/{folder}"):
                return examine(RunDir(place.parents[2], place.name, folder))
    reading = journal_file.load(named / journal_file.NAME)
    return ExaminedRun(named.name, reading, journal_file.foreign_reading(reading))


def attempt_name(name: str, attempt: int) -> str:
    """How an attempt at a step (or `prelude`) is called wherever it leaves files."""
    return f"{name}.{attempt}"


def log_names(name: str, attempt: int) -> tuple[str, str]:
    """The logs of an attempt at a step (or `prelude`), relative to the run directory."""
    called = attempt_name(name, attempt)
    return f"logs/{called}.stdout.log", f"logs/{called}.stderr.log"


def _names_in(folder: Path) -> list[str]:
    try:
        return [entry.name for entry in folder.iterdir()]
    except OSError:
        return []


def run_ids(root: Path, folder: str = RUNS) -> tuple[str, ...]:
    """The runs under a project root, or the rehearsals, by name."""
    return tuple(sorted(name for name in _names_in(root / folder) if is_run_id(name)))


def every_run(root: Path) -> tuple[RunDir, ...]:
    """The runs under a project root, then the rehearsals."""
    return tuple(
        RunDir(root, run_id, folder)
        for folder in (RUNS, REHEARSALS)
        for run_id in run_ids(root, folder)
    )
