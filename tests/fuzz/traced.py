"""What bash really runs: the steps of a pack, with tools that only write down their arguments."""

import os
import signal
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from oraclepack.pack.model import Pack
from oraclepack.tools.tool_names import SPELLINGS

SHIM = """#!/bin/sh
printf '%s\\0' "$TRACED_STEP" "${0##*/}" "$PWD" "$@" > "$TRACED_CALLS/$$"
"""
DRIVER = """\
cd "$TRACED_ROOT" || exit
. "$TRACED_SCRIPTS/prelude"
for TRACED_STEP in $TRACED_STEPS; do
( export TRACED_STEP; cd "$TRACED_ROOT" || exit; . "$TRACED_SCRIPTS/$TRACED_STEP" )
done
"""


@dataclass(frozen=True)
class Traced:
    """One call as the tool saw it."""

    step: str
    tool: str
    cwd: str
    argv: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """The calls of a pack, and the files it left in its root."""

    calls: tuple[Traced, ...]
    files: frozenset[str]
    said: str


def bounded(
    script: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a generated bash text: it ends, and so does what it started."""
    # Each process has a limit of its own, for those that outlive both the shell and us.
    argv = ["timeout", "-k", "1", "30", "bash", "-c", f"ulimit -t 20\n{script}"]
    with subprocess.Popen(
        argv,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as shell:
        try:
            out, err = shell.communicate(timeout=60)
        except BaseException:
            os.killpg(shell.pid, signal.SIGKILL)
            raise
    assert shell.returncode not in _TOO_LONG, f"it does not end: {script}"
    return subprocess.CompletedProcess(argv, shell.returncode, out, err)


_TOO_LONG = {124, 128 + signal.SIGKILL, -signal.SIGKILL}
"""What `timeout` ends with when it had to end the shell."""


def trace(pack: Pack, folder: Path, files: Iterable[str] = ()) -> Run:
    """Run the prelude once and every step in a shell of its own, as a run would."""
    places = {name: folder / name for name in ("bin", "calls", "root", "scripts")}
    for place in places.values():
        place.mkdir(parents=True)
    for tool in SPELLINGS:
        shim = places["bin"] / tool
        shim.write_text(SHIM)
        shim.chmod(0o755)
    for name in files:
        file = places["root"] / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    (places["scripts"] / "prelude").write_text(pack.prelude.code if pack.prelude else "")
    for step in pack.steps:
        (places["scripts"] / step.id).write_text(step.code)
    environment = {
        "PATH": f"{places['bin']}:{os.environ['PATH']}",
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "TRACED_CALLS": str(places["calls"]),
        "TRACED_ROOT": str(places["root"]),
        "TRACED_SCRIPTS": str(places["scripts"]),
        "TRACED_STEPS": " ".join(step.id for step in pack.steps),
        "TRACED_STEP": "prelude",
    }
    done = bounded(DRIVER, environment)
    calls = sorted(_read(file) for file in places["calls"].iterdir())
    left = (path for path in places["root"].rglob("*") if path.is_file())
    names = frozenset(path.relative_to(places["root"]).as_posix() for path in left)
    return Run(tuple(Traced(*call) for call in calls), names, done.stderr.decode(errors="replace"))


def _read(file: Path) -> tuple[str, str, str, tuple[str, ...]]:
    step, tool, cwd, *argv = file.read_bytes().decode("utf-8", "replace").split("\0")[:-1]
    return step, SPELLINGS[tool], cwd, tuple(argv)
