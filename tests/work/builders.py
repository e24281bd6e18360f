"""Answers and packs for the tests of this folder."""

from oraclepack.pack.answer_sections import ALL_SECTIONS
from oraclepack.work.backlog import AnsweredStep, AnswerPart, PackAnswers, StepQuestion
from oraclepack.work.records import WorkItems, work_of

HASH = "0123456789abcdef"


def answer(
    direct: str, *, risks: str = "None.", experiment: str = "", missing: str = "None."
) -> str:
    parts = [f"Direct answer\n\n{direct}", f"Risks/unknowns\n\n{risks}"]
    if experiment:
        parts.append(f"Next smallest concrete experiment (1 action)\n\n{experiment}")
    parts.append(f"If evidence is insufficient, attach next\n\n{missing}")
    return "\n\n".join(parts) + "\n"


def step(number: int, text: str, question: str = "", **fields: object) -> AnsweredStep:
    name = f"{number:02}"
    asked = StepQuestion(step_id=name, text=question or f"Is part {number} sound?", **fields)  # type: ignore[arg-type]
    if not text:
        return AnsweredStep(asked)
    return AnsweredStep(asked, (AnswerPart(f"{name}-q.md", text, expected=ALL_SECTIONS),))


def pack(*steps: AnsweredStep) -> PackAnswers:
    return PackAnswers(HASH, steps, pack_name="pack.md")


def outcome(*steps: AnsweredStep) -> WorkItems:
    return work_of(pack(*steps))
