"""The program as people start it: a process, its exit code and what it prints."""

import atexit
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.run.project import Zygote


@dataclass(frozen=True)
class Ran:
    """How one command line ended."""

    code: int
    out: str
    err: str

    @property
    def envelope(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads(self.out)
        return loaded

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = self.envelope["data"]
        return data


def oraclepack(cwd: Path, *args: str, python: str = "", **variables: str) -> Ran:
    """One command line to its end: forked, which is cheap, unless another python is named."""
    env = os.environ | variables
    if python:
        done = subprocess.run(
            [python, "-m", "oraclepack", *args],
            cwd=cwd,
            env=env,
            capture_output=True,
            check=False,
            timeout=120,
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        asked = {"args": args, "cwd": str(cwd), "env": env, "out": str(out), "err": str(err)}
        code = _zygote().ask(do="wait", pid=_zygote().ask(do="start", **asked))
        return Ran(code, out.read_text(), err.read_text())


@cache
def _zygote() -> "Zygote":
    from tests.e2e.run.project import Zygote

    started = Zygote()
    atexit.register(started.close)
    return started


def tree(*folders: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below some folders: when it changed, and what it holds."""
    files = (path for folder in folders for path in sorted(folder.rglob("*")))
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in files
    }
