"""A run loads the parts of the program that its steps turn out to need."""

import subprocess
import sys
from pathlib import Path

from tests.packs import pack_text

SPY = """
import sys
from oraclepack.__main__ import main
code = main()
print("\\n".join(sorted(sys.modules)))
sys.exit(code)
"""


def loaded(place: Path) -> str:
    argv = [sys.executable, "-c", SPY, "run", "--quiet", "pack.md"]
    return subprocess.run(argv, cwd=place, check=True, capture_output=True, text=True).stdout


def test_a_step_without_calls_and_a_run_that_is_done_load_less(tmp_path: Path) -> None:
    (tmp_path / "pack.md").write_text(pack_text("# 01) x\ntrue\n"))

    first, again = loaded(tmp_path), loaded(tmp_path)

    late = ("intercept", "verify", "app.calls", "adapters.reception", "adapters.shim_call")
    for unneeded in (*(f"oraclepack.{name}" for name in late), "\nsocket\n", "\nctypes\n"):
        assert unneeded not in first
    for unneeded in ("adapters.gateway", "adapters.bash", "oraclepack.lint", "socket", "ctypes"):
        assert unneeded not in again
