"""An exhausted machine is distinguished from a fault of ours."""

import errno
import os

import pytest

from oraclepack.system.files import exhausted


@pytest.mark.parametrize(
    "code",
    [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS],
)
def test_what_has_run_out_is_named_with_a_hint(code: int) -> None:
    error = exhausted(OSError(code, os.strerror(code), "some/file"))

    assert error is not None
    assert error.message == f"this machine cannot go on: {os.strerror(code)} (some/file)"
    assert (error.detail, bool(error.hint)) == (errno.errorcode[code], True)


@pytest.mark.parametrize("code", [errno.EBADF, errno.EINVAL, errno.ENOENT, None])
def test_what_may_be_our_own_fault_is_none_of_its(code: int | None) -> None:
    assert exhausted(OSError(code, "?") if code else OSError("?")) is None
