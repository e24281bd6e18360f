"""The arguments, environment and start-up code of bash for one attempt.

The body itself is the argument of `bash -lc`, so everything a body can notice is exactly
what that gives: `$0`, `$-`, `$LINENO`, `BASH_SOURCE`, `return`, traps, messages. Whatever must
happen between the login profile and the body is in a small anonymous file that bash reads
through BASH_ENV, the entrance. It puts BASH_ENV back first, so no shell below reads it.

Only a body too long for one argument is read from such a file too, and run with `eval`.
"""

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from shlex import quote as _quote

import msgspec

from oraclepack.shell.anonymous_files import AnonymousFile, file_in_memory
from oraclepack.shell.attempt import Attempt
from oraclepack.system.environment import MARKER_VARIABLE, WITHOUT_TERMINAL
from oraclepack.system.programs import find_bash, kill_group

LAST_PART = b"# oraclepack: last\n"
"""The line of a snapshot after which options and traps begin to show."""

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

_ShellFacts = tuple[str | None, str]
"""A home and a directory to start in."""

_known: dict[_ShellFacts, bool] = {}
_asked: dict[_ShellFacts, subprocess.Popen[bytes]] = {}
_lock = threading.Lock()


@contextmanager
def environment_ahead(env: Mapping[str, str], cwd: str) -> Iterator[None]:
    """Start now, beside other work, to find out what the first step needs to know."""
    key = (env.get("HOME"), cwd)
    with _lock, suppress(OSError):  # the reader of the answer gets the error
        if key not in _known:
            _asked[key] = _ask(env, cwd)
    try:
        yield
    finally:
        unneeded = _asked.pop(key, None)
        if unneeded is not None:
            kill_group(unneeded)


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
        output, _ = shell.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        kill_group(shell)
        return True
    _, answered, value = output.rpartition(b"\0")
    # A profile that ends the shell gives no answer at all; the steps will show that themselves.
    return not answered or value == _SENTINEL.encode()


LONGEST_ARGUMENT = 120_000
"""Linux takes 131,071 bytes in one argument; longer bodies take the other way."""

_HERE = Path(__file__).parent


class ShellCall(msgspec.Struct, frozen=True):
    """How to start bash."""

    argv: tuple[bytes, ...]
    env: dict[str, str]
    fds: tuple[int, ...]
    """The descriptors to hand down."""


def ask_profile(attempt: Attempt, records: AnonymousFile | None = None) -> None:
    """Find out what `prepare` needs to know about the login profile; that may take a minute."""
    enters = records or attempt.restore or attempt.first_on_path or _is_long(_code(attempt))
    if attempt.login and enters:
        with suppress(OSError):  # `prepare` asks again, and raises it
            keeps_bash_env(attempt.env, attempt.cwd)


def prepare(attempt: Attempt, stack: ExitStack, records: AnonymousFile | None = None) -> ShellCall:
    """Decide how bash is called; the stack closes what that needs. Raises OSError.

    With a file for records, the shell says there what it holds before and after the body.
    """
    code = _code(attempt)
    tail = _after(attempt, records) if records else b""
    env = {**attempt.env, MARKER_VARIABLE: attempt.token}
    handed = [records.fd] if records else []
    loading = b""
    if _is_long(code + tail):
        body = file_in_memory(stack, code)
        handed.append(body.fd)
        read = f"IFS= read -rd '' BASH_EXECUTION_STRING <{_quote(body.path)} || :\n"
        loading = os.fsencode(f"{read}exec {body.fd}<&-\n")
        code = _eval_string(tail)
    else:
        code += tail
    login = attempt.login
    if inside := _inside(attempt, records, loading):
        if login and not keeps_bash_env(attempt.env, attempt.cwd):
            # The next best thing to a login shell: a shell that sources the same files.
            login = False
            profile = SOURCE_PROFILE + SOURCE_BASH_ENV + _their_bash_env(attempt)
            inside = os.fsencode(profile) + inside
        entrance = file_in_memory(stack)
        entrance.write(os.fsencode(_header(attempt, entrance)) + inside)
        handed.append(entrance.fd)
        env["BASH_ENV"] = entrance.path
    argv = (b"bash", b"-lc" if login else b"-c", code)
    return ShellCall(argv, env, tuple(handed))


def _code(attempt: Attempt) -> bytes:
    return attempt.code.encode("utf-8", "surrogateescape")


def _is_long(code: bytes) -> bool:
    return len(code) > LONGEST_ARGUMENT


def _eval_string(tail: bytes) -> bytes:
    # The last line leaves the shell from inside `eval`, so that `eval` itself never fails and
    # an ERR trap of the body fires no more often than it should.
    end = os.fsdecode(tail) or "\nexit"
    # On one line, because the body's line numbers count from the last line of this command.
    on_one_line = end.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return os.fsencode(f"eval \"$BASH_EXECUTION_STRING\"$'{on_one_line}'")


def _inside(attempt: Attempt, records: AnonymousFile | None, loading: bytes) -> bytes:
    """The start-up code without its loader; nothing when bash needs none."""
    # Copied, not sourced: the end of a sourced file would set off a RETURN trap.
    snapshot = Path(attempt.restore).read_bytes() if attempt.restore else b""
    state, _, last = snapshot.rpartition(LAST_PART)
    # The variables that keep programs from waiting for a person, against the login profile.
    safe = [
        f"{name}={_quote(value)}"
        for name, value in WITHOUT_TERMINAL.items()
        if attempt.env.get(name) == value
    ]
    path = ""
    if attempt.first_on_path:
        first = _quote(attempt.first_on_path)
        path = (
            f'case "${{PATH-}}" in {first} | {first}:*) ;; *) PATH={first}:"${{PATH-}}" ;; esac\n'
        )
    return b"".join(
        (
            loading,
            f"export {' '.join(safe)}\n".encode() if safe else b"",
            state,
            os.fsencode(path),
            os.fsencode(_before(attempt, records)) if records else b"",
            last,
        )
    )


def _header(attempt: Attempt, entrance: AnonymousFile) -> str:
    """Undo our use of BASH_ENV, honour the caller's, and do nothing in other shells.

    The login profile may start shells of its own while BASH_ENV still points here; only the
    attempt's shell is a child of this process.
    """
    undo = _their_bash_env(attempt) or "unset -v BASH_ENV\n"
    return f"{undo}exec {entrance.fd}<&-\n[[ $PPID == {os.getpid()} ]] || return 0\n"


def _their_bash_env(attempt: Attempt) -> str:
    """Restore the caller's BASH_ENV and read the file that it names."""
    original = attempt.env.get("BASH_ENV")
    if not original:
        return ""
    if "$" in original or "`" in original:  # bash expands the value like a quoted word
        return f'BASH_ENV={_quote(original)}\n[[ -r "{original}" ]] && . "{original}"\n'
    file = _quote(original if "/" in original else f"./{original}")
    return f"BASH_ENV={_quote(original)}\n[[ -r {file} ]] && . {file}\n"


def _before(attempt: Attempt, records: AnonymousFile) -> str:
    """Say what the prelude finds; with `login` off, the profile is part of the prelude."""
    return f"""\
__oraclepack_records={_quote(str(_HERE / "records.sh"))}
{{
  (. "$__oraclepack_records")
  printf 's\\0%s\\0b\\0%s\\0d\\0%s\\0after\\0\\0' "$SHELLOPTS" "$BASHOPTS" "$PWD"
}} >&{records.fd}
{"" if attempt.login else SOURCE_PROFILE}"""


def _after(attempt: Attempt, records: AnonymousFile) -> bytes:
    """The lines behind the prelude's last one: say what it leaves, and leave."""
    capture, log = _quote(str(_HERE / "capture.sh")), _quote(attempt.stdout_log)
    # Stderr is silent, because the prelude may have switched on xtrace. A DEBUG trap is looked up
    # here, because `.` suspends it, and removed, because its output would get into the records.
    return os.fsencode(f"""

{{
  [[ /dev/fd/1 -ef {log} ]] || builtin printf 'redirected\\0yes\\0' >&{records.fd}
  builtin printf 'tDEBUG\\0' >&{records.fd}
  builtin trap -p DEBUG >&{records.fd}
  builtin trap - DEBUG
  builtin printf '\\0' >&{records.fd}
  builtin . {capture} >&{records.fd}
}} 2>/dev/null
""")
