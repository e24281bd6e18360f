"""OP3xx: the questions of a pack. Headers are judged in `header_rules.py`."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

import msgspec

from oraclepack.errors import did_you_mean
from oraclepack.lint.finding import Severity
from oraclepack.lint.quoted_evidence import without_evidence
from oraclepack.lint.rule import Problem, Subject, rule
from oraclepack.pack.model import (
    CATEGORIES,
    HEADER_FIELDS,
    META_BLOCK,
    META_OPENS,
    PLACEHOLDER,
    CoverageLine,
    Step,
)
from oraclepack.pack.questions import asking_calls
from oraclepack.pack.script import Span
from oraclepack.pack.tool_call import Prompt, ToolCall

SIMILAR = 0.9
"""The share of words, in their order, that two questions have in common when they are alike."""
MOST_QUESTIONS = 200
"""A pack with more is refused anyway; comparing each with each would take too long."""
_MOST_WORDS = 2_000
_EXACT = 1e-9

_FIELD = re.compile(rf"\s*(?:{'|'.join((*HEADER_FIELDS, 'QuestionId'))})\s*[:=]", re.IGNORECASE)
_TOKEN = re.compile(r"[\w./:#-]*\w(?:\(\))?")
_NAME = re.compile(r"[/_.:(]|(?<=[a-z])[A-Z]|[a-zA-Z]\d")
"""What makes a token a name from the code: a path, a symbol, a call, a version."""
_ZEROS = str.maketrans("123456789", "000000000")
_SMALL_WORDS = frozenset(
    {
        *("a", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can"),
        *("could", "do", "does", "for", "from", "had", "has", "have", "how", "if", "in"),
        *("into", "is", "it", "its", "may", "might", "of", "on", "or", "should", "so", "such"),
        *("than", "that", "the", "their", "them", "then", "there", "these", "they", "this"),
        *("those", "to", "was", "we", "were", "what", "when", "where", "which", "who", "will"),
        *("with", "would"),
    }
)


_Calls = Sequence[Sequence[ToolCall]]
"""The calls of a step, by question."""
_Row = tuple[str, str]
"""A line of a prompt, and the form in which prompts may share it."""


class QuestionWords(msgspec.Struct, frozen=True):
    """What one question of a step says, reduced to what can be compared."""

    step: Step
    span: Span
    words: tuple[str, ...]
    """What is its own: without the lines that most prompts share."""
    distinct: frozenset[str]
    names: frozenset[str]
    text: str
    """All of it, for where none of the words is its own."""


def duplicates(
    steps: Sequence[Step], calls: Sequence[_Calls]
) -> Iterator[tuple[QuestionWords, QuestionWords]]:
    """Each question that repeats one of another step, after the first that it repeats."""
    asked_questions = [
        (step, prompt)
        for step, groups in zip(steps, calls, strict=True)
        for group in groups
        if (prompt := group[0].prompt) is not None and prompt.complete
    ]
    if not 1 < len(asked_questions) <= MOST_QUESTIONS:
        return
    texts = [_rows(without_evidence(prompt.text)) for _, prompt in asked_questions]
    shared = _shared(texts)
    questions = [
        _question(step, prompt, rows, shared)
        for (step, prompt), rows in zip(asked_questions, texts, strict=True)
    ]
    for index, question in enumerate(questions):
        for earlier in questions[:index]:
            if earlier.step.id != question.step.id and _alike(earlier, question):
                yield earlier, question
                break


def _rows(text: str) -> list[_Row]:
    own = META_BLOCK.sub("", text) if META_OPENS in text else text
    # The whole text at once, and without a pattern: a prompt has many lines.
    masked = own.lower().translate(_ZEROS)
    while "00" in masked:
        masked = masked.replace("00", "0")
    return [
        (line, " ".join(folded.split()))
        for line, folded in zip(own.splitlines(), masked.splitlines(), strict=True)
        if not (("=" in line or ":" in line) and _FIELD.match(line))
    ]


def _shared(texts: Sequence[Sequence[_Row]]) -> frozenset[str]:
    """The lines that more than half of the prompts have, whatever the numbers in them."""
    counts = Counter(masked for rows in texts for masked in {masked for _, masked in rows})
    return frozenset(line for line, times in counts.items() if times * 2 > len(texts))


def _question(
    step: Step, prompt: Prompt, rows: Sequence[_Row], shared: frozenset[str]
) -> QuestionWords:
    own = _TOKEN.findall("\n".join(line for line, masked in rows if masked not in shared))
    names = frozenset(token for token in set(own) if _NAME.search(token))
    words = _words(own)
    text = "\n".join(line for line, _ in rows)
    return QuestionWords(step, prompt.span, words, frozenset(words), names, text)


def _words(tokens: Sequence[str]) -> tuple[str, ...]:
    # Thousands of tokens: all are lowered at once, and only what ends in a digit may be a number.
    lowered = "\n".join(tokens).lower().split("\n") if tokens else []
    significant = (
        token
        for token in lowered
        if token not in _SMALL_WORDS
        if not (token[-1].isdigit() and token.strip("#.:-").isdigit())
    )
    return tuple(islice(significant, _MOST_WORDS))


@lru_cache(maxsize=MOST_QUESTIONS)
def _whole(text: str) -> tuple[str, ...]:
    return _words(_TOKEN.findall(text))


def _alike(first: QuestionWords, second: QuestionWords) -> bool:
    if not first.words and not second.words:
        # Nothing of their own: the same words about other files are the same question.
        return _whole(first.text) == _whole(second.text) != ()
    if first.names != second.names:
        return False
    # Words that only one of them has bound the result from above: most pairs end here.
    most = len(first.words) + len(second.words)
    if len(first.distinct ^ second.distinct) > (1 - SIMILAR) * most + _EXACT:
        return False
    # Loaded only when two questions come close to each other.
    from rapidfuzz.distance import Indel

    score = Indel.normalized_similarity(first.words, second.words, score_cutoff=SIMILAR)
    return score >= SIMILAR


_VERDICT = re.compile(r"[\W_]*(?P<word>ok|missing)\b(?P<rest>.*)$", re.IGNORECASE | re.DOTALL)
_STEP_ID = re.compile(r"\b\d{2}\b")


@rule("OP306", Severity.WARNING, Severity.ERROR)
def duplicate_question(subject: Subject) -> Iterator[Problem]:
    """No two steps ask nearly the same question.

    Why: the second answer costs as much as the first and says nothing new.
    Fix: ask something else, or remove one of the steps. What most prompts share, line by line, is
    left out of the comparison, and so are small words, numbers and quoted evidence; of the words
    that remain, nine of ten must be the same in the same order, and every name from the code. Where
    nothing different remains they are the same question, whatever is attached. The chunks of one
    step are one question.

    Bad::
        # 01) stock
        oracle -p "Where can the stock of an article become negative?" --write-output a.md
        # 02) stock again
        oracle -p "Where could a stock of the article become negative?" --write-output b.md

    Good::
        # 01) stock
        oracle -p "Where can the stock of an article become negative?" --write-output a.md
        # 02) prices
        oracle -p "Who clears stale prices after an import?" --write-output b.md
    """
    for first, again in duplicates(subject.pack.steps, subject.questions):
        message = f"step {again.step.id} asks nearly what step {first.step.id} asks"
        line = first.step.header.span.line
        hint = f"ask something else; step {first.step.id} is at line {line}"
        yield Problem(again.span, message, hint, step=again.step.id)


@rule("OP307", Severity.WARNING, Severity.ERROR)
def wrong_coverage_check(subject: Subject) -> Iterator[Problem]:
    """The coverage check names each of the ten categories once and agrees with the steps.

    Why: a category marked `OK` that no step asks about hides a gap.
    Fix: write `OK` where a step has that category, else `Missing(<step ids>)`. A pack without
    the section is fine.

    Bad file::
        # A pack

        ```bash
        # 01) category=invariants
        oracle -p "Why?" --write-output a.md
        ```

        ## Coverage check
        - invariants: OK
        - migrations: OK

    Good file::
        # A pack

        ```bash
        # 01) category=invariants
        oracle -p "Why?" --write-output a.md
        ```

        ## Coverage check
        - contracts/interfaces: Missing(02)
        - invariants: OK
        - caching/state: Missing(03)
        - background jobs: Missing(04)
        - observability: Missing(05)
        - permissions: Missing(06)
        - migrations: Missing(07)
        - UX flows: Missing(08)
        - failure modes: Missing(09)
        - feature flags: Missing(10)
    """
    coverage = subject.pack.coverage
    if coverage is None:
        return
    listed = {_category(line) for line in coverage.lines}
    absent = [category for category in CATEGORIES if category not in listed]
    if absent:
        message = f"the coverage check leaves out {', '.join(absent)}"
        yield Problem(coverage.span, message, "add a line for each: OK or Missing(<step ids>)")
    seen: set[str] = set()
    for line in coverage.lines:
        category = _category(line)
        if category is None:
            hint = did_you_mean(line.category, CATEGORIES) or "remove the line"
            message = f"the coverage check names an unknown category: {line.category}"
            yield Problem(line.span, message, hint)
        elif category in seen:
            message = f"the coverage check names {category} twice"
            yield Problem(line.span, message, "keep one of the lines")
        else:
            seen.add(category)
            yield from _false_verdict(line, category, subject.pack.steps)


def _category(line: CoverageLine) -> str | None:
    written = line.category.strip("*_` ").lower()
    return next((category for category in CATEGORIES if category.lower() == written), None)


def _false_verdict(line: CoverageLine, category: str, steps: tuple[Step, ...]) -> Iterator[Problem]:
    verdict = _VERDICT.match(line.verdict)
    asking = [step.id for step in steps if step.category == category]
    if verdict is None or len(re.findall(r"\b(?:ok|missing)\b", line.verdict.lower())) > 1:
        message = f"the coverage check says neither OK nor Missing of {category}: {line.verdict}"
        yield Problem(line.span, message, "write OK or Missing(<step ids>)")
    elif verdict["word"].lower() == "ok":
        # A step without a known category may be the one that is meant.
        sure = all(step.category in CATEGORIES for step in steps)
        if not asking and sure:
            message = f"the coverage check says {category} is OK, but no step has that category"
            yield Problem(line.span, message, "write Missing(<step ids>), or add a step")
    else:
        named = _STEP_ID.findall(verdict["rest"])
        wrong = [step for step in asking if step in named or not named]
        if wrong:
            message = f"the coverage check misses {category}, but step {wrong[0]} asks about it"
            yield Problem(line.span, message, "write OK")


@rule("OP308", Severity.WARNING, Severity.ERROR)
def several_questions_in_step(subject: Subject) -> Iterator[Problem]:
    """A step asks one question.

    Why: one step is one unit of cost, of retrying and of the backlog.
    Fix: give each question a step of its own. Several calls are one question when their outputs
    differ only in the section they end in: `-direct-answer`, `-risks-unknowns`,
    `-next-experiment`, `-missing-evidence`.

    Bad::
        # 01) two questions
        oracle -p "Why?" --write-output why.md
        oracle -p "How?" --write-output how.md

    Good::
        # 01) one question in two parts
        oracle -p "Why? Return only: Direct answer" --write-output why-direct-answer.md
        oracle -p "Why? Return only: Risks/unknowns" --write-output why-risks-unknowns.md
    """
    for step, groups in zip(subject.pack.steps, subject.questions, strict=True):
        if len(groups) > 1:
            message = f"step {step.id} asks {len(groups)} questions"
            hint = "give each question a step of its own"
            yield Problem(groups[1][0].span, message, hint, step=step.id)


@rule("OP310", Severity.WARNING, Severity.ERROR, only_strict=True)
def step_without_question(subject: Subject) -> Iterator[Problem]:
    """Under `--strict`, every step asks a question.

    Why: a strict pack is twenty questions in twenty steps, so that runs can be compared. Other
    packs may hold steps that only prepare or check something.
    Fix: move the preparation into the prelude or into the step that needs it.

    Bad::
        # 01) prepare
        mkdir -p docs/answers

    Good::
        # 01) ask
        mkdir -p docs/answers
        oracle -p "Why?" --write-output docs/answers/why.md
    """
    both = zip(subject.pack.steps, subject.questions, strict=True)
    silent = [step for step, groups in both if not groups]
    if silent:
        ids = ", ".join(step.id for step in silent)
        every = len(silent) == len(subject.pack.steps)
        message = "no step asks an oracle question" if every else f"no oracle question in {ids}"
        hint = "--strict requires one oracle question in each step"
        yield Problem(silent[0].header.span, message, hint)


@rule("OP314", Severity.ERROR)
def unwritten_question(subject: Subject) -> Iterator[Problem]:
    """No question of a template is left as it came.

    Why: its answer would cost money and be about nothing.
    Fix: write your own question in place of `<your question: …>`.

    Bad::
        # 01) one question
        oracle -p "<your question: what is at stake?>" --write-output a.md

    Good::
        # 01) one question
        oracle -p "Where can the stock of an article become negative?" --write-output a.md
    """
    for step in subject.pack.steps:
        for call in asking_calls(step):
            if call.prompt is not None and PLACEHOLDER in call.prompt.text:
                hint = f"write your question in place of {PLACEHOLDER} …>"
                message = f"step {step.id} asks the question of the template"
                yield Problem(call.prompt.span, message, hint, step=step.id)
