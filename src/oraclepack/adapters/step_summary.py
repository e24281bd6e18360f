"""Adding to a file that others add to as well: the summary page of a GitHub workflow."""

import os
from pathlib import Path

from oraclepack.system import disk


def append(path: Path, text: str) -> str | None:
    """Add to the end of a file; what stood against it, if something did."""
    try:
        descriptor = disk.open_append(path, 0o666)
        try:
            disk.write(descriptor, text.encode("utf-8", "backslashreplace"), path)
        finally:
            os.close(descriptor)
    except OSError as trouble:
        return f"cannot write to {path}: {trouble.strerror or trouble}"
    return None
