"""The program as people start it: a process, its exit code and what it prints."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any


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


def oraclepack(cwd: Path, *args: str, python: str = sys.executable, **variables: str) -> Ran:
    done = subprocess.run(
        [python, "-m", "oraclepack", *args],
        cwd=cwd,
        env=os.environ | variables,
        capture_output=True,
        check=False,
        timeout=120,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def tree(*folders: Path) -> dict[str, tuple[int, bytes]]:
    """Everything below some folders: when it changed, and what it holds."""
    files = (path for folder in folders for path in sorted(folder.rglob("*")))
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in files
    }
