"""The login profile, and whether it leaves our way into a step's shell alone.

Some profiles set BASH_ENV themselves (environment modules on clusters do). Bash then reads
their file instead of ours, and a step would run without the prelude's state and without
interception, silently. So one shell is asked, once, before any step runs.
"""

import subprocess
from collections.abc import Mapping

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

_known: dict[tuple[str | None, ...], bool] = {}


def keeps_bash_env(env: Mapping[str, str], cwd: str) -> bool:
    """Whether BASH_ENV survives the login profile; asked once for each home. Raises OSError."""
    key = (env.get("HOME"), env.get("PATH"), cwd)
    if key not in _known:
        _known[key] = _ask(env, cwd)
    return _known[key]


def _ask(env: Mapping[str, str], cwd: str) -> bool:
    try:
        answer = subprocess.run(
            ["bash", "-lc", _ASK],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**env, "BASH_ENV": _SENTINEL},
            cwd=cwd,
            start_new_session=True,
            timeout=_PATIENCE,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired:
        return True
    _, answered, value = answer.rpartition(b"\0")
    # A profile that ends the shell gives no answer at all; the steps will show that themselves.
    return not answered or value == _SENTINEL.encode()
