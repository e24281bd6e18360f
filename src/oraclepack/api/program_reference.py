"""Reference information: skills, prices, and the check of the machine."""

from __future__ import annotations

from pathlib import Path

from oraclepack.authoring.skills import ProjectSkills
from oraclepack.doctor import Health, examine
from oraclepack.settings import call_settings
from oraclepack.settings.registry import Settings
from oraclepack.system import programs
from oraclepack.tools.prices import KnownPrices


def skills(root: str | Path = ".") -> ProjectSkills:
    """The prompts for agents, and their copies in a project: show, install, check."""
    return ProjectSkills(Path(root))


def skill_text(name: str) -> str:
    """The prompt that teaches an agent to write packs (`pack`) or to run them (`run`)."""
    return skills().show("claude", f"oracle-{name}").text


def prices(settings: Settings) -> KnownPrices:
    """The prices of models, from the built-in table and the user's settings: list, show."""
    return KnownPrices(settings[call_settings.PRICES])


def examine_machine(settings: Settings) -> Health:
    """Check which programs are installed and what would not work."""
    oracle = call_settings.ORACLE_BIN
    where = settings.origin(oracle).where
    return examine(
        Path(settings.root), {"oracle": (where, settings[oracle])} if settings[oracle] else {}
    )


def program_for_clients(*, by_path: bool) -> str:
    """How another program starts oraclepack: by its name if PATH has it, else by its path."""
    is_on_path = programs.find_program("oraclepack") is not None
    return "oraclepack" if is_on_path and not by_path else programs.own_program()
