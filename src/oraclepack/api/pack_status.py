"""The packs of a project as they are: steps and runs."""

from __future__ import annotations

from pathlib import Path

from oraclepack.api.settings_access import load_settings
from oraclepack.settings.registry import Settings
from oraclepack.view.pack_overview import PackEntry, list_project_packs
from oraclepack.view.step_listing import StepList, list_pack


def list_packs(folder: str, settings: Settings | None = None) -> tuple[PackEntry, ...]:
    """The packs below a folder, or one named pack, with their runs; they are not validated."""
    root = Path((settings or load_settings(folder)).root)
    return list_project_packs(root, folder)


def list_steps(pack: str | Path, settings: Settings | None = None) -> StepList:
    """The steps of a pack, with their status in the run that would be continued."""
    return list_pack(Path(pack), Path((settings or load_settings(pack)).root))
