"""A Dask scheduler and workers as processes, each worker a machine of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from tests.fleet.fleet_world import FleetWorld, until


class DaskMachines:
    """Where a fleet runs: the address of its scheduler, and the processes."""

    def __init__(self, world: FleetWorld, address: str, scheduler: subprocess.Popen[bytes]) -> None:
        self.world = world
        self.address = address
        self.scheduler = scheduler
        self.workers: dict[str, subprocess.Popen[bytes]] = {}

    def kill_machine(self, machine: str) -> None:
        """The Dask worker of a machine and everything that was started there dies."""
        self.workers[machine].kill()
        self.workers[machine].wait()
        mark = f"ORACLEPACK_MACHINE={machine}/".encode()
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != os.getpid() and mark in _environment(name):
                with suppress(ProcessLookupError):
                    os.kill(int(name), signal.SIGKILL)


def _environment(pid: str) -> bytes:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return file.read()
    except OSError:
        return b""


@contextmanager
def dask_machines(
    world: FleetWorld,
    machines: Sequence[str] = ("machine0", "machine1", "machine2"),
    host: str = "127.0.0.1",
    inside: Sequence[Sequence[str]] = ((), (), ()),
    hosts: Sequence[str] = (),
) -> Iterator[DaskMachines]:
    """Start them; `inside` are words before the command of each worker, such as `ip netns exec`."""
    address_file = world.folder / "scheduler.json"
    log_path = world.folder / "dask.log"
    with log_path.open("ab") as log:

        def start(machine: str, words: Sequence[str]) -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                [*words, "--scheduler-file", str(address_file)],
                env=world.env(machine),
                cwd=world.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

        python = (sys.executable, "-m")
        local = ("--host", host, "--no-dashboard", "--port", "0")
        scheduler = start("head", [*python, "distributed.cli.dask_scheduler", *local])
        until(
            lambda: address_file.exists() and address_file.read_text().strip().endswith("}"),
            "the scheduler started",
            60,
        )
        made = DaskMachines(world, json.loads(address_file.read_text())["address"], scheduler)
        offer = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--resources", "packs=1")
        try:
            for number, machine in enumerate(machines):
                at = ("--host", hosts[number]) if hosts else ()
                words = [*inside[number], *python, "distributed.cli.dask_worker", *offer, *at]
                made.workers[machine] = start(machine, words)
            until(
                lambda: log_path.read_text().count("Registered to") >= len(machines),
                "the workers registered",
                90,
            )
            yield made
        finally:
            for process in (*made.workers.values(), scheduler):
                process.kill()
                process.wait()
            for machine in machines:
                if machine in made.workers:
                    made.kill_machine(machine)
