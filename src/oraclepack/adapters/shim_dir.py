"""The private directory that stands first on a step's PATH, and what lies in it."""

import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote

from oraclepack import shims
from oraclepack.adapters import disk
from oraclepack.core.call import ORACLE, SPELLINGS
from oraclepack.core.errors import WorldError

NAMES = (*SPELLINGS, "npx")
"""What a step may call that we want to know of."""

_CLIENT = "client"
_SOCKET = "gateway"
_PREFIX = "oraclepack-"
_KEPT_AFTER_DEATH = 24 * 3600.0
_LONGEST_SOCKET_PATH = 103
"""A socket's path has 108 bytes on Linux, 104 on macOS, with the NUL."""
_LONGEST_SHEBANG = 120


class ShimDir:
    """Stand-ins for the tools, the socket they talk to, and the file bash reads after a profile.

    There is a stand-in for every tool that can be found, and always one for oracle. A tool that
    is not there has none, so that `command -v codex` keeps telling the truth; should a login
    profile bring one along, bash makes its stand-in on the way.
    """

    def __init__(self, path: Path, search: str) -> None:
        """`search` is a PATH: what is found there gets a stand-in."""
        self.path = path
        self.socket = path / _SOCKET
        self.bash_env = path / "bash_env"
        self._write_programs()
        self.cover(search)

    @classmethod
    def make(cls, search: str, bash_env: str | None) -> "ShimDir":
        """A new one, with the user's own BASH_ENV honoured. Raises WorldError."""
        try:
            made = cls(_private_directory(), search)
            _write(made.bash_env, made._bash_env_text(bash_env))
        except OSError as trouble:
            raise WorldError(
                f"cannot make a private directory for the tools' stand-ins: {trouble}",
                hint="set TMPDIR to a directory of yours with a short path and space left",
            ) from trouble
        return made

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """The environment of an attempt whose calls are to reach us."""
        path = f"{self.path}:{base.get('PATH', os.defpath)}"
        return {**base, "PATH": path, "BASH_ENV": str(self.bash_env)}

    def cover(self, search: str) -> None:
        """Make the missing stand-ins for what another PATH holds."""
        for name in NAMES:
            stand_in = self.path / name
            if name == ORACLE or find_beyond(self.path, name, search):
                with suppress(FileExistsError):
                    disk.symlink(_CLIENT, stand_in)

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def _write_programs(self) -> None:
        source = Path(shims.__file__).with_name("client.py").read_bytes()
        python = sys.executable
        if len(python) < _LONGEST_SHEBANG and not set(python) & set(" \t\n"):
            _write(self.path / _CLIENT, f"#!{python} -IS\n".encode() + source, 0o700)
        else:
            _write(self.path / "client.py", source)
            start = f'#!/bin/sh\nexec {quote(python)} -IS "${{0%/*}}/client.py" "$0" "$@"\n'
            _write(self.path / _CLIENT, start.encode(), 0o700)
        # -P: what lies in the step's directory must not pass for a module of ours.
        own = f'#!/bin/sh\nexec {quote(python)} -P -m oraclepack "$@"\n'
        _write(self.path / "oraclepack", own.encode(), 0o700)

    def _bash_env_text(self, theirs: str | None) -> bytes:
        """Read by every bash below a step, after its login profile had its way with PATH."""
        here = quote(str(self.path))
        lines = [_source(theirs)] if theirs else []
        first = f'case "${{PATH-}}" in {here} | {here}:*) ;; *) PATH={here}:"${{PATH-}}" ;; esac'
        lines.append(first)
        lines += [
            f"if [[ ! -e {here}/{name} ]] && builtin type -P {name} >/dev/null; then "
            f"command ln -s {_CLIENT} {here}/{name} 2>/dev/null || :; fi"
            for name in NAMES
            if not (self.path / name).exists()
        ]
        return os.fsencode("\n".join(lines) + "\n")


def find_beyond(shim_dir: Path, name: str, search: str) -> str | None:
    """A program on a PATH, not counting the stand-ins."""
    rest = without(shim_dir, search)
    return shutil.which(name, path=rest) if rest else None


def without(shim_dir: Path, search: str) -> str:
    """A PATH without our directory."""
    return ":".join(part for part in search.split(":") if part != str(shim_dir))


def sweep(parent: Path, now: float) -> None:
    """Remove what runs that were killed have left."""
    for folder in parent.glob(f"{_PREFIX}*"):
        if _is_abandoned(folder, now):
            shutil.rmtree(folder, ignore_errors=True)


def _source(theirs: str) -> str:
    """What bash itself would do with that BASH_ENV: expand it, and read it if it is there."""
    if "$" in theirs or "`" in theirs:
        return f'if [[ -r "{theirs}" ]]; then . "{theirs}"; fi'
    file = quote(theirs if "/" in theirs else f"./{theirs}")
    return f"if [[ -r {file} ]]; then . {file}; fi"


def _write(path: Path, data: bytes, mode: int = 0o600) -> None:
    descriptor = disk.create(path, mode)
    try:
        disk.write(descriptor, data, path)
    finally:
        os.close(descriptor)


def _is_abandoned(folder: Path, now: float) -> bool:
    """Its run was killed, and so long ago that no step of it can be left.

    Until then the stand-ins stay, because a step that outlives its run must not come through to
    the tools.
    """
    try:
        if now - folder.stat().st_mtime < _KEPT_AFTER_DEATH:
            return False
        with socket.socket(socket.AF_UNIX) as visitor:
            visitor.connect(str(folder / _SOCKET))
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def _private_directory() -> Path:
    """A new directory of ours alone, short of path, whose programs may be run."""
    for parent in _parents():
        with suppress(OSError):
            sweep(Path(parent), time.time())
            made = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
            if _is_fit(made):
                return made
            shutil.rmtree(made, ignore_errors=True)
    raise WorldError(
        "no directory for temporary files is fit for the tools' stand-ins",
        hint="set TMPDIR to a directory of yours with a short path, from which programs may be run",
    )


def _parents() -> Iterator[str]:
    yield tempfile.gettempdir()
    yield "/tmp"  # noqa: S108  only when the chosen one has too long a path
    yield "/var/tmp"  # noqa: S108
    yield str(Path.home())


def _is_fit(folder: Path) -> bool:
    text = os.fsencode(folder / _SOCKET)
    if len(text) > _LONGEST_SOCKET_PATH or b":" in text:
        return False
    program = folder / "try"
    program.touch(0o700)
    runs = os.access(program, os.X_OK)  # false where the file system is mounted noexec
    program.unlink()
    return runs
