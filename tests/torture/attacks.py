"""The attacks, by name. A module that has some adds its table here."""

from tests.torture import (
    bugs,
    chaos,
    clocks,
    crowds,
    damaged_files,
    damaged_runs,
    disk_faults,
    hostile_paths,
    journal_damage,
    kills,
    many_packs,
    not_kept,
    power,
    real_oracle,
    rollbacks,
    secrets,
    victims,
    whole_writes,
)
from tests.torture.tally import Attack

ATTACKS: dict[str, Attack] = {
    **kills.ATTACKS,
    **victims.ATTACKS,
    **disk_faults.ATTACKS,
    **power.ATTACKS,
    **bugs.ATTACKS,
    **journal_damage.ATTACKS,
    **damaged_runs.ATTACKS,
    **damaged_files.ATTACKS,
    **crowds.ATTACKS,
    **clocks.ATTACKS,
    **many_packs.ATTACKS,
    **not_kept.ATTACKS,
    **chaos.ATTACKS,
    **real_oracle.ATTACKS,
    **secrets.ATTACKS,
    **hostile_paths.ATTACKS,
    **rollbacks.ATTACKS,
    **whole_writes.ATTACKS,
}
