"""The private directory that is first on a step's PATH, and what lies in it."""

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote

from oraclepack.calls import shim
from oraclepack.errors import MachineError
from oraclepack.system import disk
from oraclepack.system.environment import TRUST_KEY_VARIABLE
from oraclepack.system.files import cannot
from oraclepack.tools.oracle_config import PREFIXES
from oraclepack.tools.tool_names import ORACLE, SPELLINGS
from oraclepack.tools.wrappers import PACKAGE_RUNNERS

NAMES = (*SPELLINGS, "npx")
"""What a step may call that we want to know of."""

_CLIENT = "client"
_NODE_SIDE = "node.cjs"
_SOCKET = "gateway"
_LONGEST_SOCKET_PATH = 103
"""A socket's path has 108 bytes on Linux, 104 on macOS, with the NUL."""
_LONGEST_SHEBANG = 120


class ShimDir:
    """The shims of the tools, their socket, and what leads calls to them.

    They are first on PATH. A step may change PATH, or start a tool by its path: so each bash below
    it has functions of their names (from BASH_ENV; exported, for shells that do not read that), and
    a Node that is to run a tool calls its shim instead (NODE_OPTIONS).

    Every tool on PATH has a shim, and oracle always has one. A missing tool has none, so that
    `command -v codex` stays correct; where a login profile adds a tool, bash makes its shim.
    """

    def __init__(self, path: Path, search: str, *, every_tool: bool = False) -> None:
        """`search` is a PATH: each tool on it gets a shim.

        With `every_tool` nothing we know may start: all tools get one, whether they are found or
        not, and so do the package runners that could fetch them.
        """
        self._every_tool = every_tool
        self._names = (*NAMES, *sorted(PACKAGE_RUNNERS - {*NAMES})) if every_tool else NAMES
        self.path = path
        self.socket = path / _SOCKET
        self.bash_env = path / "bash_env"
        self.node_option = f'--require="{path / _NODE_SIDE}"'
        self._write_programs()
        self.cover(search)

    @classmethod
    def make(
        cls, parent: Path, search: str, bash_env: str | None, *, every_tool: bool = False
    ) -> "ShimDir":
        """A new one in a private directory, with the user's own BASH_ENV honoured.

        Raises MachineError.
        """
        path = parent / "bin"
        try:
            disk.make_directory(path, 0o700)
            shims = cls(path, search, every_tool=every_tool)
            _write(shims.bash_env, shims._bash_env_text(bash_env))
        except OSError as trouble:
            raise cannot("prepare", path, trouble) from trouble
        if problem := _problem(shims):
            raise MachineError(
                f"the shims of the tools cannot be in {path}: {problem}",
                hint="set TMPDIR to a directory of yours with a short and plain path",
            )
        return shims

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """The environment of an attempt whose calls are to reach us."""
        return {
            **base,
            "PATH": f"{self.path}:{base.get('PATH', os.defpath)}",
            "BASH_ENV": str(self.bash_env),
            "NODE_OPTIONS": f"{base.get('NODE_OPTIONS', '')} {self.node_option}".lstrip(),
        }

    def cover(self, search: str) -> None:
        """Make the missing shims for the tools on another PATH."""
        for name in self._names:
            place = self.path / name
            always = name == ORACLE or (self._every_tool and name in NAMES)
            if always or find_beyond(self.path, name, search):
                with suppress(FileExistsError):
                    disk.symlink(_CLIENT, place)

    def remove(self) -> None:
        with suppress(OSError):
            for entry in list(self.path.iterdir()):
                disk.remove(entry)
            self.path.rmdir()

    def _write_programs(self) -> None:
        sources = Path(shim.__file__).parent
        _write(self.path / _NODE_SIDE, (sources / _NODE_SIDE).read_bytes())
        source = (sources / "client.py").read_bytes()
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

    def _bash_env_text(self, original: str | None) -> bytes:
        """Read by every bash below a step, after its login profile has changed PATH."""
        here, node = quote(str(self.path)), quote(self.node_option)
        lines = [_source(original)] if original else []
        # A login profile may have brought them back.
        lines.append(f"unset {TRUST_KEY_VARIABLE}")
        if self._every_tool:
            names = " ".join(f"${{!{prefix}@}}" for prefix in PREFIXES)
            lines.append(f"if shopt -q login_shell; then unset -v {names}; fi")
        lines += [
            f'case "${{PATH-}}" in {here} | {here}:*) ;; *) PATH={here}:"${{PATH-}}" ;; esac',
            f'case "${{NODE_OPTIONS-}}" in *{here}/*) ;; *) NODE_OPTIONS+=" "{node} ;; esac',
            "export NODE_OPTIONS",
        ]
        there = [name for name in self._names if (self.path / name).exists()]
        missing = [
            f"  if [[ ! -e {here}/{name} ]] && builtin type -P {name}; then "
            f"command ln -s {_CLIENT} {here}/{name} || :; fi\n"
            f"  if [[ -e {here}/{name} ]]; then\n{_function(here, name)}\n  fi"
            for name in self._names
            if name not in there
        ]
        lines += [_function(here, name) for name in there if name in NAMES]
        # Redirected once: every shell reads this.
        lines += ("{", *missing, "} >/dev/null 2>&1") if missing else ()
        return os.fsencode("\n".join(lines) + "\n")


def _function(here: str, name: str) -> str:
    """A function in front of a shim; exported where shells that follow POSIX take its name."""
    exported = f"; export -f {name}" if name.isidentifier() else ""
    return f'function {name} {{ {here}/{name} "$@"; }}{exported}'


def is_inside_a_step(env: Mapping[str, str]) -> bool:
    """Whether this environment leads calls to a run that is going on."""
    folders = [os.path.dirname(env.get("BASH_ENV", "")), *env.get("PATH", "").split(":")]
    return any(_is_live(Path(folder)) for folder in dict.fromkeys(folders) if folder)


def _is_live(folder: Path) -> bool:
    """Whether calls of the shims in a directory are answered."""
    if not (folder / _CLIENT).is_file():
        return False
    import socket  # only inside of steps

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as gateway:
        try:
            gateway.connect(str(folder / _SOCKET))
        except OSError:
            return False
    return True


def find_beyond(shim_dir: Path, name: str, search: str) -> str | None:
    """A program on a PATH, without the shims; by its path if the name has a slash.

    Relative directories do not count: in a clone they would be those of the repository. As
    `shutil.which` else, whose module takes longer to import than a step takes to start.
    """
    places = without(shim_dir, search).split(":")
    for program in (
        [name] if "/" in name else [f"{place}/{name}" for place in places if place.startswith("/")]
    ):
        if os.path.isfile(program) and os.access(program, os.X_OK):  # six per PATH entry
            return program
    return None


def without(shim_dir: Path, search: str) -> str:
    """A PATH without our directory."""
    return ":".join(part for part in search.split(":") if part != str(shim_dir))


def _source(original: str) -> str:
    """What bash itself would do with that BASH_ENV: expand it, and read it if it is there."""
    if "$" in original or "`" in original:
        return f'if [[ -r "{original}" ]]; then . "{original}"; fi'
    file = quote(original if "/" in original else f"./{original}")
    return f"if [[ -r {file} ]]; then . {file}; fi"


def _write(path: Path, data: bytes, mode: int = 0o600) -> None:
    descriptor = disk.create(path, mode)
    try:
        disk.set_mode(descriptor, mode, path)  # a umask may have taken what we need ourselves
        disk.write(descriptor, data, path)
    finally:
        os.close(descriptor)


def _problem(shims: ShimDir) -> str:
    """Why shims cannot work there, if they cannot."""
    if len(os.fsencode(shims.socket)) > _LONGEST_SOCKET_PATH:
        return "the path is too long for a socket"
    if ":" in str(shims.path):
        return "no directory on PATH may have a colon in its name"
    if not os.access(shims.path / ORACLE, os.X_OK):
        return "programs may not be run there"
    return ""
