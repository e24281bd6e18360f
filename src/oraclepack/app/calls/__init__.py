"""What happens to each call of a tool while steps run: the use case of one invocation."""

from oraclepack.app.calls.answer import Calls
from oraclepack.app.calls.options import CallOptions
from oraclepack.app.calls.world import CallWorld

__all__ = ["CallOptions", "CallWorld", "Calls"]
