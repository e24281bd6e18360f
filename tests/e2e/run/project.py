"""A project to run packs in: a git repository, a scripted oracle, a home of its own."""

import itertools
import json
import os
import select
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oraclepack.journal.journal_file import load
from oraclepack.journal.line_format import JournalContent
from oraclepack.shell.processes import open_pidfd
from tests.e2e.program import Ran
from tests.packs import pack_text
from tests.scripted import Scripted, scripted_tool

REPOSITORY = Path(__file__).parents[3]
GIT = ("git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org")
PATIENCE = 120.0
"""Seconds after which a command counts as hanging."""
_numbers = itertools.count(1)


class Zygote:
    """The process that starts the program; see `zygote.py`."""

    def __init__(self, *watch: str) -> None:
        """`watch` is the beginning of a command line: a tracer, under which all of it runs."""
        self._server = subprocess.Popen(
            [*watch, sys.executable, "-m", "tests.e2e.run.zygote"],
            cwd=REPOSITORY,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def ask(self, **request: object) -> int:
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        self._server.stdin.flush()
        reply: int = json.loads(self._server.stdout.readline())
        return reply

    def close(self) -> None:
        self._server.communicate()


@dataclass(frozen=True)
class Program:
    """A command line that is being answered."""

    zygote: Zygote
    pid: int
    out: Path
    err: Path

    def wait(self, patience: float = PATIENCE) -> Ran:
        """How it ended. What hangs is killed, and raises a TimeoutError."""
        hangs = not self._ends_within(patience)
        if hangs:
            self.signal(signal.SIGKILL)
        code = self.zygote.ask(do="wait", pid=self.pid)
        ran = Ran(code, self.out.read_text(), self.err.read_text())
        if hangs:
            raise TimeoutError(f"it hangs: no end after {patience:.0f} s: {ran}")
        return ran

    def _ends_within(self, patience: float) -> bool:
        descriptor = open_pidfd(self.pid)
        if descriptor is None:  # not every system has them; `wait` then waits for good
            return True
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        try:
            return bool(poll.poll(patience * 1000))
        finally:
            os.close(descriptor)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)


@dataclass(frozen=True)
class Project:
    """A directory with a pack in it."""

    root: Path
    zygote: Zygote
    oracle: Scripted
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def pack(self) -> Path:
        return self.root / "pack.md"

    def write(self, bash: str) -> None:
        self.pack.write_text(pack_text(bash))

    def commit(self, message: str = "work") -> str:
        """Commit the pack and all else that is not ours; the new HEAD."""
        for words in (("add", "-A"), ("commit", "-q", "--allow-empty", "-m", message)):
            subprocess.run([*GIT, *words], cwd=self.root, check=True, env=self.environment)
        result = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=self.root, check=True, capture_output=True
        )
        return result.stdout.decode().strip()

    @property
    def environment(self) -> dict[str, str]:
        mine = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
        path = os.pathsep.join([str(self.oracle.folder), mine["PATH"]])
        known = {"PATH": path, "TOOLS": str(self.oracle.folder), "LANG": "C.UTF-8"}
        # One order of questions for all tests; those of `auto` say so.
        return mine | known | {"ORACLEPACK_MAX_PARALLEL": "1"} | self.variables

    def start(
        self,
        *args: str,
        fault: dict[str, object] | None = None,
        inside: dict[str, dict[str, object]] | None = None,
        **env: str,
    ) -> Program:
        """Begin a command line without waiting for its end; see `zygote.py` for the faults."""
        number = next(_numbers)
        out, err = (self.root.parent / f"{self.root.name}.{number}.{name}" for name in ("o", "e"))
        pid = self.zygote.ask(
            do="start",
            args=args,
            cwd=str(self.root),
            env=self.environment | env,
            out=str(out),
            err=str(err),
            fault=fault,
            inside=inside or {},
        )
        return Program(self.zygote, pid, out, err)

    def run(
        self,
        *args: str,
        fault: dict[str, object] | None = None,
        inside: dict[str, dict[str, object]] | None = None,
        **env: str,
    ) -> Ran:
        """`oraclepack run pack.md --json …`, to its end."""
        words = ("run", "pack.md", "--json", *args)
        return self.start(*words, fault=fault, inside=inside, **env).wait()

    @property
    def run_dirs(self) -> list[Path]:
        return sorted((self.root / ".oraclepack/runs").glob("*"))

    @property
    def rehearsals(self) -> list[Path]:
        return sorted((self.root / ".oraclepack/rehearsals").glob("*"))

    @property
    def run_dir(self) -> Path:
        """The only run, or the only rehearsal where nothing was run for real."""
        (only,) = self.run_dirs or self.rehearsals
        return only

    @property
    def journal(self) -> JournalContent:
        return load(self.run_dir / "journal.jsonl")

    def steps(self) -> dict[str, dict[str, Any]]:
        loaded = json.loads((self.run_dir / "steps.json").read_bytes())
        return {step["step_id"]: step for step in loaded["steps"]}

    def statuses(self) -> list[str]:
        return [step["status"] for step in self.steps().values()]

    def attempts(self) -> dict[str, int]:
        return {name: step["attempts"] for name, step in self.steps().items()}

    def manifest(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.run_dir / "run.json").read_bytes())
        return loaded


def a_project(parent: Path, zygote: Zygote, bash: str = "", name: str = "project") -> Project:
    """A committed project with this bash in its pack."""
    root = parent / name
    root.mkdir()
    oracle = scripted_tool(parent / f"{name}-tools")
    # As in many a real home: the machine's login profile sets PATH anew, the user's adds to it.
    Path(os.environ["HOME"], ".bash_profile").write_text("PATH=$TOOLS:$PATH\n")
    project = Project(root, zygote, oracle)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=root, check=True)
    (root / ".gitignore").write_text(".oraclepack/\n*.state.json\n*.report.json\nout/\n")
    project.write(bash or twenty())
    project.commit()
    return project


def asking(number: int, before: str = "", after: str = "") -> str:
    """A step that asks oracle one question and keeps the answer in out/."""
    return (
        f"# {number:02}) ROI={21 - number} impact=5 confidence=0.8 effort=2 horizon=Immediate"
        f" category=invariants reference=src/a.py\n{before}"
        f'oracle --write-output "out/{number:02}-topic-{number}.md" -p "Question {number}?\n\n'
        "Answer format:\n1) Direct answer\n2) Risks/unknowns\n"
        "3) Next smallest concrete experiment\n"
        f'4) If evidence is insufficient, name it."\n{after}'
    )


def twenty(**changed: str) -> str:
    """Twenty questions; `s05="false"` puts other code into a step."""
    parts = ["mkdir -p out\n"]
    for number in range(1, 21):
        other = changed.get(f"s{number:02}")
        parts.append(asking(number) if other is None else f"# {number:02}) other\n{other}\n")
    return "\n".join(parts)
