"""Builders of answered steps."""

from oraclepack.work.backlog import AnsweredStep, AnswerPart, PackAnswers, Record, StepQuestion
from oraclepack.work.evidence import QuestionFile
from oraclepack.work.records import WorkItems, actionize

PACK_HASH = "ab12cd34" + "0" * 56
FILES = (
    QuestionFile("src/cache.py", "h", "h", 40),
    QuestionFile("src/jobs.py", "h", "h", 120),
    QuestionFile("src/moved.py", "h", "other", 40),
    QuestionFile("src/gone.py", "h"),
)


def a_step(step_id: str, text: str | None, **about: object) -> AnsweredStep:
    parts = () if text is None else (AnswerPart(f"{step_id}-answer.md", text),)
    question = StepQuestion(step_id, **about)  # type: ignore[arg-type]
    return AnsweredStep(question, parts, attached=FILES)


def a_pack(*steps: AnsweredStep) -> PackAnswers:
    return PackAnswers(PACK_HASH, steps, "2026-01-09__3f2c1ab__ab12cd34", "pack.md")


def work_of(**texts: str | None) -> WorkItems:
    """What some answers come to, each named by its step: `s01="…"`."""
    return actionize(a_pack(*(a_step(name[1:], text) for name, text in texts.items())))


def records_of(**texts: str | None) -> list[Record]:
    return list(work_of(**texts).records)


def direct(*items: str) -> str:
    """An answer that has nothing but a direct answer."""
    return "## Direct answer\n\n" + "".join(f"- {item}\n" for item in items)
