"""The contracts of a step as it was read."""

import pytest

from oraclepack.pack.contract import ContractKind, contracts_of
from tests.packs import BLOCK_LINE, a_pack

FORMAT = "Answer format:"


@pytest.mark.parametrize(
    ("body", "kinds", "lines"),
    [
        pytest.param("true", [], [], id="no output"),
        pytest.param("oracle --write-output a.md -p 'Q'", ["none"], [None], id="no format"),
        pytest.param(
            f"oracle --write-output a.md -p 'Q\\n{FORMAT}'".replace("\\n", "\n"),
            *(["all-sections"], [3]),
            id="a format in the prompt",
        ),
        pytest.param(
            f"# {FORMAT}\n# oraclepack: outputs=a.md", ["all-sections"], [2], id="in a comment"
        ),
        pytest.param(
            "oracle --write-output a-direct-answer.md -p x\noracle --write-output b.md -p y",
            *(["by-suffix", "none"], [2, 3]),
            id="several outputs",
        ),
        pytest.param(
            "oracle --write-output a.md -p x\n# oraclepack: contract=direct-answer",
            *(["single-section"], [3]),
            id="a marker",
        ),
    ],
)
def test_the_line_that_decided_is_the_one_in_the_file(
    body: str, kinds: list[str], lines: list[int | None]
) -> None:
    contracts = contracts_of(a_pack(f"# 01) ask\n{body}\n").steps[0])

    assert [contract.kind for contract in contracts] == [ContractKind(kind) for kind in kinds]
    expected = [None if line is None else line + BLOCK_LINE - 1 for line in lines]
    assert [contract.line for contract in contracts] == expected


def test_known_names_replace_those_of_the_text() -> None:
    step = a_pack('# 01) ask\noracle --write-output "$x.md" -p Q\n').steps[0]
    named = [(step.outputs[0], "a-direct-answer.md"), (None, "b-risks-unknowns.md")]

    contracts = contracts_of(step, named=named)

    assert [(one.path, one.kind, one.line) for one in contracts] == [
        ("a-direct-answer.md", "by-suffix", BLOCK_LINE + 1),
        ("b-risks-unknowns.md", "by-suffix", None),
    ]
