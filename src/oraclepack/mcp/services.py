"""What the tools share: the roots, the limits, and the settings of the project that is meant."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from oraclepack.errors import UsageError
from oraclepack.mcp import inputs
from oraclepack.settings import call_settings
from oraclepack.settings.declaration import Setting
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import CWD, Settings
from oraclepack.system.root_files import Roots

EXEC_VARIABLE = "ORACLEPACK_ENABLE_EXEC"
ROOTS_VARIABLE = "ORACLEPACK_ALLOWED_ROOTS"
WORKDIR_VARIABLE = "ORACLEPACK_WORKDIR"
CHARACTERS_VARIABLE = "ORACLEPACK_CHARACTER_LIMIT"
READ_VARIABLE = "ORACLEPACK_MAX_READ_BYTES"

MOST_TOKENS = 25_000
"""Some clients refuse a larger result."""
_CHARS_PER_TOKEN = 3
"""JSON has about three characters a token, rather more."""
_MOST_READ = 4 * 1024 * 1024


class NotAllowedError(UsageError):
    """The server was started without the right to run packs."""

    code = "EXEC_DISABLED"


class BudgetRaisedError(UsageError):
    """A client asked for more than the user's own limits allow."""

    code = "BUDGET"


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """What the server was started with; it has no other state, so it may be killed at any time."""

    roots: Roots
    allows_runs: bool = False
    most_characters: int = MOST_TOKENS * _CHARS_PER_TOKEN
    most_read: int = _MOST_READ

    def project(self, path: str = ".") -> Path:
        """The root that a path lies in: the project of every tool call about it."""
        return self.roots.root_of(self.roots.resolve(path))

    def settings(self, path: str = ".", values: Mapping[str, object] | None = None) -> Settings:
        """The settings of the project of a path; given values come from the client."""
        given: dict[str, object] = {CWD.name: str(self.project(path))}
        given |= {name: value for name, value in (values or {}).items() if value is not None}
        return load_settings(None, given)

    def run_settings(self, asked: inputs.PlanRun) -> Settings:
        self._refuse_more_than_allowed(asked)
        values = {
            "max_parallel": asked.max_parallel,
            "keep_going": asked.keep_going,
            "max_cost": asked.max_cost,
            "max_calls": asked.max_calls,
            "engine": asked.engine,
            "refresh": asked.refresh,
        }
        return self.settings(asked.pack, values)

    def _refuse_more_than_allowed(self, asked: inputs.PlanRun) -> None:
        """A client may lower the user's limits, never raise them."""
        own = self.settings(asked.pack)
        limits: tuple[tuple[Setting[Any], object], ...] = (
            (call_settings.MAX_COST, asked.max_cost),
            (call_settings.MAX_CALLS, asked.max_calls),
        )
        for setting, wanted in limits:
            allowed = own[setting]
            if allowed is None or wanted is None:
                continue
            try:
                limit = setting.kind.read(wanted)
            except ValueError as reason:
                raise UsageError(f"{setting.name}: {reason}, not {wanted!r}") from None
            if limit is None or limit > allowed:  # `none` would be no limit at all
                raise BudgetRaisedError(
                    f"{setting.name} {wanted} is more than the {allowed} that the user allows",
                    hint="leave it out, or take less",
                )

    def refuse_disabled(self) -> None:
        if not self.allows_runs:
            raise NotAllowedError(
                "this server may not run packs",
                hint=f"the user starts it with --allow-run, or with {EXEC_VARIABLE}=1",
            )


def services_of(
    roots: tuple[str, ...], *, allow_run: bool, variables: Mapping[str, str]
) -> Services:
    """From the command line, and from the variables that the Go tool's server knew."""
    named = roots or tuple(
        filter(None, variables.get(ROOTS_VARIABLE, "").replace(",", ":").split(":"))
    )
    start = variables.get(WORKDIR_VARIABLE, "")
    chosen = ((start,) if start and not roots else ()) + tuple(named)
    made = Roots.of(chosen or (str(Path.cwd()),))
    limit = _number(variables, CHARACTERS_VARIABLE, MOST_TOKENS * _CHARS_PER_TOKEN)
    return Services(
        roots=made,
        allows_runs=allow_run or variables.get(EXEC_VARIABLE) == "1",
        most_characters=min(limit, MOST_TOKENS * _CHARS_PER_TOKEN),
        most_read=min(_number(variables, READ_VARIABLE, _MOST_READ), _MOST_READ),
    )


def enter_first_root(services: Services) -> None:
    """Relative paths of tools, and those of replies, begin in the first root."""
    os.chdir(services.roots.first)


def _number(variables: Mapping[str, str], name: str, default: int) -> int:
    text = variables.get(name, "")
    if not text:
        return default
    if not text.isdigit() or not int(text):
        raise UsageError(f"{name}: must be a number above 0, not {text!r}")
    return int(text)
