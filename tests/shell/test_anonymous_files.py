"""Files without a name that are handed to a shell."""

import errno
import resource
from contextlib import ExitStack

import pytest

from oraclepack.shell.anonymous_files import file_in_memory


def test_a_low_limit_of_open_files_is_named_as_the_cause() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (199, hard))
    try:
        with ExitStack() as stack, pytest.raises(OSError, match="Too many open files") as raised:
            file_in_memory(stack)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert raised.value.errno == errno.EMFILE
