"""Which sections each output must have, and why."""

import pytest

from oraclepack.pack.answer_sections import ALL_SECTIONS, Section
from oraclepack.pack.contract import (
    MARKERS,
    ChunkMode,
    ContractKind,
    ContractMode,
    Contradiction,
    DeclaredOutput,
    by_suffix,
    contradiction,
    infer,
)

DIRECT, RISKS, NEXT, MISSING = ALL_SECTIONS
NONE, ALL, SINGLE, SUFFIX = ContractKind
FORMAT = "Answer format:\n1) Direct answer\n2) Risks/unknowns\n"
ONLY = FORMAT + "Return only: Direct answer\n"
ONE = [DeclaredOutput("out/01.md")]
FOUR = [DeclaredOutput(f"out/01-{section}.md") for section in Section]
PROMPTS = [
    DeclaredOutput("a.md", FORMAT + "Return only: Risks/unknowns"),
    DeclaredOutput("b.md", FORMAT),
]


@pytest.mark.parametrize(
    ("path", "section"),
    [
        ("out/01-surface-direct-answer.md", DIRECT),
        ("01-x-risks-unknowns.md", RISKS),
        ("01-x-next-experiment.md", NEXT),
        ("01-x-missing-evidence.md", MISSING),
        ("01-x-DIRECT-ANSWER.MD", DIRECT),
        ("01-x-direct-answer", DIRECT),
        ("01-x-direct-answer.gpt-5.2.md", DIRECT),
        ("v1.2/01.3-x-direct-answer.md", DIRECT),
        ("out\\01-direct-answer.md", DIRECT),
        ("direct-answer.md", None),
        ("01-direct-answer/x.md", None),
        ("01-direct-answers.md", None),
        ("01-surface.md", None),
        ("", None),
    ],
)
def test_a_file_name_ends_in_a_section(path: str, section: Section | None) -> None:
    assert by_suffix(path) is section


@pytest.mark.parametrize(
    ("outputs", "text", "expected"),
    [
        pytest.param([], FORMAT, [], id="no output, no contract"),
        pytest.param(ONE, "oracle -p x", [(NONE, ())], id="no answer format"),
        pytest.param(ONE, FORMAT, [(ALL, ALL_SECTIONS)], id="an answer format"),
        pytest.param(ONE, ONLY, [(SINGLE, (DIRECT,))], id="an answer format with an only"),
        pytest.param(
            ONE, "Return only: Direct answer", [(NONE, ())], id="an only without a format"
        ),
        pytest.param(
            FOUR[:1], FORMAT, [(ALL, ALL_SECTIONS)], id="one output: its name is no chunk"
        ),
        pytest.param(
            FOUR, ONLY, [(SUFFIX, (section,)) for section in Section], id="four chunks, one each"
        ),
        pytest.param(
            [FOUR[0], DeclaredOutput("notes.md")],
            FORMAT,
            [(SUFFIX, (DIRECT,)), (NONE, ())],
            id="a file that is no chunk",
        ),
        pytest.param(PROMPTS[:1], FORMAT, [(SINGLE, (RISKS,))], id="the call's own prompt"),
        pytest.param(PROMPTS[:1], ONLY, [(SINGLE, (RISKS,))], id="which comes before the step"),
        pytest.param(PROMPTS[:1], "", [(SINGLE, (RISKS,))], id="even if built elsewhere"),
        pytest.param(PROMPTS[1:], ONLY, [(SINGLE, (DIRECT,))], id="the step speaks for it"),
    ],
)
def test_the_steps_own_words_decide(
    outputs: list[DeclaredOutput],
    text: str,
    expected: list[tuple[ContractKind, tuple[Section, ...]]],
) -> None:
    contracts = infer(outputs, text)

    assert [(contract.kind, contract.sections) for contract in contracts] == expected
    assert [contract.path for contract in contracts] == [output.path for output in outputs]
    assert all(contract.because for contract in contracts)


@pytest.mark.parametrize(
    ("chunks", "outputs", "expected"),
    [
        pytest.param(ChunkMode.MULTI, FOUR[:1], [(SUFFIX, (DIRECT,))], id="multi: one is a chunk"),
        pytest.param(ChunkMode.MULTI, ONE, [(NONE, ())], id="multi: no suffix, no demand"),
        pytest.param(
            ChunkMode.SINGLE,
            PROMPTS,
            [(SINGLE, (RISKS,)), (ALL, ALL_SECTIONS)],
            id="single: each by its own prompt",
        ),
        pytest.param(ChunkMode.AUTO, PROMPTS, [(NONE, ()), (NONE, ())], id="auto: by suffix"),
    ],
)
def test_the_chunk_mode_chooses_the_rule(
    chunks: ChunkMode,
    outputs: list[DeclaredOutput],
    expected: list[tuple[ContractKind, tuple[Section, ...]]],
) -> None:
    contracts = infer(outputs, FORMAT, chunks=chunks)

    assert [(contract.kind, contract.sections) for contract in contracts] == expected


@pytest.mark.parametrize(
    ("marker", "kind", "sections"),
    [
        ("none", NONE, ()),
        ("all-sections", ALL, ALL_SECTIONS),
        ("direct-answer", SINGLE, (DIRECT,)),
        (" Missing-Evidence ", SINGLE, (MISSING,)),
    ],
)
def test_a_marker_decides_alone(
    marker: str, kind: ContractKind, sections: tuple[Section, ...]
) -> None:
    for outputs in (ONE, FOUR):
        contracts = infer(outputs, ONLY, marker=marker, mode=ContractMode.ALL_SECTIONS)

        assert {(contract.kind, contract.sections) for contract in contracts} == {(kind, sections)}


def test_an_unknown_marker_is_ignored() -> None:
    assert infer(ONE, ONLY, marker="half") == infer(ONE, ONLY)
    assert "half" not in MARKERS


def test_the_old_strict_mode_hears_no_only() -> None:
    (contract,) = infer(ONE, ONLY, mode=ContractMode.ALL_SECTIONS)

    assert (contract.kind, contract.line) == (ALL, 1)
    assert infer(ONE, "x", mode=ContractMode.ALL_SECTIONS)[0].kind is NONE


@pytest.mark.parametrize(
    ("output", "text", "line"),
    [
        pytest.param(DeclaredOutput("a.md"), ONLY, 43, id="an only, in the step"),
        pytest.param(DeclaredOutput("a.md"), FORMAT, 40, id="a format, in the step"),
        pytest.param(DeclaredOutput("a.md", "Q\n" + ONLY, 50), "", 54, id="an only, in the prompt"),
        pytest.param(
            DeclaredOutput("a.md", "Q\n" + FORMAT, 50), FORMAT, 51, id="a format, in the prompt"
        ),
        pytest.param(DeclaredOutput("a.md", "Q", 50), "", None, id="nothing"),
    ],
)
def test_the_deciding_line_is_reported(output: DeclaredOutput, text: str, line: int | None) -> None:
    (contract,) = infer([output], text, step_line=40)

    assert contract.line == line


@pytest.mark.parametrize(
    ("outputs", "marker"),
    [
        pytest.param(
            [DeclaredOutput("a.md", line=7), DeclaredOutput("b-direct-answer.md", line=7)],
            None,
            id="names",
        ),
        pytest.param(ONE, "none", id="a marker: none"),
        pytest.param(ONE, "all-sections", id="a marker: all"),
        pytest.param(FOUR, "next-experiment", id="a marker: one"),
    ],
)
def test_names_and_markers_have_a_line_too(
    outputs: list[DeclaredOutput], marker: str | None
) -> None:
    contracts = infer(outputs, ONLY, marker=marker, marker_line=7)

    assert {contract.line for contract in contracts} == {7}


@pytest.mark.parametrize(
    ("path", "prompt", "expected"),
    [
        ("01-direct-answer.md", "Return only: Direct answer", None),
        ("01-direct-answer.md", "Q\nReturn only: Risks/unknowns", Contradiction(DIRECT, RISKS, 1)),
        ("01-direct-answer.md", FORMAT, None),
        ("01.md", ONLY, None),
    ],
)
def test_name_and_prompt_can_contradict(
    path: str, prompt: str, expected: Contradiction | None
) -> None:
    assert contradiction(path, prompt) == expected
