"""OP3xx: the questions of a pack. Headers are judged in `header_rules.py`."""

import re
from collections.abc import Iterator

from oraclepack.errors import did_you_mean
from oraclepack.lint.duplicates import duplicates
from oraclepack.lint.finding import Severity
from oraclepack.lint.rule import Problem, Subject, rule
from oraclepack.pack.model import CATEGORIES, PLACEHOLDER, Coverage, CoverageLine, Step
from oraclepack.pack.questions import asking_calls

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
    for pair in duplicates(subject.pack.steps, subject.questions):
        first, again = pair.first.step, pair.again.step
        message = f"step {again.id} asks nearly what step {first.id} asks"
        hint = f"ask something else; step {first.id} is at line {first.header.span.line}"
        yield Problem(pair.again.span, message, hint, step=again.id)


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
    yield from _unlisted(coverage)
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


def _unlisted(coverage: Coverage) -> Iterator[Problem]:
    listed = {_category(line) for line in coverage.lines}
    absent = [category for category in CATEGORIES if category not in listed]
    if absent:
        message = f"the coverage check leaves out {', '.join(absent)}"
        yield Problem(coverage.span, message, "add a line for each: OK or Missing(<step ids>)")


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
