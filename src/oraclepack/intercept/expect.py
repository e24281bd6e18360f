"""What the answer to one call must hold, now that its prompt and its path are known."""

from oraclepack.pack.contract import ChunkMode, ContractMode, Declared, OutputContract, infer
from oraclepack.pack.model import CONTRACT, Step


def contract_of_call(
    step: Step | None,
    path: str,
    prompt: str,
    *,
    chunks: ChunkMode = ChunkMode.AUTO,
    mode: ContractMode = ContractMode.AUTO,
) -> OutputContract:
    """The contract of the file a call writes.

    The step's text tells how many outputs there are; which words ask for them is taken from
    the prompt the shell really made.
    """
    if step is None:
        return infer([Declared(path, prompt)], prompt, chunks=chunks, mode=mode)[0]
    others = [Declared(output.path.shown) for output in step.outputs[1:]]
    markers = [directive.value for directive in step.directives if directive.name == CONTRACT]
    found = infer(
        [Declared(path, prompt), *others],
        step.code,
        marker=markers[-1] if markers else None,
        chunks=chunks,
        mode=mode,
    )
    return found[0]
