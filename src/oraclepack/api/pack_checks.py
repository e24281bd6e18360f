"""Packs against the rules, and their corrections."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oraclepack.api.settings_access import load_settings
from oraclepack.lint import validate as checking
from oraclepack.lint.validate import FixPreview, ValidateResult, validate_packs
from oraclepack.settings.registry import Settings


def validate(
    packs: str | Sequence[str], settings: Settings | None = None, *, fix: bool = False
) -> ValidateResult:
    """Check packs, or all packs of directories, against every rule; with `fix` correct them."""
    paths = (packs,) if isinstance(packs, str) else packs
    return validate_packs(paths, settings or load_settings(paths[0]), fix=fix)


def preview_fixes(pack: str | Path, settings: Settings | None = None) -> FixPreview:
    """What `validate` with `fix` would change in a pack; writes nothing."""
    return checking.preview_fixes(Path(pack), settings or load_settings(pack))
