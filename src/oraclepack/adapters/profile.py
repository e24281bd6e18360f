"""The login profile, and whether it leaves our way into a step's shell alone.

Some profiles set BASH_ENV themselves (environment modules on clusters do). Bash then reads
their file instead of ours, and a step would run without the prelude's state and without
interception, silently. So one shell is asked, once, before any step runs.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from oraclepack.system.programs import find_bash

_PATIENCE = 60.0
_SENTINEL = "/dev/null"
_ASK = r'printf "\0%s" "${BASH_ENV-}"'

_FILES = ("~/.bash_profile", "~/.bash_login", "~/.profile")

SOURCE_PROFILE = f"""\
if [[ -r /etc/profile ]]; then . /etc/profile; fi
for __oraclepack_file in {" ".join(_FILES)}; do
  if [[ -r $__oraclepack_file ]]; then . "$__oraclepack_file"; break; fi
done
unset -v __oraclepack_file
"""
"""What `bash -l` does by itself."""

SOURCE_BASH_ENV = """\
if [[ -r ${BASH_ENV-} ]]; then . "$BASH_ENV"; fi
"""

_Asked = tuple[str | None, str]
"""A home and a directory to start in."""

_known: dict[_Asked, bool] = {}
_asked: dict[_Asked, subprocess.Popen[bytes]] = {}
_lock = threading.Lock()


@contextmanager
def asked_ahead(env: Mapping[str, str], cwd: str) -> Iterator[None]:
    """Ask now, while there is other work to do, what the first step will want to know."""
    key = (env.get("HOME"), cwd)
    with _lock, suppress(OSError):  # whoever needs the answer is told
        if key not in _known:
            _asked[key] = _ask(env, cwd)
    try:
        yield
    finally:
        unneeded = _asked.pop(key, None)
        if unneeded is not None:
            _end(unneeded)


def keeps_bash_env(env: Mapping[str, str], cwd: str) -> bool:
    """Whether BASH_ENV survives the login profile; asked once for each home. Raises OSError."""
    key = (env.get("HOME"), cwd)
    with _lock:
        if key not in _known:
            _known[key] = _answer(_asked.pop(key) if key in _asked else _ask(env, cwd))
        return _known[key]


def _ask(env: Mapping[str, str], cwd: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["bash", "-lc", _ASK],
        executable=find_bash(env.get("PATH", os.defpath)),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**env, "BASH_ENV": _SENTINEL},
        cwd=cwd,
        start_new_session=True,
    )


def _answer(shell: subprocess.Popen[bytes]) -> bool:
    try:
        told, _ = shell.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        _end(shell)
        return True
    _, answered, value = told.rpartition(b"\0")
    # A profile that ends the shell gives no answer at all; the steps will show that themselves.
    return not answered or value == _SENTINEL.encode()


def _end(shell: subprocess.Popen[bytes]) -> None:
    # Never waited for, so the number is still its own; what the profile started ends with it.
    with suppress(OSError):
        os.killpg(shell.pid, signal.SIGKILL)
    with shell:
        pass  # its pipe is closed, and it is waited for
