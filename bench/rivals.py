"""The others, given the same steps in their own words. Who is not installed takes no part."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.scene import Contender, Place

LOOP, XARGS, MAKE, PARALLEL = "bash loop", "xargs", "make", "parallel"
JUST, DOIT, SNAKEMAKE = "just", "doit", "snakemake"
ALL = (LOOP, XARGS, MAKE, PARALLEL, JUST, DOIT, SNAKEMAKE)
PROGRAMS = {LOOP: "bash"}
"""Where the program is not called as the rival is."""
EVERY = {DOIT: 2, SNAKEMAKE: 5}


def running(
    place: Place, body: str, steps: int, jobs: int = 1, only: Sequence[str] = ALL
) -> Iterator[Contender]:
    """Each rival with `steps` login shells that run `body`, `jobs` at a time."""
    folder = place.path / f"rivals-{steps}-{jobs}"
    folder.mkdir()
    for name in only:
        if place.found(PROGRAMS.get(name, name)):
            argv = WRITERS[name](folder, body, steps, jobs)
            every = EVERY.get(name, 1)
            yield Contender(titled(name, steps), argv, before=_forgets(folder), every=every)


def titled(rival: str, steps: int) -> str:
    return f"{rival}, {steps} {'step' if steps == 1 else 'steps'}"


def missing(place: Place) -> list[str]:
    return [name for name in ALL if not place.found(PROGRAMS.get(name, name))]


def _forgets(folder: Path) -> Callable[[], None]:
    """Nobody may know that the steps have run before."""

    def forget() -> None:
        for known in (".snakemake", "done"):
            shutil.rmtree(folder / known, ignore_errors=True)
        for known in folder.glob(".doit.db*"):
            known.unlink()

    return forget


def _loop(_: Path, body: str, steps: int, jobs: int) -> list[str]:
    assert jobs == 1
    return ["bash", "-c", f"for ((n = 0; n < {steps}; n++)); do bash -lc '{body}'; done"]


def _xargs(_: Path, body: str, steps: int, jobs: int) -> list[str]:
    return ["bash", "-c", f"seq {steps} | xargs -P{jobs} -I{{}} bash -lc '{body}'"]


def _make(folder: Path, body: str, steps: int, jobs: int) -> list[str]:
    names = " ".join(f"s{n}" for n in range(steps))
    text = f".PHONY: all {names}\nall: {names}\n{names}:\n\t@bash -lc '{body}'\n"
    (folder / "Makefile").write_text(text)
    return ["make", "-s", f"-j{jobs}", "-C", str(folder)]


def _parallel(_: Path, body: str, steps: int, jobs: int) -> list[str]:
    numbers = [str(n) for n in range(steps)]
    return ["parallel", "--will-cite", "-N0", f"-j{jobs}", f"bash -lc '{body}'", ":::", *numbers]


def _just(folder: Path, body: str, steps: int, jobs: int) -> list[str]:
    """One at a time: it can run all at once, but not so many and no more."""
    assert jobs == 1
    lines = ['set shell := ["bash", "-lc"]', f"all: {' '.join(f's{n}' for n in range(steps))}"]
    lines += [f"s{n}:\n    @{body}" for n in range(steps)]
    (folder / "justfile").write_text("\n".join(lines) + "\n")
    return ["just", "--justfile", str(folder / "justfile")]


def _doit(folder: Path, body: str, steps: int, jobs: int) -> list[str]:
    (folder / "dodo.py").write_text(
        "def task_step():\n"
        f"    for n in range({steps}):\n"
        f"        yield {{'name': n, 'actions': [['bash', '-lc', {body!r}]]}}\n"
    )
    several = ["-n", str(jobs)] if jobs > 1 else []
    return ["doit", "-f", str(folder / "dodo.py"), "-d", str(folder), *several]


def _snakemake(folder: Path, body: str, steps: int, jobs: int) -> list[str]:
    (folder / "Snakefile").write_text(
        f'rule all:\n    input: expand("done/{{n}}", n=range({steps}))\n'
        'rule step:\n    output: touch("done/{n}")\n'
        f"    shell: \"bash -lc '{body}'\"\n"
    )
    where = ["--directory", str(folder), "--snakefile", str(folder / "Snakefile")]
    return ["snakemake", "--quiet", "all", f"-c{jobs}", *where]


WRITERS: dict[str, Callable[[Path, str, int, int], list[str]]] = {
    LOOP: _loop,
    XARGS: _xargs,
    MAKE: _make,
    PARALLEL: _parallel,
    JUST: _just,
    DOIT: _doit,
    SNAKEMAKE: _snakemake,
}
