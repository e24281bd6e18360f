"""Fixtures of other tests that are used here."""

from tests.e2e.run.conftest import zygote

__all__ = ["zygote"]
