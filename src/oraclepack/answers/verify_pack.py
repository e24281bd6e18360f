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
from oraclepack.pack.contract import ChunkMode, ContractMode, OutputContract, contracts_of
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
    fitting = [output for output in unknown if _shape(output).fullmatch(path)]
    return max(fitting, key=_literal_length, default=None)


def _shape(output: Output) -> re.Pattern[str]:
    literal = _EXPANSION.split(output.path.display_text.removeprefix("./"))
    return re.compile(".*".join(map(re.escape, literal)), re.DOTALL)


def _literal_length(output: Output) -> int:
    """How many characters of a path are literal."""
    return len(_EXPANSION.sub("", output.path.display_text))


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
    outputs: int = 0
    skipped: int = 0
    rehearsed: int = 0
    failures: list[FailedOutput] = msgspec.field(default_factory=list)
    doubts: list[Doubt] = msgspec.field(default_factory=list)
    unresolved: list[UnresolvedOutput] = msgspec.field(default_factory=list)
    accepted: list[AcceptedOutput] = msgspec.field(default_factory=list)


def verify_pack(
    pack: Pack, read: Read, options: VerifyOptions, recorded: RecordedOutputs | None = None
) -> VerifyReport:
    """Check every declared output of a pack, with the help of a run where there is one."""
    collected = _Collected()
    for step in sorted(pack.steps, key=lambda step: step.id):
        _check_step(step, read, options, recorded or RecordedOutputs(""), collected)
    bad = {(one.step_id, one.path) for one in collected.failures}
    if options.strict:
        bad |= {(one.step_id, one.path) for one in collected.doubts}
    return VerifyReport(
        path=pack.path,
        run_id=recorded.run_id if recorded else None,
        failures=tuple(collected.failures),
        doubts=tuple(collected.doubts),
        unresolved=tuple(collected.unresolved),
        accepted=tuple(collected.accepted),
        totals=Totals(
            steps=len(pack.steps),
            outputs=collected.outputs,
            ok=collected.outputs - len(bad),
            failed=len(bad),
            doubtful=len({(one.step_id, one.path) for one in collected.doubts}),
            unresolved=len(collected.unresolved),
            skipped=collected.skipped,
            accepted=len(collected.accepted),
            rehearsed=collected.rehearsed,
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
    collected = _Collected()
    known = RecordedOutputs("", {step.id: tuple(written)}, accepted={step.id: accepted or {}})
    _check_step(step, read, options, known, collected)
    return Verification(
        passed=not collected.failures and not (options.strict and collected.doubts),
        checked=collected.outputs,
        failures=tuple(
            OutputFailure(
                path=one.path,
                contract=one.contract,
                missing_sections=one.missing_sections,
                io_error=one.io_error,
                reason=one.reason,
            )
            for one in collected.failures
        ),
        doubts=tuple(
            OutputDoubt(path=one.path, code=one.code, message=one.message, line=one.line)
            for one in collected.doubts
        ),
    )


def _check_step(
    step: Step, read: Read, options: VerifyOptions, recorded: RecordedOutputs, collected: _Collected
) -> None:
    outputs = named_outputs(step, recorded.paths.get(step.id, ()))
    contracts = contracts_of(
        step,
        chunks=options.chunks,
        mode=options.mode,
        named=[_display_path(one) for one in outputs],
    )
    for one, contract in zip(outputs, contracts, strict=True):
        content = None if one.path is None else read(one.path)
        if step.id in recorded.skipped and (content is None or content.data is None):
            collected.skipped += 1
        elif content is None:
            collected.unresolved.append(UnresolvedOutput(step_id=step.id, declared=contract.path))
        else:
            collected.outputs += 1
            acceptance = recorded.accepted.get(step.id, {}).get(contract.path)
            if acceptance is not None and _is_that(content, acceptance):
                collected.accepted.append(_accepted(acceptance))
                continue
            _check(step, one.output, contract, content, options, collected)


def _is_that(content: Content, acceptance: OutputRevised) -> bool:
    return content.data is not None and sha256_bytes(content.data) == acceptance.sha256


def _accepted(acceptance: OutputRevised) -> AcceptedOutput:
    return AcceptedOutput(
        step_id=acceptance.step,
        path=acceptance.declared_path,
        sha256=acceptance.sha256,
        reason=acceptance.reason,
        missing_sections=acceptance.missing_sections,
        accepted_at=acceptance.at,
    )


def _display_path(one: NamedOutput) -> tuple[Output | None, str]:
    declared = one.output.path.display_text if one.output else ""
    return one.output, one.path or declared


def _check(
    step: Step,
    output: Output | None,
    contract: OutputContract,
    content: Content,
    options: VerifyOptions,
    collected: _Collected,
) -> None:
    failure = check_output(
        contract,
        content,
        require_headings=options.require_headings,
        rehearsal=options.rehearsal,
    )
    if failure is not None:
        collected.failures.append(
            FailedOutput(
                step_id=step.id,
                path=failure.path,
                contract=failure.contract,
                missing_sections=failure.missing_sections,
                io_error=failure.io_error,
                reason=failure.reason,
            )
        )
    text = (content.data or b"").decode("utf-8", "replace")
    if is_blank(text):
        return
    collected.rehearsed += is_rehearsed(text)
    call = output.call if output else None
    prompt = step.calls[call].prompt if call is not None else None
    collected.doubts.extend(
        Doubt(
            step_id=step.id,
            path=contract.path,
            code=sign.code,
            message=sign.message,
            line=sign.line,
        )
        for sign in suspicions(text, prompt.text if prompt else None, contract.path)
    )


def summed(totals: Iterable[Totals]) -> Totals:
    """The totals of several packs together."""
    listed = list(totals)
    return Totals(
        steps=sum(one.steps for one in listed),
        outputs=sum(one.outputs for one in listed),
        ok=sum(one.ok for one in listed),
        failed=sum(one.failed for one in listed),
        doubtful=sum(one.doubtful for one in listed),
        unresolved=sum(one.unresolved for one in listed),
        skipped=sum(one.skipped for one in listed),
        accepted=sum(one.accepted for one in listed),
        rehearsed=sum(one.rehearsed for one in listed),
    )
