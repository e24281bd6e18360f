"""Outputs that a run of another pack has recorded: not overwritten unless the user says so."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from oraclepack.errors import InputError, Refusal
from oraclepack.journal import run_dir
from oraclepack.journal.run_dir import RunDir, is_rehearsal
from oraclepack.journal.run_state import RunState
from oraclepack.pack.model import Pack
from oraclepack.run.open_run import path_in_project
from oraclepack.run.past_runs import inspect_run
from oraclepack.run.planning.plan import Decision, Plan
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import AllowedPath, jail, read_content

_WRITES = frozenset({Decision.RUN, Decision.RESTORE, Decision.RECHECK, Decision.HELD})
"""Decisions that may change an output, or use an existing file as one."""


class OutputTakenError(InputError):
    """An output's path holds what a run of another pack has recorded."""

    code = "OUTPUT_TAKEN"


class TakenOutput(msgspec.Struct, frozen=True):
    """A file that this run would overwrite, and the run that recorded it."""

    path: str
    pack: str
    run_id: str


def taken_outputs(
    root: Path, pack: Pack, run: RunDir, state: RunState, plan: Plan
) -> tuple[TakenOutput, ...]:
    """Outputs of the plan's steps that are, byte for byte, what another pack's run recorded.

    Runs of the same pack are no others: of the same file, whatever was edited in it, or of the
    same content, wherever it lies. Journals are read only if there is a file that is not ours.
    """
    there = dict(_files(root, pack, state, plan))
    if not there:
        return ()
    mine = path_in_project(pack.path, root)
    outputs: dict[str, TakenOutput] = {}
    for run_id in run_dir.run_ids(root):
        inspected = inspect_run(RunDir(root, run_id))
        created = inspected.state.created
        if created is None or inspected.foreign is not None or is_rehearsal(created.engine):
            continue
        same = created.pack_path == mine or created.pack_hash == pack.pack_hash
        for path in _recorded(root, inspected.state, there):
            if same:
                del there[path]
                outputs.pop(path, None)
            else:
                outputs[path] = TakenOutput(path, created.pack_path, run_id)
    return tuple(outputs[path] for path in sorted(outputs) if outputs[path].run_id != run.run_id)


def refusal_of(outputs: tuple[TakenOutput, ...], pack: str, run_id: str) -> Refusal:
    first = outputs[0]
    more = f" (and {len(outputs) - 1} more)" if len(outputs) > 1 else ""
    return Refusal(
        f"{first.path}{more} is an output of another pack, {first.pack} (run {first.run_id}); "
        f"{pack} (run {run_id}) would overwrite it",
        hint="give one of them an out_dir of its own, or --take-over: the file is then kept as "
        "a backup",
        kind=OutputTakenError,
    )


def warnings_of(outputs: Iterable[TakenOutput]) -> Iterator[str]:
    for one in outputs:
        yield f"{one.path} is taken over from {one.pack} (run {one.run_id}), as --take-over says"


def _files(root: Path, pack: Pack, state: RunState, plan: Plan) -> Iterator[tuple[str, str]]:
    """The files at the outputs of steps that may write, and that this run did not record."""
    for planned in plan.steps:
        step = pack.step(planned.step_id)
        if planned.decision not in _WRITES or step is None:
            continue
        own = {_place(root, path): sha for path, sha in _outputs(state, planned.step_id)}
        declared = {_place(root, out.path.value) for out in step.outputs if out.path.value}
        for path in sorted({*own, *declared} - {None}, key=str):
            data = read_content(root / str(path)).data
            digest = None if data is None else sha256_bytes(data)
            if digest is not None and own.get(path) != digest:
                yield str(path), digest


def _recorded(root: Path, state: RunState, there: dict[str, str]) -> list[str]:
    """Which of the files a run has recorded as they are now."""
    known = {
        (_place(root, path), sha)
        for step_id in state.steps
        for path, sha in _outputs(state, step_id)
    }
    return [path for path, digest in there.items() if (path, digest) in known]


def _outputs(state: RunState, step_id: str) -> Iterator[tuple[str, str]]:
    for output in state.step(step_id).outputs:
        if output.declared_path is not None:
            yield output.declared_path, output.sha256


def _place(root: Path, path: str) -> str | None:
    verdict = jail(root, path)
    return verdict.relative if isinstance(verdict, AllowedPath) else None
