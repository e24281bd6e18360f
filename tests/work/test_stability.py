"""Same answers, same bytes: whatever the order, the machine's habits, or the second time."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oraclepack.work.backlog import AnsweredStep, Export, PackAnswers
from oraclepack.work.records import actionize
from tests.work.answers import a_pack, a_step, direct
from tests.work.golden import CASES, answers

ROOT = Path(__file__).parent.parent.parent
SUM = """
import hashlib
from tests.work.golden import CASES, work
digest = hashlib.sha256()
for case in CASES:
    for artifact in work(case).artifacts:
        digest.update(artifact.text.encode())
print(digest.hexdigest())
"""

TEXTS = (
    "Add a lock around `put` (`src/cache.py:15`).",
    "Guard `put` in `src/cache.py:15` with a lock.",
    "Then remove the flag `X` (`src/cache.py:30`).",
    "Keep the flag `X` (`src/cache.py:30`).",
    "`load` is cached (`src/cache.py:3`).",
    "`load` is not cached (`src/cache.py:3`).",
    "Log the id (`src/jobs.py:9`).",
    "Fix `src/jobs.py:900`.",
    "Cannot tell who calls it.",
    "No action required.",
    "Write a runbook for a cold cache.",
)
some_answer = st.none() | st.lists(st.sampled_from(TEXTS), max_size=5).map(lambda t: direct(*t))
some_pack = st.lists(some_answer, min_size=2, max_size=12)


def pack_of(texts: Sequence[str | None]) -> PackAnswers:
    return a_pack(*(a_step(f"{number:02}", text) for number, text in enumerate(texts, 1)))


def bytes_of(pack: PackAnswers, earlier: str = "") -> dict[str, str]:
    return {a.path: a.text for a in actionize(pack, tuple(Export), earlier).artifacts}


def records_by_id(pack: PackAnswers) -> dict[str, str]:
    lines = bytes_of(pack)["normalized.jsonl"].splitlines()
    return {json.loads(line)["task_id"]: line for line in lines}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_order_of_the_input_does_not_matter(case: Path) -> None:
    pack = answers(case)
    shuffle = random.Random(7).sample

    def mixed(step: AnsweredStep) -> AnsweredStep:
        attached = step.attached and tuple(shuffle(step.attached, len(step.attached)))
        parts = tuple(shuffle(step.parts, len(step.parts)))
        return msgspec.structs.replace(step, parts=parts, attached=attached)

    steps = tuple(map(mixed, shuffle(pack.steps, len(pack.steps))))

    assert bytes_of(msgspec.structs.replace(pack, steps=steps)) == bytes_of(pack)


@given(some_pack, st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None)
def test_any_answers_in_any_order(texts: list[str | None], chance: random.Random) -> None:
    pack = pack_of(texts)
    steps = list(pack.steps)
    chance.shuffle(steps)

    assert bytes_of(msgspec.structs.replace(pack, steps=tuple(steps))) == bytes_of(pack)


@pytest.mark.parametrize(
    "habits",
    [
        pytest.param({"PYTHONHASHSEED": "1"}, id="another hash seed"),
        pytest.param({"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"}, id="a Turkish locale"),
        pytest.param({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONHASHSEED": "77"}, id="no locale"),
        pytest.param({"TZ": "Pacific/Kiritimati"}, id="tomorrow's time zone"),
    ],
)
def test_the_machines_habits_do_not_matter(habits: dict[str, str]) -> None:
    assert digest(habits) == usual_digest()


@cache
def usual_digest() -> str:
    return digest({"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"})


def digest(habits: dict[str, str]) -> str:
    result = subprocess.run(
        [sys.executable, "-c", SUM],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **habits},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout


@given(some_pack, some_answer, st.integers(0, 11))
@settings(max_examples=50, deadline=None)
def test_a_changed_answer_moves_only_tasks_that_come_from_it(
    texts: list[str | None], instead: str | None, place: int
) -> None:
    number = place % len(texts)
    changed = [*texts[:number], instead, *texts[number + 1 :]]
    before, after = records_by_id(pack_of(texts)), records_by_id(pack_of(changed))

    moved = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}

    every = [json.loads(line) for line in (*before.values(), *after.values())]
    from_it = [record for record in every if f"{number + 1:02}" in record["sources"]]
    # A question whose only statement was one side of a conflict has no work when that ends.
    partners = {step for record in from_it for step in record["sources"]}
    idle = {r["task_id"] for r in every if r["status"] == "noop" and r["step_id"] in partners}
    assert moved <= {name for r in from_it for name in (r["task_id"], *r["merged"])} | idle


def test_a_changed_answer_moves_only_its_own_tasks() -> None:
    before = records_by_id(pack_of([direct(f"Add a lock to `f{n}`.") for n in range(20)]))
    texts = [direct(f"Add a lock to `f{n}`.") for n in range(20)]
    texts[8] = direct("Add a test for `g`.", "Add a log line to `h`.")
    after = records_by_id(pack_of(texts))

    moved = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}

    assert moved == {"OP3-ab12cd34-09-01", "OP3-ab12cd34-09-02"}


def talkative(chance: random.Random) -> str:
    """An answer that claims and asks for much about one file."""
    things = ["cache", "queue", "loader", "parser", "index", "writer", "session", "token"]
    states = ["bounded", "locked", "logged", "retried", "validated", "shared", "persisted"]
    claims = [
        f"The {chance.choice(things)} {chance.choice(things)} is "
        f"{chance.choice(('', 'not '))}{chance.choice(states)} in `src/cache.py`."
        for _ in range(4)
    ]
    asked = [
        f"{chance.choice(('Add', 'Remove', 'Document'))} the {chance.choice(states)} "
        f"{chance.choice(things)} {chance.choice(things)} in `src/cache.py`."
        for _ in range(4)
    ]
    return direct(*claims, *asked)


@pytest.mark.parametrize("seed", range(6))
def test_a_changed_answer_moves_no_others_where_all_speak_of_one_file(seed: int) -> None:
    chance = random.Random(seed)
    texts = [talkative(chance) for _ in range(20)]
    before = records_by_id(pack_of(texts))
    texts[8] = talkative(chance)
    after = records_by_id(pack_of(texts))

    every = [json.loads(line) for line in (*before.values(), *after.values())]
    from_it = {name for r in every if "09" in r["sources"] for name in (r["task_id"], *r["merged"])}
    moved = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert moved <= from_it


@given(some_pack)
@settings(max_examples=15, deadline=None)
def test_a_second_time_changes_nothing(texts: list[str | None]) -> None:
    pack = pack_of(texts)
    first = bytes_of(pack)

    assert bytes_of(pack, first["backlog.md"]) == first


@given(st.text(max_size=400))
@settings(max_examples=60, deadline=None)
def test_any_text_is_an_answer(text: str) -> None:
    assert actionize(pack_of([text, direct("Add a lock.")]), tuple(Export)).records
