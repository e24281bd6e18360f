import sys
from pathlib import Path

import pytest

from tests.fuzz.mutate import MUTATIONS, mutate
from tests.fuzz.packs import passages, sound_packs

SEEDS = range(0, 200, 25)


@pytest.mark.parametrize("seed", SEEDS)
def test_damaged_packs_are_judged_without_a_crash(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")  # shellcheck would take the most time
    crashes = [
        f"seed {one.seed}:\n{one.crash}" for one in passages(25, seed, tmp_path) if one.crash
    ]

    assert crashes == []


def test_the_same_seed_gives_the_same_damage() -> None:
    packs = sound_packs()

    assert [mutate(seed, packs) for seed in SEEDS] == [mutate(seed, packs) for seed in SEEDS]


def test_every_mutation_survives_an_empty_file() -> None:
    assert all(isinstance(mutate(seed, [b""]), bytes) for seed in range(10 * len(MUTATIONS)))
