"""The attacks, by name. A module that has some adds its table here."""

from tests.torture import (
    clocks,
    crowds,
    damaged_files,
    damaged_runs,
    disk_faults,
    journal_damage,
    kills,
    many_packs,
    power,
    victims,
)
from tests.torture.tally import Attack

ATTACKS: dict[str, Attack] = {
    **kills.ATTACKS,
    **victims.ATTACKS,
    **disk_faults.ATTACKS,
    **power.ATTACKS,
    **journal_damage.ATTACKS,
    **damaged_runs.ATTACKS,
    **damaged_files.ATTACKS,
    **crowds.ATTACKS,
    **clocks.ATTACKS,
    **many_packs.ATTACKS,
}
