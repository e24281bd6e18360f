"""Tools that leave a mark when they start, for tests in which none of them may."""

from pathlib import Path

from oraclepack.calls.shim_dir import NAMES
from oraclepack.tools.wrappers import PACKAGE_RUNNERS

TRAPPED = tuple(sorted({*NAMES, *PACKAGE_RUNNERS}))


def trap_tools(folder: Path) -> Path:
    """Fill a folder with tools, each of which leaves its name in the file that is returned."""
    folder.mkdir()
    marks = folder.parent / f"{folder.name}.started"
    for name in TRAPPED:
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> "{marks}"\n')
        program.chmod(0o755)
    return marks
