"""What bash is told for one attempt: its arguments, its environment, its entrance.

The body itself is the argument of `bash -lc`, so everything a body can notice is exactly
what that gives: `$0`, `$-`, `$LINENO`, `BASH_SOURCE`, `return`, traps, messages. Whatever must
happen between the login profile and the body stands in a small file that bash reads through
BASH_ENV, the entrance. It puts BASH_ENV back first, so no shell below reads it.

Only a body too long for one argument is read from its file and run with `eval`.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from shlex import quote as _quote

from oraclepack.adapters import disk
from oraclepack.core.attempt import MARKER_VARIABLE, Attempt

LONGEST_ARGUMENT = 120_000
"""Linux takes 131,071 bytes in one argument; longer bodies take the other way."""

LAST_PART = "# oraclepack: last\n"
"""The line of a snapshot after which options and traps begin to show."""

_HERE = Path(__file__).parent
_PROFILES = ("~/.bash_profile", "~/.bash_login", "~/.profile")

_OLD_BASH = """\
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
  printf 'oraclepack: bash %s cannot carry the state of a prelude; 4.4 can\\n' "$BASH_VERSION" >&2
  exit 2
fi
"""


@dataclass(frozen=True, slots=True)
class ShellCall:
    """How to start bash."""

    argv: tuple[bytes, ...]
    env: dict[str, str]
    entrance: Path | None
    """A file of this attempt alone, to be removed at its end."""


def prepare(attempt: Attempt) -> ShellCall:
    """Read the body, write the entrance if one is needed. Raises OSError."""
    body = Path(attempt.body).read_bytes()
    tail = _capture_tail() if attempt.capture else b""
    is_long = len(body) + len(tail) > LONGEST_ARGUMENT
    env = {**attempt.env, MARKER_VARIABLE: attempt.token}
    text = _entrance(attempt, read_body=is_long)
    entrance = None
    if text:
        entrance = Path(f"{attempt.body}.{attempt.token}.enter")
        _write_private(entrance, os.fsencode(text))
        env["BASH_ENV"] = str(entrance)
    code = _eval_string(tail) if is_long else body + tail
    return ShellCall((b"bash", b"-lc" if attempt.login else b"-c", code), env, entrance)


def _eval_string(tail: bytes) -> bytes:
    # The last line leaves the shell from inside `eval`, so that `eval` itself never fails and
    # an ERR trap of the body fires no more often than it should.
    end = tail.decode() or "\nexit"
    return f'eval "$BASH_EXECUTION_STRING"{_quote(end)}'.encode()


def _capture_tail() -> bytes:
    # `.` suspends a DEBUG trap, so that one is looked up outside. Stderr is silent, because the
    # prelude may have switched on xtrace.
    file = _quote(str(_HERE / "capture.sh"))
    look = "__oraclepack_debug=$(builtin trap -p DEBUG)"
    return f"\n\n{{ {look}; builtin . {file}; }} 2>/dev/null\n".encode()


def _entrance(attempt: Attempt, *, read_body: bool) -> str:
    """The text between profile and body, or nothing. What can be seen at work comes last."""
    body = f"IFS= read -rd '' BASH_EXECUTION_STRING <{_quote(attempt.body)} || :\n"
    state, last = _restored(attempt.restore)
    parts = (
        body if read_body else "",
        state,
        _path_fix(attempt.first_on_path),
        _before(attempt) if attempt.capture else "",
        last,
    )
    return _header(attempt) + "".join(parts) if any(parts) else ""


def _header(attempt: Attempt) -> str:
    """Undo our use of BASH_ENV, do what it was there for, and let other shells go.

    The login profile may start shells of its own while BASH_ENV still points here; only the
    attempt's shell is a child of this process.
    """
    theirs = attempt.env.get("BASH_ENV")
    if not theirs:
        undo = "unset -v BASH_ENV\n"
    elif "$" in theirs or "`" in theirs:  # bash expands the value like a quoted word
        undo = f'BASH_ENV={_quote(theirs)}\n[[ -r "{theirs}" ]] && . "{theirs}"\n'
    else:
        file = _quote(theirs if "/" in theirs else f"./{theirs}")
        undo = f"BASH_ENV={_quote(theirs)}\n[[ -r {file} ]] && . {file}\n"
    return f"{undo}[[ $PPID == {os.getpid()} ]] || return 0\n"


def _restored(snapshot: str | None) -> tuple[str, str]:
    # Copied, not sourced: the end of a sourced file would set off a RETURN trap.
    if not snapshot:
        return "", ""
    text = Path(snapshot).read_bytes().decode("utf-8", "surrogateescape")
    state, _, last = text.rpartition(LAST_PART)
    return state, last


def _path_fix(directory: str | None) -> str:
    if not directory:
        return ""
    first = _quote(directory)
    return f'case "${{PATH-}}" in {first} | {first}:*) ;; *) PATH={first}:"${{PATH-}}" ;; esac\n'


def _before(attempt: Attempt) -> str:
    """Take down what the prelude finds; with `login` off, the profile is part of the prelude."""
    records = _quote(str(_HERE / "records.sh"))
    profile = "" if attempt.login else _profile()
    return f"""{_OLD_BASH}\
__oraclepack_records={records}
__oraclepack_snapshot={_quote(attempt.capture or "")}
__oraclepack_log={_quote(attempt.stdout_log)}
__oraclepack_cwd=$PWD
__oraclepack_options="$SHELLOPTS:/:$BASHOPTS"
mapfile -d '' -t __oraclepack_before < <(. {records})
{profile}"""


def _profile() -> str:
    """What `bash -l` does by itself."""
    personal = " ".join(_PROFILES)
    return f"""\
if [[ -r /etc/profile ]]; then . /etc/profile; fi
for __oraclepack_file in {personal}; do
  if [[ -r $__oraclepack_file ]]; then . "$__oraclepack_file"; break; fi
done
"""


def _write_private(path: Path, data: bytes) -> None:
    descriptor = disk.create(path, 0o600)
    try:
        disk.write(descriptor, data, path)
    finally:
        os.close(descriptor)
