"""`generate` on real source files: 1,000 and 10,000 of Python, and of TypeScript.

`python -m bench.real_files` fetches some large packages from the registries, builds the four
repositories from them and prints time of the processor, time on the clock and memory of each.
Goals: 10,000 files in less than 20 s and 300 MB, and no more time for each file than with 1,000.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

FEW, MANY = 1_000, 10_000
MOST_SECONDS, MOST_MEGABYTES = 20, 300
_WHEELS = ("homeassistant", "sympy", "django", "twisted", "ansible-core", "transformers")
_TARBALLS = ("viem", "effect", "zod", "rxjs", "ethers")


class Measure(NamedTuple):
    """What one command took."""

    files: int
    megabytes: float
    processor: float
    clock: float
    memory: int


def fetch(place: Path) -> None:
    """The packages, unpacked below `py` and `ts`."""
    downloads = place / "downloads"
    downloads.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(downloads)]
    for name in _WHEELS:
        subprocess.run([*pip, name], check=True)
    for name in _TARBALLS:
        subprocess.run(
            ["npm", "pack", "--silent", name], cwd=downloads, check=True, capture_output=True
        )
    for path in sorted(downloads.iterdir()):
        target = place / ("py" if path.suffix == ".whl" else "ts") / path.name.split("-")[0]
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(target)
        elif path.suffix == ".tgz":
            with tarfile.open(path) as tarball:
                tarball.extractall(target, filter="data")


def sources(place: Path, ending: str) -> list[Path]:
    """The source files of one language, without declarations and empty files."""
    return [
        path
        for path in sorted(place.rglob(f"*{ending}"))
        if path.is_file() and path.stat().st_size and not path.name.endswith(".d.ts")
    ]


def build(root: Path, place: Path, found: list[Path], count: int) -> float:
    """A repository of that many of the files, spread evenly, in several copies if need be.

    Returns its megabytes.
    """
    shutil.rmtree(root, ignore_errors=True)
    copies = -(-count // len(found))
    every = [(copy, path) for copy in range(copies) for path in found]
    step = len(every) / count
    size = 0
    for number in range(count):
        copy, path = every[int(number * step)]
        target = root / f"part{copy}" / path.relative_to(place)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        size += path.stat().st_size
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0"]
    for words in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *words], cwd=root, check=True)
    return size / 1e6


def measure(root: Path, count: int, megabytes: float) -> Measure:
    """One `generate` of the repository."""
    words = [sys.executable, "-m", "oraclepack", "generate", "--stdout", "--cwd", str(root)]
    began = time.monotonic()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    clock = time.monotonic() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"generate failed with exit code {child.returncode}")
    processor = usage.ru_utime + usage.ru_stime
    return Measure(count, megabytes, processor, clock, usage.ru_maxrss // 1024)


def main() -> int:
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as temporary:
        place = given or Path(temporary)
        if not (place / "ts").exists():
            fetch(place)
        missed = False
        print("language    files      MB   processor s   clock s   MB memory   per file")
        for language, folder, ending in (("Python", "py", ".py"), ("TypeScript", "ts", ".ts")):
            found = sources(place / folder, ending)
            per_file = 0.0
            for count in (FEW, MANY):
                root = Path(temporary) / f"{folder}-{count}"
                one = measure(root, count, build(root, place / folder, found, count))
                ratio = one.processor / count / per_file if per_file else 1.0
                per_file = per_file or one.processor / count
                missed |= one.clock > MOST_SECONDS or one.memory > MOST_MEGABYTES or ratio > 1.2
                print(
                    f"{language:10} {one.files:6} {one.megabytes:7.1f} {one.processor:13.1f}"
                    f" {one.clock:9.1f} {one.memory:11} {ratio:10.2f}",
                    flush=True,
                )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
