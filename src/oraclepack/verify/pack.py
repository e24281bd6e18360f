"""The outputs of a whole pack against their contracts."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from oraclepack.core.content import Content
from oraclepack.core.contract import ChunkMode, ContractMode, OutputContract
from oraclepack.core.expected import contracts_of
from oraclepack.core.pack import Pack
from oraclepack.core.step import Output, Step
from oraclepack.core.verified import Doubt, Failed, Totals, Unresolved, Verified
from oraclepack.verify.outputs import check_output
from oraclepack.verify.suspicions import suspicions

Read = Callable[[str], Content]
"""Reads an output by its path relative to the project root."""


class Manner(msgspec.Struct, frozen=True):
    """How strictly outputs are judged."""

    chunks: ChunkMode = ChunkMode.AUTO
    mode: ContractMode = ContractMode.AUTO
    require_headings: bool = False
    strict: bool = False
    """A doubt is a failure too."""


class _Found(msgspec.Struct):
    outputs: int = 0
    failures: list[Failed] = msgspec.field(default_factory=list)
    doubts: list[Doubt] = msgspec.field(default_factory=list)
    unresolved: list[Unresolved] = msgspec.field(default_factory=list)


def verify_pack(
    pack: Pack,
    read: Read,
    manner: Manner,
    recorded: Mapping[str, tuple[str, ...]] | None = None,
    run_id: str | None = None,
) -> Verified:
    """Check every declared output of a pack.

    `recorded` are the output paths that a run wrote down for each step: they stand in for paths
    that the text does not tell.
    """
    found = _Found()
    for step in sorted(pack.steps, key=lambda step: step.id):
        _check_step(step, read, manner, (recorded or {}).get(step.id, ()), found)
    bad = {(one.step_id, one.path) for one in found.failures}
    if manner.strict:
        bad |= {(one.step_id, one.path) for one in found.doubts}
    return Verified(
        path=pack.path,
        run_id=run_id,
        failures=tuple(found.failures),
        doubts=tuple(found.doubts),
        unresolved=tuple(found.unresolved),
        totals=Totals(
            steps=len(pack.steps),
            outputs=found.outputs,
            ok=found.outputs - len(bad),
            failed=len(found.failures),
            doubtful=len({(one.step_id, one.path) for one in found.doubts}),
            unresolved=len(found.unresolved),
        ),
        ok=not bad,
    )


def _check_step(
    step: Step, read: Read, manner: Manner, recorded: tuple[str, ...], found: _Found
) -> None:
    contracts = contracts_of(step, chunks=manner.chunks, mode=manner.mode)
    told = {output.path.value for output in step.outputs if output.path.value is not None}
    spare = [path for path in recorded if path not in told]
    for output, contract in zip(step.outputs, contracts, strict=True):
        path = output.path.value
        if path is None:
            path = spare.pop(0) if spare else None
        if path is None:
            found.unresolved.append(Unresolved(step_id=step.id, declared=contract.path))
        else:
            _check(step, output, contract, path, read(path), manner, found)


def _check(
    step: Step,
    output: Output,
    contract: OutputContract,
    path: str,
    content: Content,
    manner: Manner,
    found: _Found,
) -> None:
    found.outputs += 1
    failure = check_output(contract, content, require_headings=manner.require_headings)
    if failure is not None:
        found.failures.append(
            Failed(
                step_id=step.id,
                path=path,
                contract=failure.contract,
                missing_sections=failure.missing_sections,
                io_error=failure.io_error,
            )
        )
    if content.data is None or not content.data.strip():
        return
    prompt = step.calls[output.call].prompt if output.call is not None else None
    text = content.data.decode("utf-8", "replace")
    found.doubts.extend(
        Doubt(step_id=step.id, path=path, code=sign.code, message=sign.message, line=sign.line)
        for sign in suspicions(text, prompt.text if prompt else None)
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
    )
