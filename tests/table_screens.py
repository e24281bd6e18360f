"""Draws the live table in real terminals, for docs/how-to/leave-a-run.md.

A run is laid out by hand, with a step that waits for a slot, one that retries, a silent one, one
answered from the cache and one that failed. `oraclepack runs watch` shows it in tmux.
`python -m tests.table_screens` puts both screens into the page.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import Cache, CallWait, Status, Wait
from oraclepack.pack.pack_files import read_pack
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.system import locks
from oraclepack.system.clock import rfc3339
from tests.events import created, finished, output, session, started, write_journal
from tests.packs import pack_text

PAGE = Path(__file__).parent.parent / "docs/how-to/leave-a-run.md"
SIZES = ((80, 16),)
TITLES = (
    "Retry storms when the queue is full",
    "Invariants of the ledger under concurrent writes",
    "Who may read exported reports",
    "What a cancelled checkout leaves behind",
    "Cache keys of personalised pages",
    "Background jobs that outlive a deploy",
    "Feature flags read before they are loaded",
)
SILENCE = 34.0
"""Seconds that are waited until the silent step is called so."""


def step_titles() -> list[str]:
    return [TITLES[number % len(TITLES)] for number in range(20)]


def lay_out(root: Path) -> RunDir:
    """The project with its pack, and a run of it in the middle of things."""
    bash = "\n".join(
        f"# {number:02}) {title}\ntrue\n" for number, title in enumerate(step_titles(), 1)
    )
    (root / "pack.md").write_text(pack_text(bash))
    pack = read_pack(root / "pack.md")
    run = RunDir(root, f"2026-11-17__nogit__{pack.pack_hash[:8]}")
    run.create()
    ids = tuple(str(step.id) for step in pack.steps)
    first = created(*ids, pack_id=run.run_id, pack_path="pack.md", pack_hash=pack.pack_hash)
    began = datetime.now(UTC) - timedelta(minutes=7, seconds=12)
    write_journal(run.path, *_timed(began, first, session(os.getpid()), *_story()))
    for step in ("03", "04", "05", "06"):
        (run.logs / f"{step}.1.stdout.log").write_text("thinking about it\n" * 40)
        (run.logs / f"{step}.1.stderr.log").write_text("")
    return run


def _story() -> list[j.Event]:
    quota = StepError(code="QUOTA", message="You exceeded your current quota")
    running = ProcessIdentity(pid=1)
    return [
        started("01"),
        replace(_outcome("01"), ok=True, cache=Cache.HIT),
        output("01"),
        replace(finished("01"), duration_ms=310),
        started("02"),
        replace(_outcome("02"), attempts=1, error=quota),
        replace(finished("02", Status.FAILED), error=quota, duration_ms=4_200),
        *(started(step) for step in ("03", "04", "05", "06")),
        *_waiting("03", Wait.SLOT, CallWait(call=1, reason="slot of openai, 3 at a time")),
        *_waiting("04", Wait.RETRY, CallWait(call=1, reason="429", seconds=600, tries=2)),
        *(
            j.InvocationIntent(step=step, attempt=1, call=1, tool="oracle", process=running)
            for step in ("05", "06")
        ),
    ]


def _outcome(step: str) -> j.InvocationOutcome:
    return j.InvocationOutcome(
        step=step, attempt=1, call=1, tool="oracle", ok=False, provider="openai"
    )


def _waiting(step: str, code: Wait, wait: CallWait) -> list[j.Event]:
    return [
        j.WarningRecorded(step=step, code=code, message=wait.reason, wait=wait),
        j.WaitStarted(
            step=step,
            attempt=1,
            call=1,
            wait=1,
            reason=code,
            detail=wait.reason,
            seconds=wait.seconds,
        ),
    ]


def _timed(began: datetime, *events: j.Event) -> list[j.Event]:
    return [
        replace(event, at=rfc3339(began + timedelta(seconds=7 * number)))
        for number, event in enumerate(events)
    ]


def tmux(*words: str) -> str:
    done = subprocess.run(
        ["tmux", "-L", f"op-screens-{os.getpid()}", *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def screens(root: Path, wait: float = SILENCE) -> dict[tuple[int, int], str]:
    """What `runs watch` shows in terminals of these sizes."""
    run = lay_out(root)
    held = locks.acquire(run.path, locks.Holder(pid=os.getpid(), host=os.uname().nodename))
    assert isinstance(held, locks.RunLock)
    command = f"NO_COLOR=1 {sys.executable} -P -m oraclepack runs watch latest; cat"
    try:
        for wide, high in SIZES:
            name = f"{wide}x{high}"
            size = ("-x", str(wide), "-y", str(high))
            tmux("new-session", "-d", "-s", name, *size, "-c", str(root), command)
        grow = run.logs / "06.1.stdout.log"
        end = time.monotonic() + wait
        while time.monotonic() < end:  # this step prints, the other one does not
            with grow.open("a") as log:
                log.write("reading src/a.py\n" * 20)
            time.sleep(0.5)
        return {
            (wide, high): tmux("capture-pane", "-p", "-t", f"{wide}x{high}") for wide, high in SIZES
        }
    finally:
        held.release()
        tmux("kill-server")


def main() -> None:
    """Put both screens into the page, without the blank end of each line."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = iter(list(screens(Path(folder).resolve()).values()))

    def picture(_: re.Match[str]) -> str:
        lines = "\n".join(line.rstrip() for line in next(drawn).splitlines())
        return "```text\n" + lines.strip("\n") + "\n```"

    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(r"```text\n.*?```", picture, page, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
