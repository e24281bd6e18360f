"""Packs and calls per second of a fleet on this machine, beside `xargs` and Dask alone.

Twelve packs of four calls, three at a time, with a tool that answers at once. All take turns, so
that a busy moment meets all of them.
"""

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.scene import BIN, Contender, Place, Times, control, controlled
from bench.table import Row, median

AT_ONCE = 3
CALLS = 4
FILES, DATABASE, XARGS, DASK = (
    "fleet run, files",
    "fleet run, PostgreSQL",
    "xargs -P3 oraclepack run",
    "dask alone",
)
TOOL = '#!/bin/sh\nfor last; do :; done\nmkdir -p out; echo "an answer" >"$last"\n'
DASK_ALONE = """
import subprocess, sys
from distributed import Client, LocalCluster
def run(folder):
    return subprocess.call(["bash", "pack.sh"], cwd=folder)
if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=3, processes=False, dashboard_address=None,
                      silence_logs=50) as cluster, Client(cluster) as client:
        futures = [client.submit(run, folder, pure=False) for folder in sys.argv[1:]]
        assert set(client.gather(futures)) == {0}
"""


def steps(name: str, calls: int) -> str:
    lines = (
        f'# {number:02}) step\noracle -e api -p "{name} {number}?" --write-output out/{number}.md\n'
        for number in range(1, calls + 1)
    )
    return "".join(lines)


def repositories(place: Place, packs: int, calls: int) -> list[Path]:
    """One repository for each pack, its commands as a script, and the manifest of all."""
    tool = place.path / "tools/oracle"
    if not tool.exists():
        tool.parent.mkdir()
        tool.write_text(TOOL)
        tool.chmod(0o755)
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    made = []
    for number in range(packs):
        root = place.path / f"repos/{packs}/r{number}"
        root.mkdir(parents=True)
        body = steps(f"r{number} of {packs}", calls) if calls else "# 01) step\ntrue\n"
        (root / "pack.md").write_text(f"# p\n\n```bash\n{body}```\n")
        (root / "pack.sh").write_text(body)
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
            subprocess.run([*git, *words], cwd=root, check=True)
        made.append(root)
    lines = (f'{{"repo": "repos/{packs}/r{n}", "pack": "pack.md"}}\n' for n in range(packs))
    (place.path / f"fleet{packs}.jsonl").write_text("".join(lines))
    return made


def forgetting(place: Place) -> Callable[[], None]:
    """Bring the home back to where it was: no fleet, no workspaces, no answers."""
    return lambda: shutil.rmtree(Path(place.env["HOME"]) / ".local", ignore_errors=True)


def environment(place: Place, dsn: str = "") -> dict[str, str]:
    path = f"{place.path / 'tools'}:{place.env['PATH']}"
    return {"PATH": path, "OPENAI_API_KEY": "x", "ORACLEPACK_STORE": dsn}


def fleet(place: Place, name: str, packs: int, dsn: str = "") -> Contender:
    words = ["fleet", "run", f"fleet{packs}.jsonl", "--at-once", str(AT_ONCE), "--name", "bench"]
    return Contender(
        name,
        [str(BIN / "oraclepack"), *words],
        env=environment(place, dsn),
        before=forgetting(place),
    )


def scene(place: Place, dsn: str, empty_database: Callable[[], None]) -> Sequence[Contender]:
    packs = 3 if place.quick else 12
    roots = repositories(place, packs, CALLS)
    names = " ".join(str(root) for root in roots)
    runs = f"printf '%s\\n' {names} | xargs -P{AT_ONCE} -I{{}} "
    run = f"{BIN / 'oraclepack'} run --quiet --new-run --no-cache pack.md"
    xargs = Contender(
        XARGS, ["bash", "-c", f"{runs} sh -c 'cd {{}} && {run}'"], env=environment(place)
    )
    dask = Contender(
        DASK,
        [str(BIN / "python"), "-c", DASK_ALONE, *map(str, roots)],
        env=environment(place),
    )
    database = fleet(place, DATABASE, packs, dsn)

    def before() -> None:
        forgetting(place)()
        empty_database()

    shared = Contender(DATABASE, database.argv, env=database.env, before=before)
    return [fleet(place, FILES, packs), shared, xargs, control(xargs), dask]


def rows(times: Times, packs: int) -> list[Row]:
    found = [
        Row(
            f"{packs} packs of {CALLS} calls, {AT_ONCE} at once: {name}",
            "nothing",
            median(times, lambda seconds: packs / seconds, name),
            unit="packs/s",
            control=median(times, lambda one, two: one / two, controlled(XARGS), XARGS),
        )
        for name in (FILES, DATABASE, XARGS, DASK)
    ]
    return [
        *found,
        *(
            Row(
                one.what.replace(f"{packs} packs of {CALLS} calls", f"calls of {packs} packs"),
                "nothing",
                one.ours * CALLS,
                unit="calls/s",
            )
            for one in found
        ),
        *(
            Row(
                f"seconds of {name} for {packs} packs",
                XARGS,
                median(times, lambda ours, theirs: ours / theirs, name, XARGS),
            )
            for name in (FILES, DATABASE, DASK)
        ),
    ]
