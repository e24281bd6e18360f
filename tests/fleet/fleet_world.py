"""Repositories, machines and a provider with a bill, for the scenarios of fleets."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from oraclepack.fleet.fleet_job import FleetJob
from oraclepack.fleet.fleets import Fleets

_ORACLE = """#!/usr/bin/env bash
# Writes the question on the bill, waits until it may answer, and answers; with sessions.
[ "$1" = --version ] && { echo 0.21.2; exit; }
while [ $# -gt 0 ]; do
  case $1 in --write-output) out=$2; shift;; -p) prompt=$2; shift;; esac
  shift
done
session=$HOME/.oracle/sessions/s$$
mkdir -p "$session" "$(dirname "$out")"
record() {
  printf '{"id":"s%s","status":"%s","startedAt":"%s","options":{"prompt":"%s",\
"writeOutputPath":"%s"},"usage":{"outputTokens":7}}' \
    $$ "$1" "$began" "$prompt" "$PWD/$out" > "$session/meta.part"
  mv "$session/meta.part" "$session/meta.json"
}
began=$(date -u +%Y-%m-%dT%H:%M:%S.000Z)
record running
echo "$prompt" >> "$BILL"
echo $$ >> "$BILL.pids"
echo "+ $$" >> "$BILL.flow"
n=0
while [ -e "$BILL.hold" ] && [ $n -lt 1200 ]; do sleep 0.05; n=$((n+1)); done
echo "The answer to '$prompt' is yes, because the code says so." > "$out.part"
mv "$out.part" "$out"
record completed
echo "- $$" >> "$BILL.flow"
"""

_STEP = """# {number:02d}) ROI=1 step {number}
oracle -p "{name} question {number}: why?" -m gpt-5.2 --engine api \\
  --write-output out/{name}/{number:02d}.md
"""


class FleetWorld:
    """Everything below one directory; machines are distinguished by their names."""

    def __init__(
        self, folder: Path, dsn: str = "", lease: float = 3.0, more: Mapping[str, str] | None = None
    ) -> None:
        """`more` are further variables of every machine."""
        self.folder = folder
        self.dsn = dsn
        self._lease = lease
        self._more = dict(more or {})
        self.bill_path = folder / "bill"
        self.hold_path = folder / "bill.hold"
        self._started: list[subprocess.Popen[bytes]] = []
        programs = folder / "bin"
        programs.mkdir()
        (programs / "oracle").write_text(_ORACLE)
        (programs / "oracle").chmod(0o755)

    def repository(self, name: str, packs: int = 1, steps: int = 2) -> Path:
        root = self.folder / "repos" / name
        (root / "docs").mkdir(parents=True)
        for pack in range(1, packs + 1):
            body = "".join(
                _STEP.format(number=number, name=f"{name}-{pack}") for number in range(1, steps + 1)
            )
            (root / f"docs/pack{pack}.md").write_text(f"# Pack\n\n```bash\n{body}```\n")
        words = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "one"]):
            subprocess.run([*words, *command], cwd=root, check=True)
        return root

    def manifest(self, *lines: tuple[str, str]) -> Path:
        path = self.folder / "fleet.jsonl"
        path.write_text(
            "".join(f'{{"repo": "repos/{repo}", "pack": "{pack}"}}\n' for repo, pack in lines)
        )
        return path

    def env(self, machine: str = "head") -> dict[str, str]:
        home = self.folder / "homes" / machine
        home.mkdir(parents=True, exist_ok=True)
        kept = {name: value for name, value in os.environ.items() if name in {"LANG", "TMPDIR"}}
        return {
            **kept,
            "HOME": str(home),
            "PATH": f"{self.folder / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin",
            "ORACLEPACK_MAX_PARALLEL": "1",  # a held call then stops its whole pack
            "OPENAI_API_KEY": "x",
            "BILL": str(self.bill_path),
            "ORACLEPACK_STORE": self.dsn,
            "ORACLEPACK_STORE_LEASE": f"{self._lease}s",
            "ORACLEPACK_MACHINE": f"{machine}/boot-of-{machine}",
            **self._more,
        }

    def start(
        self, *words: str, machine: str = "head", more: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        log = self.folder / f"{machine}.log"
        with log.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "oraclepack", *words],
                cwd=self.folder,
                env={**self.env(machine), **(more or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def command(self, *words: str, machine: str = "head", timeout: float = 90) -> int:
        return self.start(*words, machine=machine).wait(timeout)

    def worker(self, job: FleetJob, machine: str, *words: str) -> subprocess.Popen[bytes]:
        """The worker of a job on a machine, as Dask would start it there."""
        work = self.folder / "work" / machine
        given = ("--name", job.fleet, "--job", job.id, "--work-dir", str(work), *words)
        return self.start("fleet", "worker", *given, machine=machine)

    def jobs(self, fleet: str = "default") -> tuple[FleetJob, ...]:
        if self.dsn:
            return Fleets(self.dsn).status(fleet).jobs
        raise AssertionError("only with a database")

    def bill(self) -> Counter[str]:
        return (
            Counter(self.bill_path.read_text().splitlines())
            if self.bill_path.exists()
            else Counter()
        )

    def hold(self) -> None:
        """From now on calls are paid for and not answered, until `let_go`."""
        self.hold_path.touch()

    def let_go(self) -> None:
        self.hold_path.unlink(missing_ok=True)

    def lose_machine(self, job: FleetJob, machine: str) -> None:
        """A machine dies for good while its first question is asked."""
        self.hold()
        worker = self.worker(job, machine)
        until(self.bill, "the first question")
        worker.kill()
        worker.wait()
        self.kill_tools()
        self.let_go()

    def kill_runner(self, job: FleetJob) -> None:
        """Kill the worker of a job, which is a process of a session of its own."""
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"worker" in words and job.id.encode() in words:
                os.kill(int(folder.name), signal.SIGKILL)

    def kill_tools(self) -> None:
        """The tools die with their machine."""
        for pid in (self.folder / "bill.pids").read_text().split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue
            with (self.folder / "bill.flow").open("a") as flow:
                flow.write(f"- {pid}\n")

    def note_dead_tools(self) -> None:
        """Tools that were killed have no end in the account of calls in flight."""
        pids = {line.split()[1] for line in self._flow() if line.startswith("+")}
        pids -= {line.split()[1] for line in self._flow() if line.startswith("-")}
        with (self.folder / "bill.flow").open("a") as flow:
            flow.writelines(f"- {pid}\n" for pid in pids if not Path("/proc", pid).exists())

    def _flow(self) -> list[str]:
        return (self.folder / "bill.flow").read_text().splitlines()

    def most_at_once(self) -> int:
        """The largest number of calls that were in flight at the same moment."""
        flying: set[str] = set()
        most = 0
        for line in self._flow():
            sign, pid = line.split()
            flying = flying | {pid} if sign == "+" else flying - {pid}
            most = max(most, len(flying))
        return most

    def runners(self) -> list[int]:
        """The processes that work on jobs now."""
        found = []
        for name in os.listdir("/proc"):
            try:
                words = Path("/proc", name, "cmdline").read_bytes() if name.isdigit() else b""
            except OSError:
                continue
            if b"fleet\0worker" in words and str(self.folder).encode() in words:
                found.append(int(name))
        return found

    def log(self, machine: str = "head") -> str:
        path = self.folder / f"{machine}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def close(self) -> None:
        self.let_go()
        for process in self._started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def until(condition: Callable[[], object], what: str, seconds: float = 30) -> None:
    """Wait for something that another process brings about."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds:g} s"
        time.sleep(0.05)
