"""What a `run` command was asked for about the calls its steps make."""

from collections.abc import Mapping

import msgspec

from oraclepack.core.limit import Limit
from oraclepack.intercept.adoption import OnUnknown
from oraclepack.intercept.overrides import Overrides
from oraclepack.intercept.retry import RetryPolicy
from oraclepack.pack.contract import ChunkMode, ContractMode


class CallOptions(msgspec.Struct, frozen=True):
    """How calls are made, judged and repeated. Durations are seconds."""

    overrides: Overrides = msgspec.field(default_factory=Overrides)
    rehearsal: bool = False
    in_place: bool = False
    """A rehearsal in the project itself, where a real answer must not be replaced."""
    use_cache: bool = True
    refresh: bool = False
    """Ask again, once per question, whatever the cache has."""
    call_timeout: float | None = 7200.0
    retry: RetryPolicy = msgspec.field(default_factory=RetryPolicy)
    output_retries: int = 0
    """How often a complete answer that misses its contract is asked for again."""
    on_unknown: OnUnknown = OnUnknown.FAIL
    limits: Mapping[str, Limit] = {}
    trust_project: bool = False
    """Let a `.env` steer oracle to other hosts and programs, and links lead to what it sends."""
    verify: bool = True
    require_headings: bool = False
    chunks: ChunkMode = ChunkMode.AUTO
    contracts: ContractMode = ContractMode.AUTO
