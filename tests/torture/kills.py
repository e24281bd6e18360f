"""Kills the runner with kill -9 at every operation on the disk, and lets the next one end it."""

from tests.torture.checker import Snapshot, check
from tests.torture.ground import a_ground
from tests.torture.outcome import outcome
from tests.torture.shapes import SHAPES, Shape
from tests.torture.tally import Attack, Scene, Tally


def kill_everywhere(scene: Scene, shape: Shape) -> Tally:
    ground = a_ground(scene.folder / "t", scene.zygote, shape.bash)
    undisturbed = ground.copy(scene.folder / "u")
    before = Snapshot.of(undisturbed)
    ran = undisturbed.project.run(*shape.words)
    found = check(undisturbed, before, ran=ran, wanted=outcome(undisturbed))
    return Tally(trials=1, broken=tuple(found))


def _on(shape: Shape) -> Attack:
    def attack(scene: Scene) -> Tally:
        return kill_everywhere(scene, shape)

    attack.__doc__ = shape.__doc__
    return attack


ATTACKS: dict[str, Attack] = {f"kills-{name}": _on(shape) for name, shape in SHAPES.items()}
