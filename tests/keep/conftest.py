"""One process that starts the program for all tests of a worker."""

from tests.e2e.run.conftest import zygote

__all__ = ["zygote"]
