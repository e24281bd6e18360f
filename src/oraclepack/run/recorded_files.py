"""Files at the paths of outputs, and which runs of ours have recorded them as they are now."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

import msgspec

from oraclepack.answers.output_check import check_output, is_blank
from oraclepack.answers.verification import describe_failure
from oraclepack.answers.verify_pack import VerifyOptions
from oraclepack.calls.file_store import answer_caches
from oraclepack.errors import InputError, Refusal
from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.run_dir import RunDir, is_rehearsal
from oraclepack.journal.run_state import RunState
from oraclepack.pack.contract import contracts_of
from oraclepack.pack.model import Output, Pack, Step
from oraclepack.pack.questions import is_question
from oraclepack.run.open_run import path_in_project
from oraclepack.run.planning.plan import Decision, ExistingAnswer, Plan, listed
from oraclepack.run.planning.selection import Existing
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.files import Content
from oraclepack.system.path_jail import AllowedPath, content_at, jail, read_content
from oraclepack.system.printable import quantity
from oraclepack.view.run import read_view

_FEW_FILES = 3
"""A message names so many files; of more it has the number."""
_WRITES = frozenset({Decision.RUN, Decision.RESTORE, Decision.RECHECK, Decision.HELD})
"""Decisions that may change an output, or use an existing file as one."""


class OutputTakenError(InputError):
    """An output's path holds what a run of another pack has recorded."""

    code = "OUTPUT_TAKEN"


class ExistingAnswersError(InputError):
    """Answers are there that no record knows, and nobody said what becomes of them."""

    code = "EXISTING_ANSWERS"


class TakenOutput(msgspec.Struct, frozen=True):
    """A file that this run would overwrite, and the run that recorded it."""

    path: str
    pack: str
    run_id: str


class FoundFiles(msgspec.Struct, frozen=True):
    """Files at the outputs of steps that may write, and that this run did not record."""

    taken: tuple[TakenOutput, ...] = ()
    """What a run of another pack has recorded."""
    existing: tuple[ExistingAnswer, ...] = ()
    """Answers that nothing of ours knows, and those of another pack, which the user may take."""


def find_files(
    root: Path,
    pack: Pack,
    run: RunDir,
    state: RunState,
    plan: Plan,
    options: VerifyOptions,
    imported: Collection[str] = (),
) -> FoundFiles:
    """The files that are in the way of a plan; of steps that are `imported` none is.

    Runs of the same pack are no others: of the same file, whatever was edited in it, or of the
    same content, wherever it lies. A step that has begun in this run was decided about before.
    """
    there = dict(_files(root, pack, state, plan))
    mine = path_in_project(pack.path, root)
    taken: dict[str, TakenOutput] = {}
    known: set[str] = set()
    for run_id, created, path in _recorders(root, there):
        if created.pack_path == mine or created.pack_hash == pack.pack_hash:
            known.add(path)
        else:
            taken[path] = TakenOutput(path, created.pack_path, run_id)
    stored = _stored_hashes(root) if there.keys() - known - taken.keys() else frozenset()
    known |= {path for path, sha in there.items() if sha in stored and path not in taken}
    new = [
        step
        for planned in plan.to_run
        if planned.step_id not in imported
        and (step := pack.step(planned.step_id))
        and not state.step(step.id).attempts
    ]
    return FoundFiles(
        tuple(
            one
            for path, one in sorted(taken.items())
            if path not in known and one.run_id != run.run_id
        ),
        tuple(
            answer
            for step in new
            for answer in _existing(root, step, there.keys() - known, options)
        ),
    )


def _stored_hashes(root: Path) -> frozenset[str]:
    """The answers in the cache: a question that asks for one of them gets it back."""
    entries = (one for cache in answer_caches(root, user=True) for one in cache.entries())
    return frozenset(one.entry.sha256 for one in entries if one.foreign is None)


def _existing(
    root: Path, step: Step, files: AbstractSet[str], options: VerifyOptions
) -> Iterator[ExistingAnswer]:
    """The answers of a step that are among these files."""
    contracts = contracts_of(step, chunks=options.chunks, mode=options.mode)
    found: list[ExistingAnswer] = []
    is_whole = True
    for output, contract in zip(step.outputs, contracts, strict=True):
        paths = answer_paths(step, output)
        for path in paths or (output.path.value,):
            content = content_at(root, path) if path is not None else Content()
            failure = check_output(
                msgspec.structs.replace(contract, path=path or ""),
                content,
                require_headings=options.require_headings,
            )
            is_met = path is not None and failure is None
            is_whole &= is_met
            if not paths or path is None or _place(root, path) not in files:
                continue
            if content.data is None or is_blank(content.data.decode("utf-8", "replace")):
                continue
            lacks = (
                ""
                if failure is None
                else describe_failure(failure.io_error, failure.missing_sections, failure.reason)
            )
            found.append(ExistingAnswer(step.id, path, lacks))
    for one in found:
        yield msgspec.structs.replace(one, completes=is_whole)


def answer_paths(step: Step, output: Output) -> tuple[str, ...]:
    """Where the answer of a question goes; nothing for an output of another kind."""
    path = output.path.value
    call = step.calls[output.call] if output.call is not None else None
    return () if path is None or call is None or not is_question(call) else (path,)


def with_existing(plan: Plan, found: FoundFiles, existing: Existing | None, run: RunDir) -> Plan:
    """The plan after the user's word on the files that are there."""
    match existing:
        case Existing.ADOPT:
            return _adopting(plan, found, run)
        case Existing.REPLACE:
            names = {one.path: f", of {one.pack} (run {one.run_id})," for one in found.taken}
            paths = sorted({*names, *(one.path for one in found.existing)})
            warnings = (
                f"{path}{names.get(path, '')} is replaced, as --existing replace says; the old "
                f"file is kept below {run.relative}"
                for path in paths
            )
            return msgspec.structs.replace(plan, warnings=(*plan.warnings, *warnings))
    refusal = plan.refusal
    if found.taken:
        refusal = refusal or _refused_overwriting(found.taken, run)
    elif found.existing:
        refusal = refusal or _undecided(found.existing)
    return msgspec.structs.replace(plan, existing=found.existing, refusal=refusal)


def _adopting(plan: Plan, found: FoundFiles, run: RunDir) -> Plan:
    steps = []
    for step in plan.steps:
        mine = [one for one in found.existing if one.step_id == step.step_id]
        unmet = (
            f"{one.path} was there before and is asked for: {one.lacks}"
            for one in mine
            if one.lacks
        )
        adopts = tuple(one.path for one in mine if not one.lacks)
        changed = msgspec.structs.replace(step, adopts=adopts, warnings=(*step.warnings, *unmet))
        if mine and mine[0].completes:
            reason = f"{listed(adopts)} was there before and meets its contract"
            changed = msgspec.structs.replace(changed, decision=Decision.ADOPT, reason=reason)
        steps.append(changed)
    adopted = {path for step in steps for path in step.adopts}
    taken = tuple(one for one in found.taken if one.path not in adopted)
    refusal = plan.refusal or (_refused_overwriting(taken, run) if taken else None)
    return msgspec.structs.replace(plan, steps=tuple(steps), refusal=refusal)


_WAYS = (
    "--existing adopt takes those that meet their contracts and asks for the others; "
    "--existing replace asks for all of them and keeps the old files"
)


def _refused_overwriting(outputs: tuple[TakenOutput, ...], run: RunDir) -> Refusal:
    first = outputs[0]
    more = f" (and {len(outputs) - 1} more)" if len(outputs) > 1 else ""
    return Refusal(
        f"{first.path}{more} is an output of another pack, {first.pack} (run {first.run_id}); "
        f"run {run.run_id} would overwrite it",
        hint=f"give one of them an out_dir of its own; or {_WAYS}",
        kind=OutputTakenError,
    )


def existing_text(answers: Sequence[ExistingAnswer]) -> str:
    """How many answers are there, and how many of them meet their contracts."""
    met = sum(not one.lacks for one in answers)
    first = ", ".join(one.path for one in answers[:_FEW_FILES])
    more = f" and {len(answers) - _FEW_FILES} more" if len(answers) > _FEW_FILES else ""
    return (
        f"{quantity(len(answers), 'answer')} that no record knows: {first}{more}; "
        f"{met} of {len(answers)} meet their contract"
    )


def _undecided(answers: Sequence[ExistingAnswer]) -> Refusal:
    return Refusal(
        f"there {'is' if len(answers) == 1 else 'are'} {existing_text(answers)}",
        hint=_WAYS,
        kind=ExistingAnswersError,
    )


def present_outputs(
    root: Path, run_id: str, state: RunState, paths: Iterable[str]
) -> dict[str, str]:
    """The hashes of the files at outputs of a run, by path.

    Left out is what can be overwritten: a file that holds nothing, as a power cut leaves it, one
    that another run recorded and keeps, and an answer as a call of the run published it, which is
    no edit: a power cut took what its step had added.
    """
    recorded = {pair for step_id in state.steps for pair in _outputs(state, step_id)}
    recorded |= {(o.declared_path, o.sha256) for step in state.steps.values() for o in step.edited}
    published = {
        (call.outcome.output_path, call.outcome.sha256)
        for step in state.steps.values()
        for call in step.invocations
        if call.outcome is not None
    }
    hashes: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for path in paths:
        data = read_content(root / path).data
        if data is None:
            continue
        hashes[path] = sha256_bytes(data)
        place = _place(root, path)
        if (path, hashes[path]) in recorded:
            continue
        if not data.strip(b"\0 \t\r\n") or (place, hashes[path]) in published:
            del hashes[path]
        elif place is not None:
            unknown[place] = hashes[path]
    others = {place for recorder, _, place in _recorders(root, unknown) if recorder != run_id}
    return {path: sha for path, sha in hashes.items() if _place(root, path) not in others}


def _recorders(root: Path, there: Mapping[str, str]) -> Iterator[tuple[str, j.RunCreated, str]]:
    """The runs that recorded one of these files with this hash: run, its beginning, the file.

    Journals are read only where there is a file to ask about.
    """
    for run_id in run_dir.run_ids(root) if there else ():
        view = read_view(RunDir(root, run_id))
        created = view.state.created
        if created is None or view.foreign is not None or is_rehearsal(created.engine):
            continue
        steps = view.state.steps
        known = {
            (_place(root, path), sha) for one in steps for path, sha in _outputs(view.state, one)
        }
        # A short answer that a person corrected since is still the answer of that run.
        unmet = {
            _place(root, path)
            for one in steps
            if view.state.step(one).misses_contract
            for path, _ in _outputs(view.state, one)
        }
        yield from (
            (run_id, created, path)
            for path, sha in there.items()
            if (path, sha) in known or path in unmet
        )


def _files(root: Path, pack: Pack, state: RunState, plan: Plan) -> Iterator[tuple[str, str]]:
    """The files at the outputs of steps that may write, and that this run did not record."""
    for planned in plan.steps:
        step = pack.step(planned.step_id)
        if planned.decision not in _WRITES or step is None:
            continue
        own = {_place(root, path): sha for path, sha in _outputs(state, planned.step_id)}
        paths = [
            path for out in step.outputs for path in answer_paths(step, out) or [out.path.value]
        ]
        declared = {_place(root, path) for path in paths if path}
        for path in sorted({*own, *declared} - {None}, key=str):
            data = read_content(root / str(path)).data
            digest = None if data is None else sha256_bytes(data)
            if digest is not None and own.get(path) != digest:
                yield str(path), digest


def _outputs(state: RunState, step_id: str) -> Iterator[tuple[str, str]]:
    for output in state.step(step_id).outputs:
        if output.declared_path is not None:
            yield output.declared_path, output.sha256


def _place(root: Path, path: str) -> str | None:
    verdict = jail(root, path)
    return verdict.relative if isinstance(verdict, AllowedPath) else None
