"""Fuzzing what judges answers: contracts, the verifier, the actionizer, failures of a tool."""

from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from oraclepack.answers.output_check import check_output, is_blank
from oraclepack.answers.suspicions import suspicions
from oraclepack.pack.answer_sections import Section
from oraclepack.pack.contract import ChunkMode, ContractMode, DeclaredOutput, infer
from oraclepack.system.files import Content
from oraclepack.tools.oracle_failures import classify
from oraclepack.work.backlog import AnsweredStep, AnswerPart, Export, PackAnswers, StepQuestion
from oraclepack.work.records import actionize
from tests.fuzz import texts
from tests.fuzz.target import Target
from tests.work.answers import FILES, PACK_HASH

PATHS = (
    "a.md",
    "01-direct-answer.md",
    "x-missing-evidence.gpt.md",
    "b.json",
    "c",
    ".md",
    "d/é.txt",
)
PROMPTS = (
    None,
    "",
    "Answer format:\n1) Direct answer\n2) Risks\n3) Next experiment\n4) Missing evidence\n",
    "Answer format\nReturn only: Direct answer",
    "Answer only with the direct answer.",
    "Why is the cache not locked? " * 5,
)
prompts = st.sampled_from(PROMPTS) | texts.answers

judged = st.tuples(
    texts.answers | st.binary(max_size=80),
    st.lists(st.tuples(st.sampled_from(PATHS), prompts), min_size=1, max_size=4),
    prompts,
    st.sampled_from((None, "none", "all-sections", "direct-answer", " NONE ", "nonsense")),
    st.tuples(st.sampled_from(ChunkMode), st.sampled_from(ContractMode), st.booleans()),
)


def an_answer_is_judged(case: tuple[Any, ...]) -> None:
    answer, outputs, step_text, marker, (chunks, mode, headings) = case
    data = answer.encode() if isinstance(answer, str) else answer
    declared = [DeclaredOutput(path, prompt) for path, prompt in outputs]
    contracts = infer(declared, step_text or "", marker=marker, chunks=chunks, mode=mode)
    text = data.decode("utf-8", "replace")
    lines = text.count("\n") + 1

    assert [contract.path for contract in contracts] == [path for path, _ in outputs]
    for contract, (path, prompt) in zip(contracts, outputs, strict=True):
        failure = check_output(contract, Content(data), require_headings=headings)
        if failure is None:
            assert not is_blank(text), "nothing is no answer"
        stricter = check_output(contract, Content(data), require_headings=True)
        assert stricter is not None or failure is None, "headings only make it stricter"
        assert check_output(contract, Content(None, "missing")) is not None
        for sign in suspicions(text, prompt, path):
            assert 1 <= sign.line <= lines
            assert sign.message


_QUESTION = st.builds(
    StepQuestion,
    step_id=st.sampled_from([f"{number:02}" for number in range(1, 8)]),
    title=texts.valid,
    category=st.sampled_from((None, "invariants", "nonsense", "")),
    reference=st.none() | texts.valid,
    expected_artifacts=st.lists(texts.valid, max_size=2).map(tuple),
    roi=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    effort=st.none() | st.floats(0, 10),
)
_PART = st.builds(
    AnswerPart,
    path=st.sampled_from(PATHS),
    text=texts.answers,
    section=st.none() | st.sampled_from(Section),
)
_STEP = st.builds(
    AnsweredStep,
    question=_QUESTION,
    parts=st.lists(_PART, max_size=2, unique_by=lambda part: part.path).map(tuple),
    absent=st.sampled_from(("", "it failed")),
    silent=st.booleans(),
    attached=st.none() | st.just(FILES) | st.just(()),
    attached_known=st.booleans(),
)
worked = st.tuples(
    st.lists(_STEP, max_size=5, unique_by=lambda step: step.question.step_id),
    texts.answers,
    st.randoms(use_true_random=False),
)


def answers_become_the_same_work(case: tuple[Any, ...]) -> None:
    steps, earlier, chance = case
    pack = PackAnswers(PACK_HASH, tuple(steps), "2026-01-09__3f2c1ab__ab12cd34", "pack.md")
    first = _bytes(pack, earlier)
    mixed = [replace(step, parts=step.parts[::-1]) for step in steps]
    chance.shuffle(mixed)

    assert _bytes(replace(pack, steps=tuple(mixed)), earlier) == first
    again = _bytes(pack, first["backlog.md"])
    assert _bytes(pack, again["backlog.md"]) == again, "what a person kept stays as it is"
    ids = [record.task_id for record in actionize(pack).records]
    assert len(ids) == len(set(ids))


def _bytes(pack: PackAnswers, earlier: str) -> dict[str, str]:
    artifacts = actionize(pack, tuple(Export), earlier).artifacts
    return {one.path: one.text.encode().decode() for one in artifacts}


TOOL_ROWS = (
    "ERROR: Rate limit reached. Please try again in 20s.",
    "ERROR: You exceeded your current quota",
    "ERROR: ",
    "Transport: client-timeout",
    "Answer:",
    "429 Too Many Requests",
    "A session with the same prompt is already running (x). Use --force",
    "error: unknown option '--x'",
    "try again in 99999999999999999999999999999h",
    "socket hang up",
    "Retry after 1.5.5s",
)


def a_failure_has_a_reason(case: tuple[str, str]) -> None:
    failure = classify(*case)

    assert failure.code
    assert failure.message
    assert "\n" not in failure.message
    assert failure.wait is None or failure.wait >= 0


TARGETS = (
    Target(
        "verifier",
        "any answer is judged, blank ones never pass, and doubts name one of its lines",
        judged,
        an_answer_is_judged,
        few=80,
    ),
    Target(
        "actionizer",
        "any answers become the same bytes in any order, and keep a person's text",
        worked,
        answers_become_the_same_work,
        few=25,
        share=0.3,
    ),
    Target(
        "tool failures",
        "whatever a tool says, its failure has a code and one line of reason",
        st.tuples(texts.lines_of(*TOOL_ROWS, most=6), texts.lines_of(*TOOL_ROWS, most=3)),
        a_failure_has_a_reason,
        few=60,
    ),
)
