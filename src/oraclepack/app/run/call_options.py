"""How calls are to be made, from the settings."""

from oraclepack.calls.adoption_rules import OnUnknown
from oraclepack.calls.context import CallOptions
from oraclepack.calls.limits import Limit
from oraclepack.calls.overrides import read_overrides
from oraclepack.calls.retry import RetryPolicy
from oraclepack.journal.run_dir import is_rehearsal
from oraclepack.pack.contract import ChunkMode, ContractMode
from oraclepack.pack.model import Pack
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import ALLOW_PROJECT_PROGRAMS, Settings
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.tool_names import ORACLE


def call_options(settings: Settings, pack: Pack, *, can_ask: bool) -> CallOptions:
    """How calls are made, from the settings."""
    engine = settings[cs.ENGINE]
    flags = [*settings[cs.ORACLE_FLAG]]
    if engine in {"api", "browser"}:
        flags.append(f"--engine={engine}")
    steps = [step.id for step in pack.steps]
    per_step = settings[cs.OVERRIDE]
    unknown = OnUnknown(settings[cs.ON_UNKNOWN])
    return CallOptions(
        overrides=read_overrides(table_of(ORACLE), flags, per_step, steps),
        rehearsal=is_rehearsal(engine),
        use_cache=settings[cs.CACHE],
        refresh=settings[cs.REFRESH],
        call_timeout=settings[cs.CALL_TIMEOUT] or None,
        retry=RetryPolicy(
            base=settings[cs.RETRY_BASE_SECONDS], run_tries=settings[cs.RETRY_BUDGET]
        ),
        output_retries=settings[cs.OUTPUT_RETRIES],
        on_unknown=OnUnknown.FAIL if unknown is OnUnknown.ASK and not can_ask else unknown,
        limits=limits_of(settings),
        trust_project=settings[ALLOW_PROJECT_PROGRAMS],
        verify=settings[rs.OUTPUT_VERIFY],
        require_headings=settings[rs.OUTPUT_REQUIRE_HEADINGS],
        chunks=ChunkMode(settings[rs.OUTPUT_CHUNK_MODE]),
        contracts=ContractMode(settings[rs.OUTPUT_CONTRACT]),
    )


def limits_of(settings: Settings) -> dict[str, Limit]:
    return {
        name: Limit(
            settings[cs.MAX_CONCURRENT[name]] or None,
            settings[cs.REQUESTS_PER_MINUTE[name]] or None,
        )
        for name in cs.PROVIDERS
    }
