"""What every prompt asks of its answer: four sections and the block of work.

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
WORK = (
    "Work: at the end one block of JSON in exactly this form, with an item for each change that you"
    ' recommend; if nothing should change, "none": true and no items'
)
WORK_BLOCK = """\
[oraclepack-work]
{"verdict": "<one sentence>", "none": false, "items": [{"title": "<imperative>", "kind": "change",
 "files": ["<path>"], "done_when": "<check>", "effort": "S|M|L", "evidence": ["<path:line>"],
 "quote": "<your sentence above>"}]}
[/oraclepack-work]"""
"""`kind` may also be finding, experiment or question; a code fence would end the pack's block."""
RETURN_ONLY = {
    Section.DIRECT_ANSWER: (
        "Return only: Direct answer, 1-8 bullets, citing path:line for each; then the work block."
    ),
    Section.RISKS_UNKNOWNS: "Return only: Risks/unknowns, as bullets.",
    Section.NEXT_EXPERIMENT: "Return only: Next smallest concrete experiment, exactly one action.",
    Section.MISSING_EVIDENCE: (
        "Return only: Missing evidence, as exact files or path patterns to attach next."
    ),
}
"""The same, for packs that ask for one part at a time."""


def work_format(number: int = len(PARTS) + 1) -> str:
    """The part about the block of work, as item of a numbered list."""
    return f"{number}) {WORK}:\n{WORK_BLOCK}"


def answer_format(*, is_chunked: bool = False) -> str:
    """The end of a prompt: what the answer must look like."""
    if is_chunked:
        head = "one part of the answer under its own heading, as the last line says."
        return f"{head}\n{PREMISE}\n{work_format().partition(' ')[2]}\n"
    numbered = [f"{number}) {part}." for number, part in enumerate(PARTS.values(), 1)]
    return "\n".join([PREMISE, *numbered, work_format()])
