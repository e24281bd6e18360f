"""The program, started as `tests/e2e/run` starts it."""

from tests.e2e.run.conftest import zygote

__all__ = ["zygote"]
