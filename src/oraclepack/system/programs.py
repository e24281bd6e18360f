"""Programs on PATH: where they are, and short questions to them such as `--version`."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import msgspec

from oraclepack.system.environment import inherited

MOST_BYTES = 64_000
"""Bytes of an answer that are read; more is of no use."""


class Probe(msgspec.Struct, frozen=True):
    """The result of a short question to a program."""

    exit_code: int | None
    """None when it did not start or did not end in time."""
    answer: str
    elapsed_ns: int
    trouble: str = ""


def find_program(name: str, search: str | None = None) -> str | None:
    """A program on PATH, or at its path if the name has a slash.

    Relative directories on PATH do not count: in a clone they would be those of the repository.
    As `shutil.which` else, whose module takes longer to import than bash to read a short pack.
    """
    on_path = (os.environ.get("PATH", os.defpath) if search is None else search).split(":")
    for place in [""] if "/" in name else [one for one in on_path if one.startswith("/")]:
        program = os.path.join(place, name)  # a dozen looks for each program
        if os.path.isfile(program) and os.access(program, os.X_OK):
            return program
    return None


def own_program() -> str:
    """The path of the program `oraclepack` that belongs to this Python, else its bare name."""
    path = os.path.join(os.path.dirname(sys.executable), "oraclepack")
    return find_program(path) or find_program("oraclepack") or "oraclepack"


@cache
def find_bash(search: str) -> str:
    """The bash of a PATH, looked for once: the kernel is slow to refuse, and a PATH is long.

    Where there is none it is a path that does not exist, since of a bare name Popen would look in
    relative directories as well.
    """
    return find_program("bash", search) or "/bash"


def named_program(name: str) -> tuple[str, str]:
    """A program that the user named, by its absolute path; else an empty path and what is wrong."""
    place = os.path.expanduser(name)  # a bare word stays one
    program = find_program(place)
    if program is not None:
        return os.path.abspath(program), ""  # keeps links
    if "/" not in place:
        return "", "there is no such program on PATH"
    if os.path.isdir(place):
        return "", "it is a directory"
    if not os.path.lexists(place):
        return "", "there is no such file"
    return "", "it cannot be run: check that it is a file with the right to execute"


def find_tool(name: str) -> str | None:
    """On PATH, else beside the interpreter, where extras such as `lint` put their programs."""
    beside = Path(sys.executable).parent / name
    return find_program(name) or (str(beside) if beside.is_file() else None)


def python_version() -> str:
    return sys.version.partition(" ")[0]


def probe(argv: Sequence[str], timeout: float = 10.0) -> Probe:
    """Ask a program something short. It gets no stdin, and its whole group ends with the time."""
    started = time.monotonic_ns()
    try:
        process = subprocess.Popen(
            argv,
            executable=find_program(argv[0]) or f"/{argv[0]}",  # nor does the child look elsewhere
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # task-master would otherwise look for an update of itself.
            env=inherited() | {"TASKMASTER_SKIP_AUTO_UPDATE": "1"},
        )
    except OSError as trouble:
        return Probe(None, "", time.monotonic_ns() - started, f"cannot start: {trouble.strerror}")
    with process:
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            kill_group(process)
            elapsed = time.monotonic_ns() - started
            return Probe(None, "", elapsed, f"no answer in {timeout:g} s")
        except BaseException:
            # Ctrl-C: leaving the block would wait for the answer, which is no longer needed.
            kill_group(process)
            raise
    answer = output[:MOST_BYTES].decode("utf-8", "replace")
    code = process.returncode
    problem = "" if code == 0 else f"exit code {code}"
    return Probe(code, answer, time.monotonic_ns() - started, problem)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """End a child that leads a group, with all of that group, and collect it.

    Its pipes are closed unread: another holder of them would keep us waiting.
    """
    # Not collected yet, so its number is still its own.
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    with process:
        pass
