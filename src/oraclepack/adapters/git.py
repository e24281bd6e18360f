"""What git knows of a work tree, by one call of the `git` program."""

import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

TIMEOUT = 20.0
"""Seconds. A huge tree on a cold disk takes a few; a dead network drive takes forever."""

NO_COMMIT = "the repository has no commit yet"

_OID = "# branch.oid "


class WorkTree(msgspec.Struct, frozen=True):
    """Where a work tree stands. What is not known is None, and `reason` says why."""

    sha: str | None = None
    dirty: bool | None = None
    """Tracked files differ from the commit. Untracked ones do not count: our own would."""
    reason: str = ""


class _Silence(msgspec.Struct, frozen=True):
    """Why git told nothing."""

    reason: str
    slow: bool = False


def look(root: Path, environment: Mapping[str, str], timeout: float = TIMEOUT) -> WorkTree:
    """The commit and the cleanness of the work tree around a directory."""
    command = ("status", "--porcelain=v2", "--branch", "--untracked-files=no")
    told = _git(root, command, environment, timeout)
    if isinstance(told, _Silence):
        # The commit alone needs no look at the tree, and without it the run has no name.
        head = _git(root, ("rev-parse", "HEAD"), environment, timeout) if told.slow else told
        return WorkTree(head.strip() if isinstance(head, str) else None, None, told.reason)
    lines = told.splitlines()
    oid = next((line.removeprefix(_OID) for line in lines if line.startswith(_OID)), "")
    dirty = any(not line.startswith("#") for line in lines)
    if not oid or oid == "(initial)":
        return WorkTree(None, dirty, NO_COMMIT)
    return WorkTree(oid, dirty)


def looking(root: Path, environment: Mapping[str, str]) -> Callable[[], WorkTree]:
    """The same while something else is done; what is given waits for git, then tells."""
    seen: list[WorkTree | Exception] = []

    def see() -> None:
        try:
            seen.append(look(root, environment))
        except Exception as fault:  # noqa: BLE001  told to whoever asks
            seen.append(fault)

    # A daemon: a command that fails meanwhile, and so never asks, does not wait for git.
    git = threading.Thread(target=see, name="git", daemon=True)
    git.start()

    def told() -> WorkTree:
        git.join()
        if isinstance(seen[0], Exception):
            raise seen[0]
        return seen[0]

    return told


def top_level(root: Path, environment: Mapping[str, str], timeout: float = TIMEOUT) -> Path | None:
    """The top directory of the work tree around a directory, if it is in one."""
    told = _git(root, ("rev-parse", "--show-toplevel"), environment, timeout)
    return Path(told.removesuffix("\n")) if isinstance(told, str) and told.strip() else None


def _git(
    root: Path, command: tuple[str, ...], environment: Mapping[str, str], timeout: float
) -> str | _Silence:
    # fsmonitor off: it names a program to run, and looking must not run anything.
    argv = ["git", "-c", "core.fsmonitor=false", *command]
    try:
        ran = subprocess.run(
            argv,
            cwd=root,
            env=clean_environment(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except FileNotFoundError:
        there = root.is_dir()
        return _Silence("git is not installed" if there else f"{root} is no directory")
    except subprocess.TimeoutExpired:
        return _Silence(f"git did not answer within {timeout:g} s", slow=True)
    except OSError as trouble:
        return _Silence(f"git cannot be run: {trouble.strerror or trouble}")
    if ran.returncode != 0:
        return _Silence(_complaint(ran.stderr))
    return ran.stdout.decode("utf-8", "surrogateescape")


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without git's own variables: GIT_DIR would point us elsewhere."""
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    # Optional locks off: two runners and an editor must not get into each other's way.
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _complaint(stderr: bytes) -> str:
    text = stderr.decode("utf-8", "replace").strip()
    if "not a git repository" in text:
        return "not in a git repository"
    return text.splitlines()[0] if text else "git failed without a word"
