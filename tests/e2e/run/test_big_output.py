"""A step that says a lot: the kernel writes it, and we do not hold it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from oraclepack.shell.processes import has_proc
from tests.packs import pack_text

SIZE = 200_000_000
MEGABYTE = 1024


@pytest.mark.skipif(not has_proc(), reason="only /proc reports the peak of a process")
def test_output_does_not_grow_our_memory(tmp_path: Path) -> None:
    bash = (
        f"# 01) loud\nhead -c {SIZE} /dev/zero\n# 02) peak\ngrep VmHWM /proc/$PPID/status >peak\n"
    )
    (tmp_path / "pack.md").write_text(pack_text(bash))

    # In a process of its own: a fork of this one would inherit what the tests have loaded.
    done = subprocess.run(
        [sys.executable, "-m", "oraclepack", "run", "pack.md", "--quiet"],
        cwd=tmp_path,
        env=os.environ,
        check=False,
        capture_output=True,
    )

    assert done.returncode == 0, done
    (log,) = tmp_path.glob(".oraclepack/runs/*/logs/01.1.stdout.log")
    assert log.stat().st_size == SIZE
    assert int((tmp_path / "peak").read_text().split()[1]) < 60 * MEGABYTE
