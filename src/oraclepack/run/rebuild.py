"""Repairs runs from their journals, `runs repair`: recovers killed ones, computes files."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from oraclepack.errors import InputError
from oraclepack.journal import journal_file, run_dir
from oraclepack.journal.journal_file import JournalFile
from oraclepack.journal.line_format import JournalContent
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import EMPTY, RunState, fold
from oraclepack.pack.model import Pack
from oraclepack.pack.pack_files import directed
from oraclepack.run.files import LockedRun
from oraclepack.run.quarantine import failed_folder
from oraclepack.run.recover import recover, sweep
from oraclepack.system import environment, files, locks
from oraclepack.system.clock import SystemClock
from oraclepack.system.digests import canonical_file
from oraclepack.system.files import HOME
from oraclepack.system.path_jail import RUNS
from oraclepack.system.secrets import Redactor
from oraclepack.view.legacy_files import names_for
from oraclepack.view.manifests import StepsManifest, steps_manifest, write_manifests
from oraclepack.view.past_runs import named_run
from oraclepack.view.run import RunView, pack_of, read_view
from oraclepack.view.step import with_pack_fields


class RebuildStatus(StrEnum):
    """What became of one run."""

    REBUILT = "rebuilt"
    DAMAGED = "damaged"
    """Its journal is damaged; nothing of it was touched."""
    LOCKED = "locked"
    """Another process works on it."""
    FOREIGN = "foreign"
    """It cannot be proven to be ours; nothing of it was touched."""
    EMPTY = "empty"
    """Its journal says nothing, so there is nothing to compute."""


class RunRebuild(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    run_id: str
    result: RebuildStatus
    events: int
    """How many events of its journal are intact."""
    files: tuple[str, ...]
    """What was written, relative to the project root."""
    problem: str | None
    """What is damaged and where, or who has the run."""
    torn: bool
    """The last line was cut short by a crash; it counts as never written."""
    notices: tuple[str, ...]


class RebuildReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every run that was looked at, by name."""

    runs: tuple[RunRebuild, ...]

    def count(self, result: str) -> int:
        """How many runs had this result, a value of `RebuildStatus`."""
        return sum(run.result == result for run in self.runs)


def rebuild(root: Path, run_id: str | None = None) -> RebuildReport:
    """Rebuild one run, or all; of a damaged one nothing is touched."""
    every = [RunDir(root, one) for one in run_dir.run_ids(root)]
    chosen = every if run_id is None else [named_run(root, run_id)]
    return RebuildReport(runs=tuple(_rebuild(root, run) for run in chosen))


def _rebuild(root: Path, run: RunDir) -> RunRebuild:
    foreign = read_view(run).foreign  # before its lock is written to
    if foreign is not None:
        return _run_rebuild(run, RebuildStatus.FOREIGN, problem=foreign.reason)
    locked = locks.acquire(run.path, locks.this_process("doctor --rebuild", SystemClock()))
    if isinstance(locked, locks.Holder):
        return _run_rebuild(run, RebuildStatus.LOCKED, problem=f"in use by {locked}")
    with locked:
        try:
            reading = journal_file.load(run.journal)
        except InputError as trouble:
            return _run_rebuild(run, RebuildStatus.DAMAGED, problem=trouble.message)
        if reading.damage is not None:
            problem = f"line {reading.damage.line} of the journal: {reading.damage.reason}"
            return _run_rebuild(run, RebuildStatus.DAMAGED, reading, problem=problem)
        return _compute(root, run, reading)


def _compute(root: Path, run: RunDir, reading: JournalContent) -> RunRebuild:
    state = fold(reading.events)
    created = state.created
    if created is None:
        return _run_rebuild(
            run, RebuildStatus.EMPTY, reading, problem="it was stopped before it began"
        )
    pack, _ = pack_of(root, created.pack_path, created.pack_hash)
    before = _steps_before(run) if pack is None else None
    notices: list[str] = []
    if state.is_open and run.folder == RUNS:
        recovered = _recovered(root, run, pack, state)
        notices += [one.message for one in recovered.warnings[len(state.warnings) :]]
        state = recovered
    has_files = run.folder == RUNS and _is_latest(root, run, state)
    legacy = state.has_legacy_files if has_files else None
    redactor = Redactor.of(environment.environment())
    write_manifests(run, pack, state, legacy=legacy, redactor=redactor)
    if pack is None:
        notices.append(f"{created.pack_path} is gone or has changed; {_backup(before)}")
    if before is not None:
        _put_back(run, steps_manifest(RunView(state=state)), before)
    written = [f"{run.relative}/run.json", f"{run.relative}/steps.json"]
    if legacy is not None:
        written += names_for(root, created.pack_path, "" if legacy else HOME)
    return _run_rebuild(run, RebuildStatus.REBUILT, reading, written=written, notices=notices)


def _recovered(root: Path, run: RunDir, pack: Pack | None, state: RunState) -> RunState:
    """The state of a run after what its killed command left was cleaned up."""
    clock = SystemClock()
    if pack is not None and state.out_dir:
        pack = directed(pack, root, state.out_dir, "the out_dir of the last command", None).pack
    if pack is not None:
        sweep(run, pack, state)
    file = JournalFile(run.journal, clock, Redactor.of(environment.environment()))
    with file:
        folder = failed_folder(root, pack.out_dir if pack else None, run.path)
        recover(LockedRun(root, run, file, folder))
        file.sync()
        return file.state


def _backup(before: StepsManifest | None) -> str:
    if before is None:
        return "what only it knew of the steps (titles, scores) is null"
    return "what only it knew of the steps (titles, scores) is taken from the older steps.json"


def _steps_before(run: RunDir) -> StepsManifest | None:
    data = files.read(run.path / "steps.json")
    try:
        return None if data is None else msgspec.json.decode(data, type=StepsManifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _put_back(run: RunDir, now: StepsManifest, before: StepsManifest) -> None:
    """Keep what the pack once said of each step."""
    known = {entry.step_id: entry for entry in before.steps}
    steps = tuple(with_pack_fields(entry, known.get(entry.step_id, entry)) for entry in now.steps)
    merged = msgspec.structs.replace(now, steps=steps)
    files.write_atomic(run.path / "steps.json", canonical_file(merged), mode=files.PRIVATE_FILE)


def _is_latest(root: Path, run: RunDir, state: RunState) -> bool:
    """The state file in the project root belongs to the run of the pack that was last at work."""
    assert state.created is not None
    for run_id in run_dir.run_ids(root):
        view = read_view(RunDir(root, run_id))
        other = view.state if view.foreign is None else EMPTY
        same = other.created is not None and other.created.pack_path == state.created.pack_path
        if same and (other.last_at or "", run_id) > (state.last_at or "", run.run_id):
            return False
    return True


def _run_rebuild(
    run: RunDir,
    result: RebuildStatus,
    reading: JournalContent | None = None,
    *,
    written: Sequence[str] = (),
    problem: str | None = None,
    notices: Sequence[str] = (),
) -> RunRebuild:
    return RunRebuild(
        run_id=run.run_id,
        result=result,
        events=len(reading.events) if reading else 0,
        files=tuple(written),
        problem=problem,
        torn=bool(reading and reading.torn),
        notices=tuple(notices),
    )
