"""How `generate` grows with the repository: 5,000 files against 1,250, per file."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.scene import Contender, Place, Times, ours
from bench.table import Row, median, memories

FEW, MANY = 1_250, 5_000
SMALL, LARGE = "generate, small repository", "generate, large repository"

_MODULE = '''\
"""Module {n}."""

import logging
from pkg{folder}.m{other} import f{other}

logger = logging.getLogger(__name__)


class Order{n}(Model):
    """A shape."""


@app.get("/orders/{n}")
def f{n}(order):
    if not order:
        raise ValueError("empty")
    try:
        logger.info("order")
        return f{other}(order, timeout=3)
    except OSError:
        return None
'''


def make(root: Path, files: int) -> None:
    """A repository of modules that import each other, in folders of a hundred."""
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for n in range(files):
        other = (n // 100) * 100 + (n * 7 + 1) % 100
        path = root / f"pkg{n // 100}" / f"m{n}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(_MODULE.format(n=n, other=other, folder=n // 100), encoding="utf-8")
    identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", *identity, "commit", "-q", "-m", "all"], cwd=root, check=True)


def scene(place: Place) -> Sequence[Contender]:
    part = 25 if place.quick else 1
    made: list[Contender] = []
    for name, files in ((SMALL, FEW // part), (LARGE, MANY // part)):
        root = place.path / str(files)
        make(root, files)
        pack = place.path / f"{files}.md"
        made.append(ours(name, "generate", "--force", "--cwd", str(root), "--out", str(pack)))
    return made


def rows(times: Times) -> list[Row]:
    growth = median(times, lambda large, small: large / small / (MANY / FEW), LARGE, SMALL)
    return [
        Row(
            f"`generate` for {MANY:,} files, per file",
            f"that of {FEW:,}",
            growth,
            goal=1.2,
            memory=memories(times, LARGE),
        )
    ]
