"""What every prompt asks of its answer: four sections and the work lines.

The one place of these words: `generate`, `new`, the canonical prompt for agents and the guides use
them, and `answers/` reads what comes back.
"""

from oraclepack.pack.answer_sections import Section

PREMISE = "If a premise of the question is false, say so first."
PARTS = {
    Section.DIRECT_ANSWER: "Direct answer (1-8 bullets, each citing path:line of an attached file)",
    Section.RISKS_UNKNOWNS: "Risks/unknowns (bullets)",
    Section.NEXT_EXPERIMENT: "Next smallest concrete experiment (exactly one action)",
    Section.MISSING_EVIDENCE: (
        "If evidence is insufficient, name the exact missing file or path pattern to attach next"
    ),
}
"""The four sections, as a prompt asks for them."""
WORK_LINE = (
    "WORK: <imperative title> | files: <paths> | done when: <check> | effort: S|M|L"
    " | evidence: <path:line>"
)
NO_WORK = "WORK: none"
WORK = (
    "Work: at the end, for each change that you recommend, one plain line of its own, without"
    " bullet or backticks, in exactly this form"
)
RETURN_ONLY = {
    Section.DIRECT_ANSWER: (
        "Return only: Direct answer, 1-8 bullets, citing path:line for each; then the WORK lines."
    ),
    Section.RISKS_UNKNOWNS: "Return only: Risks/unknowns, as bullets.",
    Section.NEXT_EXPERIMENT: "Return only: Next smallest concrete experiment, exactly one action.",
    Section.MISSING_EVIDENCE: (
        "Return only: Missing evidence, as exact files or path patterns to attach next."
    ),
}
"""The same, for packs that ask for one part at a time."""


def work_format(number: int = len(PARTS) + 1) -> str:
    """The part about the work lines, as item of a numbered list."""
    return f"{number}) {WORK}:\n{WORK_LINE}\nIf nothing should change, the one line: {NO_WORK}"


def answer_format(*, is_chunked: bool = False) -> str:
    """The end of a prompt: what the answer must look like."""
    if is_chunked:
        head = "one part of the answer under its own heading, as the last line says."
        return f"{head}\n{PREMISE}\n{work_format().partition(' ')[2]}\n"
    numbered = [f"{number}) {part}." for number, part in enumerate(PARTS.values(), 1)]
    return "\n".join([PREMISE, *numbered, work_format()])
