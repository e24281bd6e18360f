"""What the machine has run out of, wherever that was noticed."""

import errno

from oraclepack.adapters import files
from oraclepack.errors import WorldError

_HINTS = {
    errno.EMFILE: "too many files are open; raise the limit (ulimit -n) or run fewer at once",
    errno.ENFILE: "too many files are open on this machine",
    errno.ENOMEM: "there is no memory left; end something else, or run fewer at once",
    errno.EIO: "the disk fails; look after it before you go on",
} | {code: files.HINTS[code] for code in (errno.ENOSPC, errno.EDQUOT, errno.EROFS)}


def exhausted(trouble: OSError) -> WorldError | None:
    """The error for a machine that cannot go on; None where it may be a fault of ours."""
    hint = _HINTS.get(trouble.errno or 0)
    if hint is None:
        return None
    where = f" ({trouble.filename})" if trouble.filename else ""
    return WorldError(
        f"this machine cannot go on: {trouble.strerror}{where}",
        hint=hint,
        detail=errno.errorcode[trouble.errno or 0],
        retryable=trouble.errno in files.TRANSIENT,
    )
