"""Many packs on many machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oraclepack.api.settings_access import load_settings
from oraclepack.errors import UsageError
from oraclepack.fleet.fleets import Fleets
from oraclepack.settings import call_settings
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.loading import set_variable
from oraclepack.settings.registry import Settings

if TYPE_CHECKING:
    from oraclepack.fleet.shared_store import SharedStore


def fleets(settings: Settings | None = None) -> Fleets:
    """Many packs on many machines: run, status, stop, work."""
    settings = settings or load_settings()
    store = settings[call_settings.STORE]
    if settings.origin(call_settings.STORE).source is ValueSource.FLAG:
        # The workers of this machine, and the runs in them, take it from the environment.
        set_variable(call_settings.STORE.variable, store)
    return Fleets(store, settings[call_settings.STORE_LEASE])


def shared_store(settings: Settings | None = None) -> SharedStore:
    """The database that machines share: init, examine, unknown, bury, limits."""
    try:
        from oraclepack.fleet.shared_store import SharedStore
    except ImportError:
        raise UsageError(
            "a shared store is a PostgreSQL database, and psycopg is not installed",
            hint='pip install "oraclepack[fleet]"',
        ) from None

    return SharedStore((settings or load_settings())[call_settings.STORE])
