"""The others, given the same steps in their own words. Who is not installed takes no part."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench.scene import Contender, Place

LOOP, XARGS, MAKE, PARALLEL = "bash loop", "xargs", "make", "parallel"
JUST, DOIT, SNAKEMAKE = "just", "doit", "snakemake"
ALL = (LOOP, XARGS, MAKE, PARALLEL, JUST, DOIT, SNAKEMAKE)
GO = "the Go tool"
"""Not among all: it takes packs of exactly 20 steps."""
PROGRAMS = {LOOP: "bash", GO: "oraclepack-go"}
"""Where the program is not called as the rival is."""
EVERY = {DOIT: 2, SNAKEMAKE: 3}


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


def finished(place: Place, steps: int, only: Sequence[str]) -> Iterator[Contender]:
    """Each rival with steps of which it remembers that they are done, once they have run."""
    folder = place.path / "finished"
    (folder / "done").mkdir(parents=True)
    for name in only:
        if place.found(PROGRAMS.get(name, name)):
            argv = KEEPERS[name](folder, steps)
            yield Contender(done(name), argv, every=EVERY.get(name, 1))


def done(rival: str) -> str:
    return f"{rival}, all done"


def missing(place: Place) -> list[str]:
    return [name for name in ALL if not place.found(PROGRAMS.get(name, name))]


def _forgets(folder: Path) -> Callable[[], None]:
    """Removes every trace that the steps have run before."""

    def forget() -> None:
        for known in (".snakemake", "done"):
            shutil.rmtree(folder / known, ignore_errors=True)
        for database in folder.glob(".doit.db*"):
            database.unlink()

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


def _make_files(folder: Path, steps: int) -> list[str]:
    names = " ".join(f"done/{n}" for n in range(steps))
    (folder / "Makefile").write_text(f"all: {names}\ndone/%:\n\t@bash -lc true && touch $@\n")
    return ["make", "-s", "-C", str(folder)]


def _parallel_log(folder: Path, steps: int) -> list[str]:
    log = ["--resume", "--joblog", str(folder / "log")]
    program, *args = _parallel(folder, "true", steps, 1)
    return [program, *log, *args]


def _doit_once(folder: Path, steps: int) -> list[str]:
    argv = _doit(folder, "true", steps, 1)
    dodo = folder / "dodo.py"
    once = dodo.read_text().replace("{'name'", "{'uptodate': [run_once], 'name'")
    dodo.write_text(f"from doit.tools import run_once\n{once}")
    return argv


def _go_pack(folder: Path, steps: int) -> list[str]:
    lines = "".join(f"# {number:02}) step\ntrue\n" for number in range(1, steps + 1))
    (folder / "go.md").write_text(f"# p\n\n```bash\n{lines}```\n")
    return [PROGRAMS[GO], "run", str(folder / "go.md"), "--no-tui", "--yes", "--resume"]


KEEPERS: dict[str, Callable[[Path, int], list[str]]] = {
    MAKE: _make_files,
    PARALLEL: _parallel_log,
    DOIT: _doit_once,
    SNAKEMAKE: lambda folder, steps: _snakemake(folder, "true", steps, 1),
    GO: _go_pack,
}
WRITERS: dict[str, Callable[[Path, str, int, int], list[str]]] = {
    LOOP: _loop,
    XARGS: _xargs,
    MAKE: _make,
    PARALLEL: _parallel,
    JUST: _just,
    DOIT: _doit,
    SNAKEMAKE: _snakemake,
}
