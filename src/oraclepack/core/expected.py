"""The contracts of a step's outputs, from the step as it was read."""

from oraclepack.core.contract import ChunkMode, ContractMode, Declared, OutputContract, infer
from oraclepack.core.step import Output, Step


def contracts_of(
    step: Step,
    *,
    chunks: ChunkMode = ChunkMode.AUTO,
    mode: ContractMode = ContractMode.AUTO,
) -> tuple[OutputContract, ...]:
    """What each declared output of a step must hold, in the order of the outputs."""
    markers = [directive.value for directive in step.directives if directive.name == "contract"]
    return infer(
        [_declared(step, output) for output in step.outputs],
        step.code,
        step_line=step.header.span.line + 1,
        marker=markers[-1] if markers else None,
        chunks=chunks,
        mode=mode,
    )


def _declared(step: Step, output: Output) -> Declared:
    prompt = step.calls[output.call].prompt if output.call is not None else None
    if prompt is None:
        return Declared(output.path.shown)
    return Declared(output.path.shown, prompt.text, prompt.span.line)
