"""The log file of a crash, for its reader alone."""

import os
import tempfile
from pathlib import Path


def write_crash_log(text: str) -> Path | None:
    """Write a new file only its owner can read; None when the machine will not have it."""
    from platformdirs import user_log_path  # noqa: PLC0415 - only a crash needs it

    try:
        folder = user_log_path("oraclepack", appauthor=False)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp: a name nobody else has, mode 0600, no race.
        descriptor, name = tempfile.mkstemp(prefix="crash-", suffix=".log", dir=folder)
        os.write(descriptor, text.encode("utf-8", "backslashreplace"))
        os.close(descriptor)
    except OSError:
        return None
    return Path(name)
