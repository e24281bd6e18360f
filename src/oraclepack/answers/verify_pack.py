"""The outputs of a whole pack against their contracts."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from oraclepack.answers.output_check import check_output, is_blank
from oraclepack.answers.suspicions import suspicions
from oraclepack.answers.verification import (
    AcceptedOutput,
    Doubt,
    FailedOutput,
    Totals,
    UnresolvedOutput,
    VerifyReport,
)
from oraclepack.journal.events import OutputRevised
from oraclepack.journal.statuses import OutputDoubt, OutputFailure, Verification
from oraclepack.pack.answer_sections import is_rehearsed
from oraclepack.pack.contract import ChunkMode, ContractMode, contracts_of
from oraclepack.pack.model import Output, Pack, Step
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.files import Content

_EXPANSION = re.compile(
    r"\$\{[^}]*\}|\$\(.*\)|`[^`]*`|\$\w+|\$[@*#?!$-]|\*+|\?|\[[^\]]*\]", re.DOTALL
)


class NamedOutput(msgspec.Struct, frozen=True):
    """An output and its path relative to the project root."""

    output: Output | None
    """None: the run recorded it, but the text declares nothing of the kind."""
    path: str | None
    """None: only the running shell knew it, and no run recorded it."""


def named_outputs(step: Step, recorded: Iterable[str] = ()) -> tuple[NamedOutput, ...]:
    """The outputs of a step in the order of the text, then what else a run recorded for it.

    A path with variables stands for every recorded path of its shape: one call in a loop writes
    many files. Where several shapes fit, the one with the most literal characters gets the path.
    """
    declared = {output.path.value for output in step.outputs}
    undeclared = [path for path in dict.fromkeys(recorded) if path not in declared]
    unknown = [output for output in step.outputs if output.path.value is None]
    owners = {path: _owner(path, unknown) for path in undeclared}
    outputs: list[NamedOutput] = []
    for output in step.outputs:
        if output.path.value is not None:
            outputs.append(NamedOutput(output, output.path.value))
            continue
        paths = [path for path, owner in owners.items() if owner is output]
        outputs.extend(NamedOutput(output, path) for path in paths)
        if not paths:
            outputs.append(NamedOutput(output, None))
    outputs.extend(NamedOutput(None, path) for path, owner in owners.items() if owner is None)
    return tuple(outputs)


def _owner(path: str, unknown: Sequence[Output]) -> Output | None:
    fitting: list[tuple[int, Output]] = []
    for output in unknown:
        literal = _EXPANSION.split(output.path.display_text.removeprefix("./"))
        if re.fullmatch(".*".join(map(re.escape, literal)), path, re.DOTALL):
            fitting.append((len(_EXPANSION.sub("", output.path.display_text)), output))
    return max(fitting, key=lambda one: one[0], default=(0, None))[1]


Read = Callable[[str], Content]
"""Reads an output by its path relative to the project root."""


class VerifyOptions(msgspec.Struct, frozen=True):
    """How strictly outputs are judged."""

    chunks: ChunkMode = ChunkMode.AUTO
    mode: ContractMode = ContractMode.AUTO
    require_headings: bool = False
    strict: bool = False
    """A doubt is a failure too."""
    rehearsal: bool = False
    """What is checked is a rehearsal: its answers need only have the structure of one."""


class RecordedOutputs(msgspec.Struct, frozen=True):
    """What a run knows of a pack's outputs."""

    run_id: str
    paths: Mapping[str, tuple[str, ...]] = {}
    """What each step wrote: used for paths that are not written out in the pack."""
    skipped: frozenset[str] = frozenset()
    """The steps that were skipped in the run."""
    accepted: Mapping[str, Mapping[str, OutputRevised]] = {}
    """By step and path: outputs that a person took as they are. Each is valid for that content
    only."""


class _Collected(msgspec.Struct):
    """What was found out about the outputs of one step."""

    outputs: int = 0
    skipped: int = 0
    rehearsed: int = 0
    failures: list[OutputFailure] = []
    doubts: list[OutputDoubt] = []
    unresolved: list[str] = []
    accepted: list[AcceptedOutput] = []


def verify_pack(
    pack: Pack, read: Read, options: VerifyOptions, recorded: RecordedOutputs | None = None
) -> VerifyReport:
    """Check every declared output of a pack, with the help of a run where there is one."""
    steps = sorted(pack.steps, key=lambda step: step.id)
    known = recorded or RecordedOutputs("")
    checked = [(step.id, _check_step(step, read, options, known)) for step in steps]
    failures = tuple(
        FailedOutput(step_id=step, **msgspec.structs.asdict(one))
        for step, found in checked
        for one in found.failures
    )
    doubts = tuple(
        Doubt(step_id=step, **msgspec.structs.asdict(one))
        for step, found in checked
        for one in found.doubts
    )
    doubtful = {(one.step_id, one.path) for one in doubts}
    bad = {(one.step_id, one.path) for one in failures} | (doubtful if options.strict else set())
    outputs = sum(found.outputs for _, found in checked)
    unresolved = [(step, one) for step, found in checked for one in found.unresolved]
    accepted = tuple(one for _, found in checked for one in found.accepted)
    return VerifyReport(
        path=pack.path,
        run_id=recorded.run_id if recorded else None,
        failures=failures,
        doubts=doubts,
        unresolved=tuple(UnresolvedOutput(step_id=step, declared=one) for step, one in unresolved),
        accepted=accepted,
        totals=Totals(
            steps=len(pack.steps),
            outputs=outputs,
            ok=outputs - len(bad),
            failed=len(bad),
            doubtful=len(doubtful),
            unresolved=len(unresolved),
            skipped=sum(found.skipped for _, found in checked),
            accepted=len(accepted),
            rehearsed=sum(found.rehearsed for _, found in checked),
        ),
        ok=not bad,
    )


def verify_step(
    step: Step,
    read: Read,
    options: VerifyOptions,
    written: Iterable[str],
    accepted: Mapping[str, OutputRevised] | None = None,
) -> Verification:
    """Check the outputs of one step; `written` are the paths it is known to have written."""
    known = RecordedOutputs("", {step.id: tuple(written)}, accepted={step.id: accepted or {}})
    found = _check_step(step, read, options, known)
    return Verification(
        passed=not found.failures and not (options.strict and found.doubts),
        checked=found.outputs,
        failures=tuple(found.failures),
        doubts=tuple(found.doubts),
    )


def _check_step(
    step: Step, read: Read, options: VerifyOptions, recorded: RecordedOutputs
) -> _Collected:
    found = _Collected()
    outputs = named_outputs(step, recorded.paths.get(step.id, ()))
    named = [
        (one.output, one.path or (one.output.path.display_text if one.output else ""))
        for one in outputs
    ]
    contracts = contracts_of(step, chunks=options.chunks, mode=options.mode, named=named)
    for one, contract in zip(outputs, contracts, strict=True):
        content = None if one.path is None else read(one.path)
        if step.id in recorded.skipped and (content is None or content.data is None):
            found.skipped += 1
            continue
        if content is None:
            found.unresolved.append(contract.path)
            continue
        found.outputs += 1
        acceptance = recorded.accepted.get(step.id, {}).get(contract.path)
        digest = sha256_bytes(content.data) if content.data is not None else ""
        if acceptance is not None and acceptance.sha256 == digest:
            found.accepted.append(
                AcceptedOutput(
                    step_id=acceptance.step,
                    path=acceptance.declared_path,
                    sha256=acceptance.sha256,
                    reason=acceptance.reason,
                    missing_sections=acceptance.missing_sections,
                    accepted_at=acceptance.at,
                )
            )
            continue
        failure = check_output(
            contract,
            content,
            require_headings=options.require_headings,
            rehearsal=options.rehearsal,
        )
        found.failures += [failure] if failure is not None else []
        text = (content.data or b"").decode("utf-8", "replace")
        if is_blank(text):
            continue
        found.rehearsed += is_rehearsed(text)
        call = one.output.call if one.output else None
        prompt = step.calls[call].prompt if call is not None else None
        found.doubts += [
            OutputDoubt(path=contract.path, code=sign.code, message=sign.message, line=sign.line)
            for sign in suspicions(text, prompt.text if prompt else None, contract.path)
        ]
    return found


def summed(totals: Iterable[Totals]) -> Totals:
    """The totals of several packs together."""
    listed = list(totals)
    names = Totals.__struct_fields__
    return Totals(**{name: sum(getattr(one, name) for one in listed) for name in names})
