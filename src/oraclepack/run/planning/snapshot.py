"""What the disk and the machine look like, for the planner."""

from collections.abc import Mapping
from pathlib import Path

from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Status
from oraclepack.pack.missing_files import literal_attachments
from oraclepack.pack.model import Pack
from oraclepack.run.planning.planner import (
    CheckedOutputs,
    DiskSnapshot,
    edited_outputs,
)
from oraclepack.run.recorded_files import present_outputs
from oraclepack.run.request import RunRequest
from oraclepack.run.revise import checked
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.system.environment import environment
from oraclepack.system.path_jail import hashes_of
from oraclepack.system.programs import find_program, probe
from oraclepack.tools.oracle_config import lacks_space
from oraclepack.tools.tool_names import ORACLE, SPELLINGS


def take_snapshot(request: RunRequest, run: RunDir, state: RunState) -> DiskSnapshot:
    """Hash the files that the state names, and find the tools that the pack calls.

    Tools that oraclepack itself answers for need not be installed, and an oracle that the user
    named need not be on PATH. A rehearsal makes no calls, so a missing file costs nothing.
    """
    root, pack = request.root, request.pack
    answered = request.answered
    # Files of steps that went well, nothing else.
    steps = [step for step in state.steps.values() if step.status is Status.OK]
    outputs = [output for step in steps for output in step.outputs]
    paths = sorted({one.declared_path for one in outputs if one.declared_path})
    declared = present_outputs(root, run.run_id, state, paths)
    return DiskSnapshot(
        outputs=hashes_of(run.path, sorted({one.path for one in outputs})),
        declared=declared,
        attached=hashes_of(root, sorted({path for step in steps for path in step.attached})),
        missing_tools=missing_tools(pack) - answered - _not_needed(request),
        checked=_checked(request, run, state, declared),
        answered=answered,
        lacks_space="" if ORACLE in answered else lacks_space(environment()),
        missing_files=frozenset(
            path for path in literal_attachments(pack) if not _exists(root / path)
        )
        if request.settings[rs.VALIDATE] and not request.is_rehearsal
        else frozenset(),
    )


def _not_needed(request: RunRequest) -> frozenset[str]:
    """Tools that need not be on PATH: the user named oracle, or nothing is asked through it."""
    is_direct = request.settings[cs.ENGINE] in {cs.DIRECT, cs.BATCH}
    return frozenset({ORACLE} if request.oracle_bin or is_direct else ())


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return True  # a name that cannot be looked up is for the tool to refuse


def _checked(
    request: RunRequest, run: RunDir, state: RunState, declared: Mapping[str, str]
) -> dict[str, CheckedOutputs]:
    """The answers that missed their contracts or were edited, checked as they are now."""
    unmet = [
        step
        for step in request.pack.steps
        if state.step(step.id).misses_contract or edited_outputs(state, step.id, declared)
    ]
    if not unmet:
        return {}
    options, verify = request.verify_options, request.settings[rs.OUTPUT_VERIFY]
    return {
        step.id: checked(request.root, run, step, state.step(step.id), options, verify=verify)[1]
        for step in unmet
    }


def missing_tools(pack: Pack) -> frozenset[str]:
    """The tools a pack calls by name that neither we nor a login shell can find."""
    spelled: dict[str, set[str]] = {}
    for step in pack.steps:
        for call in step.calls:
            name = "npx" if "npx" in call.wrappers else call.spelled.strip("'\"")
            spelled.setdefault(call.tool, set()).add(name)
    if "task-master" in spelled:  # only one spelling of it is ever installed
        spelled["task-master"] |= {word for word, one in SPELLINGS.items() if one == "task-master"}
    return frozenset(tool for tool, names in spelled.items() if not any(map(_is_there, names)))


def _is_there(name: str) -> bool:
    if find_program(name) is not None:
        return True
    # A login profile may know more places than we do.
    return probe(["bash", "-lc", 'command -v -- "$0"', name]).exit_code == 0
