"""The prelude: run once, its state kept in a snapshot that every step restores."""

import os
import re
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.shell.anonymous_files import file_in_memory
from oraclepack.shell.attempt import Attempt, AttemptCallbacks, AttemptEnd, AttemptOutcome
from oraclepack.shell.bash import run_attempt
from oraclepack.shell.launch import LAST_PART
from oraclepack.shell.stop import Stop
from oraclepack.system import disk
from oraclepack.system.clock import Clock
from oraclepack.system.files import cannot

BETWEEN = b"\0after\0\0"
"""Separates the two records: the end of the last text, and a key that no variable has."""

VOLATILE = frozenset(
    b"_ BASHOPTS BASHPID BASH_ALIASES BASH_ARGC BASH_ARGV BASH_ARGV0 BASH_CMDS BASH_COMMAND "
    b"BASH_EXECUTION_STRING BASH_LINENO BASH_MONOSECONDS BASH_REMATCH BASH_SOURCE BASH_SUBSHELL "
    b"BASH_TRAPSIG BASH_VERSINFO BASH_VERSION BASH_XTRACEFD COLUMNS COMP_WORDBREAKS COPROC "
    b"COPROC_PID DIRSTACK EPOCHREALTIME EPOCHSECONDS EUID FUNCNAME GROUPS HISTCMD LINENO LINES "
    b"OLDPWD OPTARG OPTERR OPTIND ORACLEPACK_ATTEMPT PIPESTATUS PPID PWD RANDOM SECONDS SHELLOPTS "
    b"SHLVL SRANDOM UID".split()
)
"""Variables that bash changes by itself, or that belong to one process only."""

_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_FIXED_OPTIONS = frozenset((b"", b"login_shell", b"restricted_shell", b"interactive"))
_TRAPS_LAST = (b"tERR", b"tRETURN", b"tDEBUG")

Records = Mapping[bytes, bytes]


class PreludeSnapshot(msgspec.Struct, frozen=True):
    """What a step's shell needs to look as if the prelude had run in it."""

    text: bytes
    exit_trap: bytes
    """The command that sets the prelude's EXIT trap; empty when it has none."""
    warnings: tuple[str, ...]


def take_snapshot(stream: bytes) -> PreludeSnapshot | None:
    """The difference between a shell's two records; None when the second one was cut short."""
    before, _, after = stream.partition(BETWEEN)
    was, now = _records(before), _records(after)
    if b"complete" not in now:
        return None
    changed = {key: text for key, text in now.items() if was.get(key) != text and _lasts(key)}
    removed = [key for key in was if key not in now and _lasts(key)]
    state = (
        *(_forget(key) for key in (*changed, *removed)),
        *_switched(was, now, b"b", (b"shopt -u ", b"shopt -s ")),
        # Functions before aliases: their text is already expanded.
        *(text for kind in b"vfaup" for key, text in changed.items() if key[0] == kind),
    )
    last = (
        *(text for key, text in now.items() if key[:1] == b"t" and key not in _UNUSUAL_TRAPS),
        # In one group, so that neither xtrace nor verbose nor a DEBUG trap shows the rest of it.
        b"{ :\n",
        *(now.get(key, b"") for key in _TRAPS_LAST[:2]),
        *_switched(was, now, b"s", (b"set +o ", b"set -o ")),
        now.get(b"tDEBUG", b""),
        b"} 2>/dev/null\n",
    )
    warnings = []
    if was.get(b"d") != now.get(b"d"):
        warnings.append("the prelude changes the directory; every step still starts in its own")
    if now.get(b"redirected"):
        warnings.append("the prelude redirects its output; each step still writes to its own log")
    text = b"".join((*state, LAST_PART, *last))
    return PreludeSnapshot(text, now.get(b"tEXIT", b""), tuple(warnings))


_UNUSUAL_TRAPS = frozenset((*_TRAPS_LAST, b"tEXIT"))


def _records(stream: bytes) -> dict[bytes, bytes]:
    parts = stream.split(b"\0")
    return dict(zip(parts[::2], parts[1::2], strict=False))


def _lasts(key: bytes) -> bool:
    if key[:1] == b"v":
        return key[1:] not in VOLATILE and _NAME.fullmatch(key[1:]) is not None
    return key[:1] in (b"f", b"a") or key in (b"u", b"p")


def _forget(key: bytes) -> bytes:
    """Remove a definition that the prelude removed, or that would affect the new one."""
    kind, name = key[:1], key[1:]
    if kind == b"v":
        return b"unset -n %b; unset -v %b\n" % (name, name)
    if kind == b"f":
        return b"unset -f -- %b\n" % _quoted(name)
    if kind == b"a":
        return b"unalias -- %b 2>/dev/null || :\n" % _quoted(name)
    return b""


def _quoted(name: bytes) -> bytes:
    return b"'" + name.replace(b"'", b"'\\''") + b"'"


def _switched(
    was: Records, now: Records, key: bytes, commands: tuple[bytes, bytes]
) -> Iterable[bytes]:
    """The commands that switch options as the prelude did."""
    old, new = (set(side.get(key, b"").split(b":")) - _FIXED_OPTIONS for side in (was, now))
    yield from (commands[0] + name + b"\n" for name in sorted(old - new))
    yield from (commands[1] + name + b"\n" for name in sorted(new - old))


def run_prelude(
    attempt: Attempt, stop: Stop, watch: AttemptCallbacks, clock: Clock
) -> AttemptOutcome:
    """Run an attempt that has a `capture`, and leave the snapshot there if it succeeds.

    A prelude has succeeded when it reached its end; the status of its last command means
    nothing, as in the middle of any script. One that left by `exit 0` or `exec` has not: the
    steps would run without what they need, or although the author wanted nothing to run.
    Raises MachineError when the snapshot cannot be written.
    """
    with ExitStack() as stack:
        # Without a name, because they hold the whole environment, secrets too.
        records = file_in_memory(stack)
        outcome = run_attempt(attempt, stop, watch, clock, records=records)
        if not outcome.ok:
            return outcome
        snapshot = take_snapshot(records.read_all())
    if snapshot is None:
        message = "the prelude left its shell (exit or exec) before its last line"
        return replace(outcome, reason=AttemptEnd.INCOMPLETE, message=message)
    if attempt.capture:
        place = Path(attempt.capture)
        try:
            _write_private(place, snapshot.text)
            if snapshot.exit_trap:
                _write_private(_exit_place(place), snapshot.exit_trap)
        except OSError as trouble:
            raise cannot("write", place, trouble) from trouble
    return replace(outcome, warnings=(*outcome.warnings, *snapshot.warnings))


def exit_trap(snapshot: Path) -> Path | None:
    """The script that sets the prelude's EXIT trap, if it has one.

    The trap cleans up after the whole pack: it is run as the code of a last attempt that
    restores the snapshot, when no step needs the prelude any more.
    """
    place = _exit_place(snapshot)
    return place if place.exists() else None


def _exit_place(snapshot: Path) -> Path:
    return Path(f"{snapshot}.exit")


def _write_private(path: Path, data: bytes) -> None:
    descriptor = disk.create(path, 0o600)
    try:
        disk.write(descriptor, data, path)
    finally:
        os.close(descriptor)
