"""What can be measured, by name."""

from bench import run, startup
from bench.scene import Scene

SCENES: dict[str, Scene] = {
    "start": startup.scene,
    "run": run.one_at_a_time,
    "parallel": run.four_at_a_time,
}
