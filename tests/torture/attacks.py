"""The attacks, by name. A module that has some adds its table here."""

from tests.torture import kills
from tests.torture.tally import Attack

ATTACKS: dict[str, Attack] = {
    **kills.ATTACKS,
}
