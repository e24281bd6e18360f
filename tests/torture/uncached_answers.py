"""Answers that could not be stored, or whose step failed afterwards: they stay paid for."""

import shutil
from collections.abc import Callable

from tests.e2e.run.project import asking
from tests.torture.checker import paid_twice
from tests.torture.ground import Ground, a_ground
from tests.torture.kills import clear, placed
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

_BASH = "mkdir -p out\n" + asking(1, after="test -e ok\n") + asking(2)


def _cache_in_the_way(ground: Ground) -> None:
    (ground.root / ".oraclepack").mkdir()
    (ground.root / ".oraclepack/cache").write_text("no folder\n")


def _cache_free_again(ground: Ground) -> None:
    (ground.root / ".oraclepack/cache").unlink()


def _nothing(_: Ground) -> None:
    pass


def _cache_removed(ground: Ground) -> None:
    shutil.rmtree(ground.root / ".oraclepack/cache")


def _all_kept_removed(ground: Ground) -> None:
    _cache_removed(ground)
    shutil.rmtree(ground.project.run_dir / "outputs", ignore_errors=True)
    (ground.root / "out/01-topic-1.md").unlink()


def _answer_edited(ground: Ground) -> None:
    [answer] = (ground.root / ".oraclepack/cache").glob("*.md")
    answer.write_text("edited\n")


MISHAPS: dict[str, tuple[Callable[[Ground], None], Callable[[Ground], None]]] = {
    "the cache is in the way until the step failed": (_cache_in_the_way, _cache_free_again),
    "the cache stays in the way": (_cache_in_the_way, _nothing),
    "the cache is removed": (_nothing, _cache_removed),
    "cache, copies and answer are removed": (_nothing, _all_kept_removed),
    "the kept answer is edited": (_nothing, _answer_edited),
}


def keep_nothing(scene: Scene) -> Tally:
    """A step fails after its answer came, and the cache has none of it: it stays paid for."""
    broken: list[Broken] = []
    chosen = list(MISHAPS.items())[: scene.some(len(MISHAPS))]
    for number, (what, (before, between)) in enumerate(chosen):
        ground = a_ground(scene.folder / f"k{number}", scene.zygote, _BASH)
        before(ground)
        first = ground.project.run()
        between(ground)
        (ground.root / "ok").touch()
        ran = ground.project.run()
        found = paid_twice(ground)
        if (first.code, ran.code) != (3, 0) or len(ground.billed) != 2:
            text = f"ended with {first.code} and {ran.code}, {len(ground.billed)} paid: {ran.err}"
            found.append(Broken(Promise.ENDING, text))
        broken += [placed(one, what) for one in found]
        clear(ground, found, f"{number}")
    return Tally(len(chosen), 0, tuple(broken))


ATTACKS: dict[str, Attack] = {"not-kept": keep_nothing}
