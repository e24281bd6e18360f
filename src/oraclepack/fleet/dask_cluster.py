"""Starting the workers of jobs through Dask. Dask only starts workers; no result depends on it.

A task may run twice or not at all when machines die: the store decides who runs a job.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from oraclepack import __version__
from oraclepack.errors import MachineError, UsageError
from oraclepack.system import files
from oraclepack.system.environment import state_directory

if TYPE_CHECKING:
    import distributed

RESOURCE = "packs"
"""What a Dask worker offers: how many packs it runs at once."""
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def start_worker(words: Sequence[str], log: str, version: str) -> int:
    """Run `oraclepack fleet worker` in a session of its own; its exit code.

    This is the Dask task. If the Dask worker is killed, the process goes on and reports by itself.
    """
    if version != __version__:
        raise MachineError(
            f"this worker has oraclepack {__version__}, the head {version}",
            hint="install the same version on every machine",
        )
    path = Path(log)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "oraclepack", *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    return process.wait()


def check_scheduler(address: str, *, insecure: bool) -> None:
    """Refuse an address over which others could run code here."""
    parts = urlsplit(address)
    is_open = parts.scheme == "tcp" and (parts.hostname or "") not in _LOOPBACK
    if is_open and not insecure:
        raise UsageError(
            f"{address}: a scheduler without TLS runs the code of everyone who can reach it",
            hint="use tls://, or --insecure where the network is closed",
        )


def check_dask(scheduler: str, *, insecure: bool) -> None:
    """Refuse what cannot work before anything is started."""
    if find_spec("distributed") is None:
        raise UsageError(
            "fleets need Dask, which is not installed", hint='pip install "oraclepack[fleet]"'
        )
    if scheduler == "kubernetes" and not insecure:
        raise UsageError(
            "the scheduler that dask-kubernetes starts has no TLS: every pod could run code in it",
            hint="close its network by a NetworkPolicy, then add --insecure",
        )
    if scheduler in {"local", "slurm", "kubernetes"}:
        return
    check_scheduler(scheduler, insecure=insecure)
    if urlsplit(scheduler).scheme not in {"tcp", "tls"}:
        raise UsageError(
            f"--scheduler {scheduler}: no such scheduler",
            hint="local, slurm, kubernetes, or an address such as tls://head.example.org:8786",
        )


class WorkerStarter:
    """Starts workers of jobs on whatever machines a Dask client reaches."""

    def __init__(self, client: distributed.Client) -> None:
        self._client = client
        self._running: list[distributed.Future[int]] = []
        self._idle = threading.Event()

    def start(self, job_id: str, words: Sequence[str], log: str) -> None:
        """Hand a worker to Dask. Its result is never looked at: the store has it."""
        future = self._client.submit(
            start_worker,
            tuple(words),
            log,
            __version__,
            key=f"{job_id}-{uuid.uuid4()}",
            pure=False,
            retries=0,
            resources={RESOURCE: 1},
        )
        self._running.append(future)
        future.add_done_callback(self._look)

    def pause(self, seconds: float) -> None:
        """Wait so long; where workers are at work, at most until all of them have ended."""
        self._idle.clear()  # before counting: what ends afterwards sets it again
        if self.count():
            self._idle.wait(seconds)
        else:
            time.sleep(seconds)

    def _look(self, _: distributed.Future[int]) -> None:
        if all(future.done() for future in self._running):
            self._idle.set()

    def count(self) -> int:
        """How many workers were started and have not ended, as far as Dask knows."""
        self._running = [future for future in self._running if not future.done()]
        return len(self._running)


@contextmanager
def connected(scheduler: str, at_once: int, *, insecure: bool = False) -> Iterator[WorkerStarter]:
    """The way to start workers of jobs."""
    check_dask(scheduler, insecure=insecure)
    import distributed

    with _cluster(scheduler, at_once, insecure=insecure) as target:
        try:
            client = distributed.Client(target, timeout=30, set_as_default=False)
        except OSError as trouble:
            raise MachineError(
                f"the scheduler {scheduler} does not answer: {trouble}",
                hint="start it with `dask scheduler`, and workers with"
                f' `dask worker ADDRESS --resources "{RESOURCE}=2"`',
            ) from None
        try:
            _check_workers(client, scheduler)
            yield WorkerStarter(client)
        finally:
            client.close(timeout=5)


@contextmanager
def _cluster(scheduler: str, at_once: int, *, insecure: bool) -> Iterator[object]:
    if scheduler == "local":
        import distributed

        # Threads are enough: each only waits for a process of its own.
        with distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=at_once,
            processes=False,
            dashboard_address=None,
            resources={RESOURCE: at_once},
            silence_logs=50,
        ) as cluster:
            yield cluster
        return
    if scheduler == "slurm":
        with _slurm(at_once, insecure=insecure) as cluster:
            yield cluster
        return
    if scheduler == "kubernetes":
        with _kubernetes(at_once) as cluster:
            yield cluster
        return
    yield scheduler


@contextmanager
def _slurm(at_once: int, *, insecure: bool) -> Iterator[object]:
    """Workers as jobs of Slurm, as `jobqueue.yaml` of Dask describes them."""
    try:
        import dask
        from dask_jobqueue.slurm import SLURMCluster
    except ImportError:
        raise UsageError(
            "--scheduler slurm needs dask-jobqueue", hint="pip install dask-jobqueue cryptography"
        ) from None
    if shutil.which("sbatch") is None:
        raise MachineError("sbatch is not on PATH", hint="run this where Slurm jobs are submitted")
    if not insecure and find_spec("cryptography") is None:
        raise UsageError(
            "the scheduler listens on the network, and TLS needs cryptography",
            hint="pip install cryptography, or --insecure where the network is closed",
        )
    names = (
        "cores",
        "memory",
        "worker-extra-args",
        "job-extra-directives",
        "shared-temp-directory",
    )
    given = {name: dask.config.get(f"jobqueue.slurm.{name}", None) for name in names}
    keys = state_directory() / "fleet-tls"
    files.make_private(keys)
    try:
        cluster = SLURMCluster(
            cores=given["cores"] or 1,
            memory=given["memory"] or "2GB",
            worker_extra_args=[
                *(given["worker-extra-args"] or ()),
                *("--resources", f"{RESOURCE}=1"),
            ],
            # A requeued job would start its packs again while the first ones may still run.
            job_extra_directives=[*(given["job-extra-directives"] or ()), "--no-requeue"],
            security=None if insecure else True,
            shared_temp_directory=given["shared-temp-directory"] or str(keys),
        )
    except ValueError as trouble:
        raise UsageError(
            f"--scheduler slurm: {trouble}", hint="see ~/.config/dask/jobqueue.yaml"
        ) from None
    with cluster:
        cluster.scale(at_once)
        yield cluster


@contextmanager
def _kubernetes(at_once: int) -> Iterator[object]:
    try:
        from dask_kubernetes.operator import KubeCluster
    except ImportError:
        raise UsageError(
            "--scheduler kubernetes needs dask-kubernetes", hint="pip install dask-kubernetes"
        ) from None
    with KubeCluster(
        n_workers=at_once,
        worker_command=["dask", "worker", "--resources", f"{RESOURCE}=1"],
    ) as cluster:
        yield cluster


def _check_workers(client: distributed.Client, scheduler: str) -> None:
    """A resource that no worker offers would let jobs wait for ever."""
    if scheduler in {"slurm", "kubernetes"}:
        return  # their workers come when the cluster gives them
    workers: Mapping[str, Mapping[str, Any]] = client.scheduler_info(n_workers=-1)["workers"]
    if not workers:
        raise MachineError(
            f"the scheduler {scheduler} has no workers",
            hint=f'start some with `dask worker {scheduler} --resources "{RESOURCE}=2"`',
        )
    if not any(worker.get("resources", {}).get(RESOURCE) for worker in workers.values()):
        raise MachineError(
            f"no worker of {scheduler} offers the resource {RESOURCE!r}",
            hint=f'start the workers with --resources "{RESOURCE}=2"',
        )
