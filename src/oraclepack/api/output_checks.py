"""The outputs of packs against their contracts."""

from __future__ import annotations

from collections.abc import Sequence

from oraclepack.answers.verification import VerifyPacksReport, VerifyReport
from oraclepack.api.settings_access import load_settings
from oraclepack.run.verify_outputs import verify_outputs
from oraclepack.settings.registry import Settings


def verify(
    packs: str | Sequence[str] = (), settings: Settings | None = None, run_dir: str | None = None
) -> VerifyReport | VerifyPacksReport:
    """Check outputs against their contracts. Starts no process."""
    paths = (packs,) if isinstance(packs, str) else packs
    return verify_outputs(paths, settings or load_settings(paths[0] if paths else None), run_dir)
