"""The contracts of a step's outputs, from the step as it was read."""

from collections.abc import Sequence

from oraclepack.core.contract import ChunkMode, ContractMode, Declared, OutputContract, infer
from oraclepack.core.step import CONTRACT, Output, Step


def contracts_of(
    step: Step,
    *,
    chunks: ChunkMode = ChunkMode.AUTO,
    mode: ContractMode = ContractMode.AUTO,
    named: Sequence[tuple[Output | None, str]] | None = None,
) -> tuple[OutputContract, ...]:
    """What each output of a step must hold, in the order of the outputs.

    `named` are the outputs with their paths, where more is known of them than the text tells.
    """
    markers = [directive for directive in step.directives if directive.name == CONTRACT]
    told = [(output, output.path.shown) for output in step.outputs] if named is None else named
    return infer(
        [_declared(step, output, path) for output, path in told],
        step.code,
        step_line=step.header.span.line + 1,
        marker=markers[-1].value if markers else None,
        marker_line=markers[-1].span.line if markers else None,
        chunks=chunks,
        mode=mode,
    )


def _declared(step: Step, output: Output | None, path: str) -> Declared:
    if output is None:
        return Declared(path)
    prompt = step.calls[output.call].prompt if output.call is not None else None
    line = output.path.span.line
    if prompt is None:
        return Declared(path, line=line)
    return Declared(path, prompt.text, prompt.span.line, line)
