"""A fleet on a real Slurm, on this machine. `ORACLEPACK_TEST_SLURM=1` runs it.

Needs root, Debian's slurm-wlm and munge, PostgreSQL, and dask-jobqueue with cryptography.
"""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from oraclepack.fleet.fleet_job import JobState
from tests.fleet.conftest import MakeWorld
from tests.fleet.fleet_world import until
from tests.fleet.slurm_cluster import NoSlurmError, serving_slurm

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        os.environ.get("ORACLEPACK_TEST_SLURM") != "1", reason="ORACLEPACK_TEST_SLURM=1 runs it"
    ),
    pytest.mark.skipif(find_spec("dask_jobqueue") is None, reason="needs dask-jobqueue"),
]


@pytest.fixture
def slurm() -> Iterator[dict[str, str]]:
    # Not the directory of the test: the paths of sockets are short.
    with tempfile.TemporaryDirectory(prefix="op-slurm-") as folder:
        try:
            with serving_slurm(Path(folder)) as variables:
                yield variables
        except NoSlurmError as reason:
            pytest.skip(f"Slurm cannot be had here: {reason}")


def slurm_jobs(variables: dict[str, str]) -> str:
    """What Slurm knows of its jobs."""
    return subprocess.run(
        ["scontrol", "show", "job"],
        env={**os.environ, **variables},
        capture_output=True,
        check=False,
    ).stdout.decode()


def test_packs_run_in_slurm_jobs_over_tls(make_world: MakeWorld, slurm: dict[str, str]) -> None:
    dask = {
        "DASK_JOBQUEUE__SLURM__INTERFACE": "lo",
        "DASK_JOBQUEUE__SLURM__WALLTIME": "00:10:00",
        "DASK_JOBQUEUE__SLURM__JOB_EXTRA_DIRECTIVES": json.dumps(["--comment=ours"]),
    }
    world = make_world(**slurm, **dask)
    world.repository("shop", packs=4)
    manifest = world.manifest(*(("shop", f"docs/pack{number}.md") for number in range(1, 5)))
    words = ("fleet", "run", str(manifest), "--work-dir", str(world.folder / "work"))
    world.hold()
    head = world.start(*words, "--scheduler", "slurm", "--at-once", "2")
    until(lambda: len(world.bill()) == 2, f"two questions; {world.log()}", 120)
    shown = slurm_jobs(slurm)
    assert shown.count("JobState=RUNNING") == 2
    assert shown.count("Requeue=0") == 2
    assert shown.count("Comment=ours") == 2, "what jobqueue.yaml says still holds"
    script = next(iter((world.folder / "homes/head").rglob("fleet-tls/*")), None)
    assert script is not None, "the workers got a certificate"
    assert script.stat().st_mode & 0o077 == 0
    world.let_go()
    assert head.wait(180) == 0, world.log()
    assert {job.state for job in world.jobs()} == {JobState.DONE}
    assert len(world.bill()) == 8
    assert set(world.bill().values()) == {1}
    until(lambda: "JobState=RUNNING" not in slurm_jobs(slurm), "the jobs are cancelled", 60)
