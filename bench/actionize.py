"""How actionizing grows: 2,000 answers against a hundred times 20, in time and in memory."""

import gc
import time
import tracemalloc

from oraclepack.actionize.engine import actionize
from oraclepack.core.backlog import AnsweredStep, AnswerPart, Export, PackAnswers, Question
from oraclepack.core.evidence import AskedFile

FEW, MANY = 20, 2_000
FILES = 25
"""Files that the answers of one pack speak of; larger sets speak of more."""
GOAL = 1.2

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
    question = Question(f"{number:04}", roi=number % 9 + 1.0, effort=number % 4 + 1.0)
    parts = (AnswerPart(f"{number:04}.md", text),)
    return AnsweredStep(question, parts, attached=(AskedFile(path, "x", "x", 300),))


def seconds(count: int, rounds: int) -> float:
    """Processor time of one call, the best of several rounds."""
    pack = answers(count)
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        actionize(pack, tuple(Export))
        best = min(best, time.process_time() - start)
    return best


def peak(count: int) -> int:
    """Bytes of Python objects at the highest point of one call."""
    pack = answers(count)
    gc.collect()
    tracemalloc.start()
    actionize(pack, tuple(Export))
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return highest


def main() -> None:
    seconds(FEW, 1)
    few, many = seconds(FEW, 5), seconds(MANY, 2)
    times = MANY // FEW
    small, large = peak(FEW), peak(MANY)
    print(f"{FEW} answers    {few * 1000:8.1f} ms  {small / 1e6:7.1f} MB")
    print(f"{MANY} answers  {many * 1000:8.1f} ms  {large / 1e6:7.1f} MB")
    print(f"time   {many / (times * few):.2f} of {times} times as much (goal: at most {GOAL})")
    print(f"memory {large / (times * small):.2f} of {times} times as much")


if __name__ == "__main__":
    main()
