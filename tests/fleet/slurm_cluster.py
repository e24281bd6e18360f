"""A Slurm cluster of one node on this machine, with a munge of its own: Debian's slurm-wlm."""

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sinfo", "scancel")
_CONFIG = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=16000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


class NoSlurmError(Exception):
    """Slurm cannot be had here."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _programs() -> Mapping[str, str]:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
    found = {name: shutil.which(name, path=path) for name in _PROGRAMS}
    missing = [name for name, place in found.items() if place is None]
    if missing:
        raise NoSlurmError(f"{', '.join(missing)}: install slurm-wlm and munge")
    if os.getuid() != 0:
        raise NoSlurmError("its daemons need root")
    return {name: str(place) for name, place in found.items()}


@contextmanager
def serving_slurm(folder: Path) -> Iterator[dict[str, str]]:
    """A running cluster; the variables that its commands need."""
    programs = _programs()
    folder.chmod(0o755)
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    config = folder / "slurm.conf"
    config.write_text(
        _CONFIG.format(
            host=os.uname().nodename,
            folder=folder,
            controller_port=_free_port(),
            node_port=_free_port(),
        )
    )
    env = {"SLURM_CONF": str(config)}
    started: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> None:
        log = (folder / "daemons.log").open("ab")
        with log:
            started.append(
                subprocess.Popen(
                    words,
                    env={**os.environ, **env},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            )

    try:
        start(
            *(programs["munged"], "--foreground", "--force", f"--key-file={key}"),
            *(f"--socket={folder}/munge.socket", f"--pid-file={folder}/munge.pid"),
            *(f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed"),
        )
        start(programs["slurmctld"], "-D", "-f", str(config))
        start(programs["slurmd"], "-D", "-f", str(config))
        _wait_until_idle(programs["sinfo"], env, folder)
        yield env
    finally:
        subprocess.run(
            [programs["scancel"], "--user=root"], env={**os.environ, **env}, check=False, timeout=30
        )
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_until_idle(sinfo: str, env: Mapping[str, str], folder: Path) -> None:
    deadline = time.monotonic() + 60
    shown = ""
    while time.monotonic() < deadline:
        done = subprocess.run(
            [sinfo, "-h", "-o", "%T"], env={**os.environ, **env}, capture_output=True, check=False
        )
        shown = done.stdout.decode() + done.stderr.decode()
        if shown.strip() == "idle":
            return
        time.sleep(0.5)
    logs = "\n".join(
        f"{path.name}: {path.read_text(errors='replace')[-600:]}" for path in folder.glob("*.log")
    )
    raise NoSlurmError(f"its node does not become idle: {shown}\n{logs}")
