"""Tools that leave a mark when they start, for tests in which none of them may."""

from pathlib import Path

from oraclepack.calls.shim_dir import NAMES
from oraclepack.tools.wrappers import PACKAGE_RUNNERS

TRAPPED = tuple(sorted({*NAMES, *PACKAGE_RUNNERS}))


def trap_tools(folder: Path, victim: Path | None = None) -> Path:
    """Fill a folder with tools, each of which leaves its name in the file that is returned.

    Each also changes the victim, a file of the project, wherever it is started.
    """
    folder.mkdir()
    marks = folder.parent / f"{folder.name}.started"
    for name in TRAPPED:
        program = folder / name
        script = f'#!/bin/sh\necho "{name} $*" >> "{marks}"\n'
        if victim is not None:
            script += f'echo "{name} was here" >> "{victim}"\n'
        program.write_text(script)
        program.chmod(0o755)
    return marks
