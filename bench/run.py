"""What running steps costs beside the shells themselves: `python -m bench.run [ROUNDS]`."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from bench.measure import (
    BIN,
    Contender,
    Row,
    clean_home,
    compared,
    control,
    medians,
    rounds_asked,
    table,
)

BARE, SHELL, VERSION = "python -c pass", "bash -lc true", "oraclepack --version"
ONE, MANY, RESUME = "run of 1 step", "run of 21 steps", "resume of a finished run"
XARGS, FOUR = "xargs -P4, 20 x bash -lc true", "run of 20 steps, 4 at a time"
IDEAL, HALVES = "ideal", "20 x 0.5 s, 4 at a time"
REDIRECT, LOUD = "plain redirect of 1 GB", "run of a step that prints 1 GB"
GIGABYTE = 1_000_000_000
MEMORY = 60


def pack(*bodies: str) -> str:
    steps = "".join(f"# {number:02}) step\n{body}\n" for number, body in enumerate(bodies, 1))
    return f"# p\n\n```bash\n{steps}```\n"


PACKS = {
    "one.md": pack("true"),
    "many.md": pack(*["true"] * 21),
    "twenty.md": pack(*["true"] * 20),
    "halves.md": pack(*["sleep 0.5"] * 20),
    "loud.md": pack(
        f"head -c {GIGABYTE} /dev/zero", "grep VmHWM /proc/$PPID/status >memory.txt || true"
    ),
}


def main() -> None:
    rounds = rounds_asked(15)
    with clean_home() as env, tempfile.TemporaryDirectory() as place:
        project = Path(place)
        for name, text in PACKS.items():
            (project / name).write_text(text, encoding="utf-8")
        subprocess.run(["git", "init", "-q"], cwd=project, check=True)
        print(quick(project, env, rounds))
        print(resume(project, env, rounds))
        print(halves(project, env, max(2, rounds // 5)))
        print(loud(project, env, max(2, rounds // 5)))


def ours(name: str, *args: str) -> Contender:
    return Contender(name, [str(BIN / "oraclepack"), "run", "--quiet", *args])


def forget(project: Path) -> None:
    """Every run is a first one: what is measured must not depend on how often it was."""
    shutil.rmtree(project / ".oraclepack", ignore_errors=True)


def quick(project: Path, env: Mapping[str, str], rounds: int) -> str:
    shell = Contender(SHELL, ["bash", "-lc", "true"])
    xargs = "seq 20 | xargs -P4 -I{} bash -lc true"
    contenders = [
        python := Contender(BARE, [sys.executable, "-c", "pass"]),
        control(python),
        shell,
        control(shell),
        Contender(XARGS, ["bash", "-c", xargs]),
        ours(ONE, "one.md"),
        ours(MANY, "many.md"),
        ours(FOUR, "twenty.md", "--max-parallel", "4"),
    ]
    times = medians(contenders, rounds, env, project, lambda: forget(project))
    further = {SHELL: times[SHELL], "each further step": (times[MANY] - times[ONE]) / 20}
    return "\n".join(
        [
            table("fixed cost", BARE, _among(times, BARE, {ONE: 9.0})),
            table("one at a time", SHELL, compared(further, SHELL, {"each further step": 1.2})),
            table("four at a time", XARGS, _among(times, XARGS, {FOUR: 4.5})),
        ]
    )


def _among(times: Mapping[str, float], against: str, goals: Mapping[str, float]) -> list[Row]:
    names = (against, f"{against} (control)", *goals)
    return compared({name: times[name] for name in names if name in times}, against, goals)


def resume(project: Path, env: Mapping[str, str], rounds: int) -> str:
    forget(project)
    again = ours(RESUME, "twenty.md")
    subprocess.run(again.argv, cwd=project, env=dict(env), check=True, capture_output=True)
    version = Contender(VERSION, [str(BIN / "oraclepack"), "--version"])
    times = medians([version, control(version), again], rounds, env, project)
    return table("resume", VERSION, compared(times, VERSION, {RESUME: 6.0}))


def halves(project: Path, env: Mapping[str, str], rounds: int) -> str:
    contender = ours(HALVES, "halves.md", "--max-parallel", "4")
    times = medians([contender], rounds, env, project, lambda: forget(project))
    return table("waiting", IDEAL, compared({IDEAL: 2.5} | times, IDEAL, {HALVES: 1.08}))


def loud(project: Path, env: Mapping[str, str], rounds: int) -> str:
    def clean() -> None:
        forget(project)
        (project / "plain").unlink(missing_ok=True)

    plain = Contender(REDIRECT, ["bash", "-c", f"head -c {GIGABYTE} /dev/zero >plain"])
    times = medians([plain, ours(LOUD, "loud.md")], rounds, env, project, clean)
    clean()
    text = table("output", REDIRECT, compared(times, REDIRECT, {LOUD: 1.15}))
    told = project / "memory.txt"
    if not told.exists() or not told.read_text():
        return text + "  memory: not known here\n"
    peak = int(told.read_text().split()[1]) / 1024
    verdict = "ok" if peak < MEMORY else "MISSED"
    return f"{text}  memory of the runner: {peak:.0f} MB  < {MEMORY} {verdict}\n"


if __name__ == "__main__":
    main()
