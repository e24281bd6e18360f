"""Everything one call needs, in a directory of the test's own, with a scripted tool."""

import itertools
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from oraclepack.calls.context import CallContext, CallOptions
from oraclepack.calls.file_store import project_cache, user_store
from oraclepack.calls.handler import CallHandler
from oraclepack.calls.live_call import LiveCall
from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.journal import events as j
from oraclepack.journal.journal_file import JournalFile, load
from oraclepack.journal.statuses import CallWait
from oraclepack.journal.step_state import Invocation
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.system.secrets import Redactor
from tests.clocks import SteppingClock
from tests.packs import a_pack

COST = "0.1s · $0.01 · gpt-5.2 · ↑17 ↓154 ↻0* Δ171 · sid=s\n"
FRESH = COST.replace("sid=s", "sid=fresh")
ANSWER = b"## Direct answer\nyes\n"
OUT = "out/x.md"
ASK = ("-p", "why?", "-e", "api", "-m", "gpt-5.2", "--write-output", OUT)

Act = Callable[[ToolRun], ToolEnd]


def output_of(order: ToolRun) -> Path:
    """Where the tool is to write: a path of the call's own."""
    flag = "--write-output"
    joined = [word.partition("=")[2] for word in order.argv if word.startswith(f"{flag}=")]
    return Path(order.cwd, joined[0] if joined else order.argv[order.argv.index(flag) + 1])


def answering(data: bytes = ANSWER, said: str = FRESH) -> Act:
    """The tool answers."""

    def act(order: ToolRun) -> ToolEnd:
        path = output_of(order)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return ToolEnd(0, f"\nAnswer:\nyes\n\n{said}")

    return act


def failing(message: str, exit_code: int = 1) -> Act:
    """The tool prints an error and leaves nothing."""
    return lambda _: ToolEnd(exit_code, f"Session: s\nERROR: {message}\n")


def saying(end: ToolEnd) -> Act:
    return lambda _: end


class ScriptedShim:
    """A shim whose real tool follows a script, one entry per call; the last one repeats."""

    def __init__(self, *script: Act, patience: int = 1000) -> None:
        self.script = list(script)
        self.orders: list[ToolRun] = []
        self.stdout = ""
        self.stderr = ""
        self.pauses: list[float] = []
        self.patience = patience
        """How many pauses it bears before it is given up."""
        self.stdin = b""
        self.numbers = itertools.count(100)

    def next_call(self) -> int:
        return next(self.numbers)

    def run(self, order: ToolRun, on_started: Callable[[ProcessIdentity], None]) -> ToolEnd:
        self.orders.append(order)
        if not order.hidden:
            on_started(ProcessIdentity(pid=4_000_000 + len(self.orders), start_time="1"))
        act = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        end = act(order)
        if order.on_output is not None:
            order.on_output(end.out)
        if order.folder is not None:
            (order.folder / "stdout").write_text(end.out)
        return end

    def write_stdout(self, text: str) -> None:
        self.stdout += text

    def write_stderr(self, text: str) -> None:
        self.stderr += text

    def read_stdin(self) -> bytes:
        return self.stdin

    def pause(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        threading.Event().wait(0.001)
        return len(self.pauses) <= self.patience


class Office:
    """A project, a run, and the calls made in it."""

    def __init__(
        self, root: Path, bash: str = "", *, day: int = 1, run: str = "r", **options: Any
    ) -> None:
        self.root = root / "project"
        self.run_dir = self.root / ".oraclepack/runs" / run
        self.oracle_home = root / "oracle-home"
        for folder in (self.root, self.run_dir, self.oracle_home):
            folder.mkdir(parents=True, exist_ok=True)
        self.clock = SteppingClock(datetime(2026, 3, day, 10, tzinfo=UTC))
        self.redactor = Redactor(["sentinel-secret"])
        self.journal = JournalFile(self.run_dir / "journal.jsonl", self.clock, self.redactor)
        self.state = root / "state"
        self._leaving = ExitStack()
        store = self._leaving.enter_context(
            user_store(
                self.root,
                self.run_dir,
                self.clock,
                use_cache=options.get("use_cache", True),
                folder=self.state,
            )
        )
        self.context = CallContext(
            root=self.root,
            run_dir=self.run_dir,
            run_id=run,
            pack=a_pack(bash or "# 01) step\ntrue\n"),
            journal=self.journal,
            store=store,
            clock=self.clock,
            chance=lambda: 0.5,
            options=CallOptions(**options),
            redactor=self.redactor,
        )
        self.cache = project_cache(self.root)
        self.calls = CallHandler(self.context)
        self.number = 0
        self.attempt = 1

    def call(
        self, shim: ScriptedShim, *argv: str, tool: str = "oracle", step: str = "01", **more: str
    ) -> int:
        """Make one call, with more variables if need be; its exit code."""
        self.number += 1
        env = {
            "HOME": str(self.root.parent),
            "ORACLE_HOME_DIR": str(self.oracle_home),
            "OPENAI_API_KEY": "sentinel-secret",
            **more,
        }
        made = LiveCall(tool, argv or ASK, str(self.root), env, step, self.attempt, self.number)
        return self.calls.answer(made, shim)

    @property
    def invocations(self) -> tuple[Invocation, ...]:
        made = [i for step in self.journal.state.steps.values() for i in step.invocations]
        return tuple(sorted(made, key=lambda one: one.call))

    @property
    def waits(self) -> list[CallWait]:
        """What calls waited for, as the journal tells it."""
        events = load(self.run_dir / "journal.jsonl").events
        return [
            one.wait
            for one in events
            if isinstance(one, j.WarningRecorded) and one.wait is not None
        ]

    @property
    def last(self) -> j.InvocationOutcome:
        outcome = self.invocations[-1].outcome
        assert outcome is not None
        return outcome

    @property
    def _begun(self) -> j.InvocationIntent:
        """The last call whose tool was started."""
        intents = [one.intent for one in self.invocations if one.intent and one.intent.private]
        return max(intents, key=lambda one: one.at)

    @property
    def folder(self) -> Path:
        """Where the tool of the last call writes and prints."""
        return self.root / (self._begun.private or "")

    @property
    def private(self) -> Path:
        """The file to which the tool of the last call writes."""
        return self.folder / "out" / (self._begun.output_path or "")

    def tool_writes(self, data: bytes) -> None:
        """The tool of a killed command ends its work."""
        self.private.write_bytes(data)

    def out(self, path: str = OUT) -> bytes | None:
        with suppress(FileNotFoundError):
            return (self.root / path).read_bytes()
        return None

    def put(self, path: str, data: bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(data)
