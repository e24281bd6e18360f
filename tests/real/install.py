"""Installs the real oracle and its like, with Node, once, into a folder that git ignores."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ORACLE = "0.21.2"
NODE = "24"

# Taken on import, before any test hides the home: npm's own settings live there.
ENV = dict(os.environ)
_TOOLS = Path(ENV.get("ORACLEPACK_TEST_TOOLS") or Path(__file__).parents[2] / ".tools")
_LONGEST = 900.0


class NotToBeHadError(Exception):
    """Why there is no such program here."""


@cache
def real_programs() -> Path:
    """The directory with the programs `oracle` and `node`. Raises NotToBeHadError."""
    return programs_of("oracle", f"@steipete/oracle@{ORACLE}", _check)


def is_installed(tool: str, package: str) -> bool:
    """Whether a package has been installed to the end."""
    return (_folder(tool, package) / "ready").exists()


def programs_of(
    tool: str, package: str, check: Callable[[Path], None] = lambda _programs: None
) -> Path:
    """The directory with the programs of a package and `node`. Raises NotToBeHadError."""
    folder = _folder(tool, package)
    programs = folder / "node_modules/.bin"
    if not is_installed(tool, package):
        with _alone():
            if not is_installed(tool, package):
                _install(folder, package)
                check(programs)
                (folder / "ready").touch()
    return programs


def _folder(tool: str, package: str) -> Path:
    return _TOOLS / f"{tool}-{package.rpartition('@')[2]}-node-{NODE}"


@contextmanager
def _alone() -> Iterator[None]:
    """Several test processes may want it at once; one installs, the others wait."""
    _TOOLS.mkdir(parents=True, exist_ok=True)
    (_TOOLS / ".gitignore").write_text("*\n")
    with (_TOOLS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(folder: Path, package: str) -> None:
    npm = shutil.which("npm", path=ENV.get("PATH"))
    if npm is None:
        raise NotToBeHadError("npm is not on PATH")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true}\n')
    options = ["--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    _ask([npm, "install", *options, package, f"node@{NODE}"], folder)


def _check(programs: Path) -> None:
    env_path = f"{programs}:{ENV.get('PATH', os.defpath)}"
    node = _ask([str(programs / "node"), "--version"], programs, env_path)
    oracle = _ask([str(programs / "oracle"), "--version"], programs, env_path)
    if not node.startswith(f"v{NODE}.") or ORACLE not in oracle:
        raise NotToBeHadError(f"npm installed oracle {oracle.strip()!r} on node {node.strip()!r}")


def _ask(argv: list[str], folder: Path, path: str | None = None) -> str:
    env = ENV | ({"PATH": path} if path else {})
    try:
        done = subprocess.run(
            argv, cwd=folder, env=env, capture_output=True, text=True, timeout=_LONGEST, check=True
        )
    except subprocess.CalledProcessError as trouble:
        last = (trouble.stderr.strip().splitlines() or ["nothing"])[-1]
        raise NotToBeHadError(f"{Path(argv[0]).name} failed and said: {last}") from trouble
    except (OSError, subprocess.TimeoutExpired) as trouble:
        raise NotToBeHadError(f"{Path(argv[0]).name}: {trouble}") from trouble
    return done.stdout
