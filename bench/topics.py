"""What can be measured, by name, in the order of the table."""

from collections.abc import Callable
from dataclasses import dataclass

from bench import (
    actionize,
    generate,
    interception,
    makespan,
    output,
    resume,
    run,
    startup,
    validate,
    waiting,
)
from bench.scene import Place, Scene, Times
from bench.table import Row


def no_counts(_: Place) -> list[Row]:
    """Most topics have times only."""
    return []


@dataclass(frozen=True)
class Topic:
    """A scene, how often it is played, and what its times say."""

    scene: Scene
    rows: Callable[[Times], list[Row]]
    rounds: int
    counts: Callable[[Place], list[Row]] = no_counts
    warm_up: bool = True


TOPICS = {
    "start": Topic(startup.scene, startup.rows, 15),
    "validate": Topic(validate.scene, validate.rows, 11),
    "run": Topic(run.one_at_a_time, run.fixed_and_further, 15, run.counts),
    "parallel": Topic(run.four_at_a_time, run.parallel, 15),
    "waiting": Topic(waiting.scene, waiting.rows, 5),
    "makespan": Topic(makespan.scene, makespan.rows, 3),
    "long-makespan": Topic(makespan.long_scene, makespan.long_rows, 1, warm_up=False),
    "output": Topic(output.scene, output.rows, 5),
    "calls": Topic(interception.scene, interception.rows, 7, interception.counts),
    "resume": Topic(resume.scene, resume.rows, 11),
    "actionize": Topic(actionize.scene, actionize.rows, 3),
    "generate": Topic(generate.scene, generate.rows, 3),
}
