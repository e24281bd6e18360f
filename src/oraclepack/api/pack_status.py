"""The packs of a project as they are: steps, runs, outputs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oraclepack.answers.verification import VerifyPacksReport, VerifyReport
from oraclepack.api.settings_access import load_settings
from oraclepack.run.explain_steps import StepList, list_pack
from oraclepack.run.pack_overview import PackEntry, list_project_packs
from oraclepack.run.verify_outputs import verify_outputs
from oraclepack.settings.registry import Settings


def list_packs(folder: str, settings: Settings | None = None) -> tuple[PackEntry, ...]:
    """The packs below a folder, or one named pack, with their runs; they are not validated."""
    root = Path((settings or load_settings(folder)).root)
    return list_project_packs(root, folder)


def list_steps(pack: str | Path, settings: Settings | None = None) -> StepList:
    """The steps of a pack, with their status in the run that would be continued."""
    return list_pack(Path(pack), Path((settings or load_settings(pack)).root))


def verify(
    packs: str | Sequence[str] = (), settings: Settings | None = None, run_dir: str | None = None
) -> VerifyReport | VerifyPacksReport:
    """Check outputs against their contracts. Starts no process."""
    paths = (packs,) if isinstance(packs, str) else packs
    return verify_outputs(paths, settings or load_settings(paths[0] if paths else None), run_dir)
