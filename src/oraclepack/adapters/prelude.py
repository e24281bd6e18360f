"""The prelude: run once, its state kept in a snapshot that every step restores."""

from dataclasses import replace
from pathlib import Path

from oraclepack.adapters.bash import run_attempt
from oraclepack.adapters.stop import Stop
from oraclepack.core.attempt import Attempt, Ending, Outcome, Watch
from oraclepack.core.ports import Clock

_COMPLETE = b"# complete\n"
_WARNING = b"# warning: "


def run_prelude(attempt: Attempt, stop: Stop, watch: Watch, clock: Clock) -> Outcome:
    """Run an attempt that has a `capture`, and see to it that the snapshot is whole.

    A prelude has succeeded when it reached its end; the status of its last command means
    nothing, as in the middle of any script. One that left by `exit 0` or `exec` has not: the
    steps would run without what they need, or although the author wanted nothing to run.
    """
    snapshot = Path(attempt.capture or "")
    outcome = run_attempt(attempt, stop, watch, clock)
    if not outcome.ok:
        return outcome
    try:
        text = snapshot.read_bytes()
    except OSError:
        text = b""
    if not text.endswith(_COMPLETE):
        return replace(
            outcome,
            reason=Ending.INCOMPLETE,
            message="the prelude left its shell (exit or exec) before its last line",
        )
    return replace(outcome, warnings=(*outcome.warnings, *_warnings(text)))


def exit_trap(snapshot: Path) -> Path | None:
    """The script that sets the prelude's EXIT trap, if it has one.

    The trap tidies up after the whole pack: to be run as the body of a last attempt that
    restores the snapshot, when no step needs the prelude any more.
    """
    kept = Path(f"{snapshot}.exit")
    return kept if kept.exists() else None


def _warnings(text: bytes) -> tuple[str, ...]:
    lines = text.split(b"\n", 3)
    found = (line for line in lines[:2] if line.startswith(_WARNING))
    return tuple(line.removeprefix(_WARNING).decode() for line in found)
