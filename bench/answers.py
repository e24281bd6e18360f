"""Actionizes made-up answers: `python bench/answers.py COUNT TIMES`."""

import gc
import sys

from oraclepack.work.backlog import AnsweredStep, AnswerPart, Export, PackAnswers, StepQuestion
from oraclepack.work.evidence import QuestionFile
from oraclepack.work.records import actionize

FEW = 20
FILES = 25
"""Files that the answers of one pack speak of; larger sets speak of more."""

ANSWER = """\
## Direct answer

- `{name}.load` in `{path}:{line}` is {state}cached.
- Add a lock around `{name}.save` (`{path}:{line}`), since {workers} workers write at once.
- Log the {thing} id in `{path}:{other}`.
  - it is lost when the job restarts
- The {thing} queue is drained by hand (`{path}:{other}`).

## Risks/unknowns

- Unknown whether {thing}s are retried.

## Next smallest concrete experiment

- Run `pytest tests/test_{thing}.py -k {number}` with two workers.

## Missing evidence

- `deploy/{thing}.yaml`
"""
THINGS = ("order", "price", "basket", "refund", "invoice", "letter", "login", "search", "batch")


def answers(count: int) -> PackAnswers:
    return PackAnswers("ab" * 32, tuple(step(number, count) for number in range(1, count + 1)))


def step(number: int, count: int) -> AnsweredStep:
    path = f"src/part{number % (FILES * count // FEW)}.py"
    text = ANSWER.format(
        name=f"Store{number % 7}",
        path=path,
        line=number % 300 + 1,
        other=number * 7 % 300 + 1,
        state="" if number % 3 else "not ",
        workers=number % 5 + 2,
        thing=THINGS[number % len(THINGS)],
        number=number,
    )
    question = StepQuestion(f"{number:04}", roi=number % 9 + 1.0, effort=number % 4 + 1.0)
    parts = (AnswerPart(f"{number:04}.md", text),)
    return AnsweredStep(question, parts, attached=(QuestionFile(path, "x", "x", 300),))


def main() -> None:
    gc.set_threshold(100_000, 20, 20)  # as the program does
    count, times = map(int, sys.argv[1:])
    pack = answers(count)
    for _ in range(times):
        actionize(pack, tuple(Export))


if __name__ == "__main__":
    main()
