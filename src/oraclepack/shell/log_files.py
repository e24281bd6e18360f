"""Looking into log files without holding them in memory."""

import os
import re
from pathlib import Path

from oraclepack.system.environment import environment
from oraclepack.system.files import open_regular, read_beginning
from oraclepack.system.secrets import Redactor

_SKIP = re.compile(rb"^(?:SKIP|(?i:skip(?:ped|ping)?)[ \t]*:).*", re.MULTILINE)
_WINDOW = 1 << 16
_SEARCHED = 1 << 22


def last_lines(path: Path, count: int) -> tuple[str, ...]:
    """The last lines of a log, as far as its last 64 KiB hold them.

    Logs are raw and stay where they are; what is shown of them must not contain secrets.
    """
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _WINDOW))
            tail = file.read(_WINDOW)
    except OSError:
        return ()
    lines = "\n".join(tail.decode("utf-8", "replace").splitlines()[-count:])
    return tuple(Redactor.of(environment()).clean(lines).split("\n")) if lines else ()


def skip_line(path: str) -> str | None:
    """The first line by which a step says that it skips itself, in the first 4 MiB of a log.

    It begins with `SKIP`, or in any case with `Skip:`, `Skipped:` or `Skipping:`.
    """
    try:
        # For every step, and most say nothing: asking for the size is all that they cost.
        if os.stat(path).st_size == 0:  # by its name
            return None
        head = read_beginning(path, _SEARCHED)
    except OSError:
        return None
    # Most logs hold no such word, and a plain search says so in a quarter of the time.
    match = _SKIP.search(head) if b"skip" in head.lower() else None
    if match is None:
        return None
    line = match[0][:_WINDOW].decode("utf-8", "replace")
    # Redacted before it is cut: a part of a secret would not be recognised.
    return Redactor.of(environment()).clean(line)[:500].strip()
