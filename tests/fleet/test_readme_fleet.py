"""The fleet of the README, exactly as it is pasted: a clean copy, a fresh environment."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.keep.pages import ROOT, fences

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]


def readme_lines() -> list[str]:
    (block,) = (
        fence.content
        for fence in fences("README.md")
        if fence.info == "bash" and "oraclepack fleet run" in fence.content
    )
    return block.splitlines()


def clean_copy(target: Path) -> Path:
    """What a clone has: the tracked files."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    names = [name for name in listed.stdout.decode().split("\0") if (ROOT / name).is_file()]
    for name in names:
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / name).read_bytes())
        copy.chmod((ROOT / name).stat().st_mode)
    return target


def in_shell(lines: list[str], cwd: Path, env: Mapping[str, str]) -> str:
    script = "set -euo pipefail\n" + "\n".join(lines)
    done = subprocess.run(
        ["bash", "-c", script], cwd=cwd, env=env, capture_output=True, check=False, timeout=500
    )
    printed = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == 0, printed
    return printed


def test_the_lines_of_the_readme_run_twelve_packs_without_any_set_up(tmp_path: Path) -> None:
    lines = readme_lines()
    clone = clean_copy(tmp_path / "clone")
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    ours = ("ORACLEPACK_", "XDG_", "PYTHON", "VIRTUAL_ENV")
    passed = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    home = tmp_path / "home"
    home.mkdir()
    env = {
        "PIP_CONFIG_FILE": str(Path("~/.config/pip/pip.conf").expanduser()),
        **passed,
        "HOME": str(home),
        "PATH": f"{environment / 'bin'}:/usr/bin:/bin",
    }

    printed = in_shell(lines, clone, env)
    assert "12 jobs: 12 done; 24 of 24 steps ok" in printed

    results = clone / "build/fleet-demo/results"
    page = (results / "backlog.md").read_text()
    assert "Tasks: 2, of 12 runs; 2 of them in several repositories." in page
    assert "Write the records to a new file and rename it" in page
    assert (results / "site/index.html").is_file()
    runs = sorted(path.parent for path in results.glob("*/.oraclepack/runs/*/journal.jsonl"))
    assert len(runs) == 12
    assert len({run.parents[2].name.split("-")[0] for run in runs}) == 6

    again = [line for line in lines if "pip install" not in line and "make-repo" not in line]
    manifest = "oraclepack fleet run build/fleet-demo/fleet.jsonl --name demo --json"
    report = in_shell([again[0], manifest], clone, env)
    data = json.loads(report[report.index("{") :].splitlines()[0])["data"]
    assert data["submitted"] == 0, "nothing is missing"
    commits = {job["commit"] for job in data["jobs"]}
    assert len(commits) == 6
    assert all(len(commit) == 40 for commit in commits), "`main` is resolved"
