"""Which run a command would work on and what it would do there; nothing is changed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from oraclepack.errors import Refusal
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.run.import_state import ImportedState, find_state, read_state, taken_steps
from oraclepack.run.open_run import SelectedRun, described, find_run, path_in_project
from oraclepack.run.planning.plan import Plan
from oraclepack.run.planning.planner import plan as make_plan
from oraclepack.run.planning.snapshot import take_snapshot
from oraclepack.run.recorded_files import find_files, with_existing
from oraclepack.run.request import RunRequest
from oraclepack.settings.registry import STRICT
from oraclepack.system.clock import Clock, SystemClock
from oraclepack.system.files import HOME
from oraclepack.view.legacy_files import refuse_directories

if TYPE_CHECKING:
    from oraclepack.run.known_calls import RunForecast


def preview_run(request: RunRequest, clock: Clock | None = None) -> tuple[SelectedRun, Plan]:
    """The run that would be continued or created, and the plan against it as it is now.

    A pack whose steps are all done was checked before, unless this command is stricter.
    """
    rehearsal = request.is_rehearsal
    selected = find_run(
        request.root, request.pack, request.arguments, clock or SystemClock(), rehearsal=rehearsal
    )
    check = request.check or (lambda: None)
    selected = described(selected, check if selected.is_new else lambda: None)
    if request.writes_legacy_files and _has_legacy_files(request):
        refuse_directories(request.root, _pack_path(request, selected))
    found = imported_state(request, selected)
    taken = taken_steps(request.root, request.pack, found, request.verify_options)
    planned = plan_run(request, selected.run, selected.state, taken)
    is_strict: bool = request.settings[STRICT]
    if (planned.to_run or is_strict) and not selected.is_new:
        check()
    if notice := _import_notice(found, selected):
        planned = replace(planned, warnings=(*planned.warnings, notice))
    return selected, planned


def plan_run(
    request: RunRequest, run: RunDir, state: RunState, imported: Collection[str] = ()
) -> Plan:
    """The plan against a run in this state; raises why there is none.

    The answers of `imported` steps are going to be taken from a state file.
    """
    snapshot = take_snapshot(request, run, state)
    planned = make_plan(request.pack, state, request.selection, snapshot)
    if isinstance(planned, Refusal):
        raise planned.error()
    planned = replace(planned, warnings=(*request.notes, *planned.warnings))
    if request.is_rehearsal and not request.arguments.in_place:
        return planned  # it runs in a copy
    found = find_files(
        request.root, request.pack, run, state, planned, request.verify_options, imported
    )
    if request.is_rehearsal and not found.taken:
        return planned  # its calls replace no real answer
    return with_existing(planned, found, request.arguments.existing, run)


def check_run(request: RunRequest) -> None:
    """Raise why the run cannot begin."""
    selected, planned = preview_run(request)
    if planned.refusal is not None and imported_state(request, selected) is None:
        raise planned.refusal.error()


def expected_cost(request: RunRequest, selected: SelectedRun, planned: Plan) -> RunForecast | None:
    """What the command is expected to ask and to cost; None where it asks nothing."""
    steps = [step.step_id for step in planned.to_run]
    return request.forecast(selected.run, selected.state, steps)


def imported_state(request: RunRequest, selected: SelectedRun) -> ImportedState | None:
    """The state file of the Go tool that is imported: the one that is named, or that is there."""
    if request.arguments.import_state is not None:
        return read_state(Path(request.arguments.import_state))
    if not _has_legacy_files(request):
        return None
    path, takes_go = _pack_path(request, selected), request.writes_legacy_files
    return find_state(request.root, path, request.pack.pack_hash, takes_go=takes_go)


def _import_notice(found: ImportedState | None, selected: SelectedRun) -> str:
    """What happens to a state file that is there."""
    if found is None or any(event.sha256 == found.sha256 for event in selected.state.imported):
        return ""
    if found.hashes:
        return f"{found.source} is taken over: the run that wrote it is gone"
    if found.against:
        return f"{found.source} of the Go tool is not taken over: {found.against}"
    return f"{found.source} is of the Go tool: what succeeded there and still passes is taken over"


def _has_legacy_files(request: RunRequest) -> bool:
    """Something is where a state or report file of the pack may be."""
    if request.is_rehearsal:
        return False
    stem = Path(request.pack.path).stem
    names = (f"{stem}.state.json", f"{stem}.report.json", f"{HOME}/{stem}.state.json")
    return any((request.root / name).exists() for name in names)


def _pack_path(request: RunRequest, selected: SelectedRun) -> str:
    created = selected.state.created
    return created.pack_path if created else path_in_project(request.pack.path, request.root)
