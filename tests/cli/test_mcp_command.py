"""`mcp install` where the server cannot start."""

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import sys
if {missing}:
    sys.modules["mcp"] = None
sys.argv = ["oraclepack", "mcp", "install", "claude-code", "--print"]
from oraclepack.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("missing", [True, False], ids=["missing", "installed"])
def test_an_entry_for_a_server_that_cannot_start_is_warned_about(
    tmp_path: Path, missing: object
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(missing=missing)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert ("the package mcp is not installed" in done.stderr) is missing
    assert "mcpServers" in done.stdout
