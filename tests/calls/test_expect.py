"""What the answer to a call must hold, by the words the shell really made."""

import pytest

from oraclepack.calls.question import contract_of_call
from oraclepack.pack.answer_sections import ALL_SECTIONS, Section
from oraclepack.pack.contract import ContractKind
from oraclepack.pack.model import Step
from tests.packs import a_pack

FORMAT = "Why?\nAnswer format: four sections"
ONLY = "Why?\nAnswer format:\nReturn only: Direct answer"


def step_of(bash: str) -> Step:
    found = a_pack(f"# 01) step\n{bash}\n").step("01")
    assert found is not None
    return found


ONE = step_of('oracle -p "$question" --write-output "$out/x.md"')
TWO = step_of("oracle -p a --write-output x.md\noracle -p b --write-output y.md")
MARKED = step_of("# oraclepack: contract=none\noracle -p a --write-output x.md")


@pytest.mark.parametrize(
    ("step", "path", "prompt", "sections"),
    [
        pytest.param(None, "x.md", FORMAT, ALL_SECTIONS, id="no step: the prompt alone"),
        pytest.param(ONE, "x.md", "Why?", (), id="nothing is asked for"),
        pytest.param(ONE, "x.md", FORMAT, ALL_SECTIONS, id="words only the shell knew"),
        pytest.param(ONE, "x.md", ONLY, (Section.DIRECT_ANSWER,), id="one section"),
        pytest.param(TWO, "x.md", FORMAT, (), id="one of several, without a section"),
        pytest.param(
            TWO, "x-risks-unknowns.md", "Why?", (Section.RISKS_UNKNOWNS,), id="by its name"
        ),
        pytest.param(MARKED, "x.md", FORMAT, (), id="the author decides"),
    ],
)
def test_contract_of_call(
    step: Step | None, path: str, prompt: str, sections: tuple[Section, ...]
) -> None:
    contract = contract_of_call(step, path, prompt)

    assert contract.sections == sections
    assert (contract.kind is ContractKind.NONE) is (not sections)
