"""What commands with a CI policy say about it: `actionize` and `pipeline`."""

from typing import Any

from oraclepack.cli.reply import Styled
from oraclepack.core.envelope import Failure
from oraclepack.run.run_report import RunTold
from oraclepack.settings import run_settings as rs
from oraclepack.settings.declaration import Setting, Source
from oraclepack.settings.registry import Settings


def idle_thresholds(settings: Settings, *thresholds: Setting[Any]) -> tuple[str, ...]:
    """A warning for each threshold that was given and decides nothing."""
    if settings[rs.CI]:
        return ()
    return tuple(
        f"{setting.flag} decides nothing without --ci"
        for setting in thresholds
        if settings.origin(setting).source is Source.FLAG
    )


def policy_line(*, met: bool, figures: str) -> tuple[str | Styled, ...]:
    """The line of the policy in a text."""
    look = Styled("met    ", "green") if met else Styled("not met", "red")
    return ("policy     ", look, f"  {figures}\n")


def policy_failure(
    shortfalls: tuple[str, ...], suggestion: str, run: RunTold | None = None
) -> Failure:
    """Why the exit code is 5, and what failed in the run that it is about."""
    causes = (run.cause,) if run is not None and run.cause else ()
    return Failure(
        "POLICY",
        "; ".join((*shortfalls, *causes)),
        retryable=run.is_retryable if run is not None else False,
        phase="policy",
        suggestion=suggestion,
        retry_after=run.retry_after if run is not None else None,
    )
