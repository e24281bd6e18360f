"""`jq` programs on JSON: through the `jq` package where it is installed, else the program."""

from __future__ import annotations

import importlib
import subprocess
from typing import Any, Protocol

import msgspec

from oraclepack.errors import MachineError, UsageError
from oraclepack.system.programs import find_program

_SECONDS = 60.0
_BAD_PROGRAM = 3
"""The exit code of jq for a program that it cannot read."""


class JqFilter(Protocol):
    """A jq program that was checked."""

    def apply(self, data: bytes) -> list[Any]:
        """What the program makes of a JSON text, value by value. Raises ValueError."""


def jq_filter(program: str) -> JqFilter:
    """Check a jq program before anything else happens. It sees none of our variables."""
    try:
        library = importlib.import_module("jq")
    except ModuleNotFoundError:
        return _program_filter(program)
    try:
        return _LibraryFilter(library.compile(program))
    except ValueError as reason:
        raise _unreadable(program, str(reason)) from None


class _LibraryFilter(msgspec.Struct):
    compiled: Any

    def apply(self, data: bytes) -> list[Any]:
        return list(self.compiled.input_text(data.decode()).all())


class _ProgramFilter(msgspec.Struct):
    executable: str
    program: str

    def apply(self, data: bytes) -> list[Any]:
        done = self.run(["-c", self.program], data)
        if done.returncode:
            words = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
            raise ValueError(words.removeprefix("jq: ") or f"exit code {done.returncode}")
        return [msgspec.json.decode(line) for line in done.stdout.splitlines()]

    def run(self, args: list[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                [self.executable, *args],
                input=data,
                capture_output=True,
                check=False,
                timeout=_SECONDS,
                env={},
            )
        except subprocess.TimeoutExpired:
            raise ValueError(f"no result in {_SECONDS:g} s") from None
        except (OSError, ValueError) as trouble:
            raise ValueError(f"cannot be run: {trouble}") from None


def _program_filter(program: str) -> _ProgramFilter:
    executable = find_program("jq")
    if executable is None:
        raise MachineError(
            "--jq needs jq, and there is none",
            hint="install the program jq or the Python package jq",
        )
    filter_program = _ProgramFilter(executable, program)
    try:
        done = filter_program.run(["-n", f"empty | ({program}\n)"], b"")
    except ValueError as trouble:
        raise _unreadable(program, str(trouble)) from None
    if done.returncode == _BAD_PROGRAM:
        first = done.stderr.decode("utf-8", "replace").partition("\n")[0]
        raise _unreadable(program, first)
    return filter_program


def _unreadable(program: str, reason: str) -> UsageError:
    message = reason.removeprefix("jq: ").partition("\n")[0]
    return UsageError(f"--jq {program!r} is no jq program: {message}")
