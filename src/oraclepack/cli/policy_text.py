"""What commands with a CI policy say about it: `actionize` and `pipeline`."""

from typing import Any

from oraclepack.cli.reply import Styled
from oraclepack.core import run_settings as rs
from oraclepack.core.envelope import Failure
from oraclepack.core.setting import Setting, Source
from oraclepack.core.settings import Settings


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


def policy_failure(shortfalls: tuple[str, ...], suggestion: str) -> Failure:
    """Why the exit code is 5."""
    return Failure("POLICY", "; ".join(shortfalls), phase="policy", suggestion=suggestion)
