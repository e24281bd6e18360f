"""Which tasks of different answers belong together, and how much work finding them is."""

import random
import sys
from collections.abc import Iterable, Sequence
from itertools import combinations

from oraclepack.work.backlog import TaskKind
from oraclepack.work.compare import Relation
from oraclepack.work.evidence import Citation, Evidence
from oraclepack.work.merging import group_tasks, profile_of, relate
from oraclepack.work.step_work import AnswerTask

SHARED = "Store.save"
TITLES = (
    "Allow empty names in Store.save of the order page",
    "Reject empty names in Store.save of the order page",
    "Don't allow empty names in Store.save of the order page",
    "Add a lock around Store.save",
    "Add a lock around Store.save!",
    "Cache what Store.save returns",
)


def a_task(step: int, number: int, chance: random.Random) -> AnswerTask:
    paths = tuple(sorted(chance.sample(["a.py", "b.py", "c.py"], chance.choice([0, 1, 1, 2]))))
    title = chance.choice(TITLES)
    return AnswerTask(
        step_id=f"{step:02}",
        number=number,
        kind=chance.choice([*TaskKind, TaskKind.CHANGE]),
        title=title,
        claim=f"{title}{chance.choice(['', ', since two workers write', ' is not needed'])}",
        actions=(),
        evidence=Evidence(
            paths=paths,
            symbols=(SHARED,),
            commands=tuple(chance.sample(["pytest -k a", "pytest -k b"], chance.choice([0, 0, 1]))),
            citations=tuple(Citation(path, 5, 5) for path in paths if chance.random() < 0.5),
        ),
        spans=(),
        is_fact=chance.random() < 0.3,
    )


def compared_by_pairs(tasks: Sequence[AnswerTask]) -> set[frozenset[tuple[str, int]]]:
    """The tasks that belong together, duplicates and contradictions alike."""
    together = {(task.step_id, task.number): {(task.step_id, task.number)} for task in tasks}
    for one, other in combinations(tasks, 2):
        relation = relate(one, other, profile_of(one), profile_of(other))
        if one.step_id != other.step_id and relation is not Relation.UNRELATED:
            union = together[one.step_id, one.number] | together[other.step_id, other.number]
            for place in union:
                together[place] = union
    return set(map(frozenset, together.values()))


def test_the_groups_are_those_of_comparing_every_pair() -> None:
    for seed in range(40):
        chance = random.Random(seed)
        tasks = [a_task(step, n, chance) for step in range(1, 6) for n in range(1, 4)]
        expected = compared_by_pairs(tasks)

        groups = group_tasks(tasks)

        found = {places(group) for group in (*groups.merged, *groups.conflicts)}
        torn = {places(group) for group in groups.conflicts}
        assert torn <= expected, seed
        # Facts alone are in no group of tasks.
        rest = {group for group in expected - torn if not group <= facts(tasks)}
        assert {group - facts(tasks) for group in rest} == found - torn, seed


def places(tasks: Iterable[AnswerTask]) -> frozenset[tuple[str, int]]:
    return frozenset((task.step_id, task.number) for task in tasks)


def facts(tasks: Iterable[AnswerTask]) -> frozenset[tuple[str, int]]:
    return places(task for task in tasks if task.is_fact)


def test_one_name_in_every_answer_is_no_reason_to_compare_all_pairs() -> None:
    few, many = (calls_made(number) for number in (50, 200))

    assert many < 5 * few


def calls_made(answers: int) -> int:
    """Calls of Python functions while tasks of so many answers are grouped."""
    tasks = [
        AnswerTask(
            step_id=f"{number:03}",
            number=1,
            kind=TaskKind.CHANGE,
            title=f"Add a lock around {SHARED} for part {number}",
            claim=f"Add a lock around {SHARED} for part {number}",
            actions=(),
            evidence=Evidence(paths=(f"part{number}.py",), symbols=(SHARED,)),
            spans=(),
        )
        for number in range(answers)
    ]
    count = 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        group_tasks(tasks)
    finally:
        sys.setprofile(before)
    return count
