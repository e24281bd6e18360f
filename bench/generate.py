"""How `generate` grows with the repository: 1,250, 2,500 and 5,000 files, one after another."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = (1_250, 2_500, 5_000)
ROUNDS = 3
LINEAR = 1.3
"""Per file, the largest repository may cost this much more than the smallest."""

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


def seconds(root: Path) -> float:
    argv = [sys.executable, "-m", "oraclepack", "generate", "--force", "--cwd", str(root)]
    argv += ["--out", str(root / "pack.md")]
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> int:
    per_file: list[float] = []
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            make(root, size)
            taken = statistics.median(seconds(root) for _ in range(ROUNDS))
        per_file.append(taken / size)
        print(f"{size:>6} files: {taken:6.2f} s, {1000 * taken / size:.3f} ms per file")
    growth = per_file[-1] / per_file[0]
    print(f"per file, {SIZES[-1]} against {SIZES[0]}: {growth:.2f} (goal: at most {LINEAR})")
    return 0 if growth <= LINEAR else 1


if __name__ == "__main__":
    sys.exit(main())
