"""The real oracle and its provider, as `tests/real` has them."""

from tests.real.conftest import programs, provider, real_oracle

__all__ = ["programs", "provider", "real_oracle"]
