"""Some attacks in a short form; `make torture` runs all in full and writes the figures."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.e2e.run.project import Zygote, a_project
from tests.torture.__main__ import table
from tests.torture.attacks import ATTACKS
from tests.torture.bug_scenes import NotPlayedError
from tests.torture.bugs import BUGS, Bug, caught
from tests.torture.disk_faults import unclear
from tests.torture.playing import line
from tests.torture.soak import LEAST, LEFT_OUT, MOST, Turn, summary, turns
from tests.torture.tally import Broken, Promise, Scene, Tally

SHARE = 0.004
"""Of the trials; an attack does at least one of each kind."""
CHOSEN = (
    "bad-answers",
    "clock-during",
    "crowd-one-run",
    "crowd-same-questions",
    "detached",
    "disk-once",
    "journal-read",
    "kills-asking",
    "kills-parallel",
    "not-kept",
    "one-at-a-time",
    "paths-in-the-way",
    "power-cut",
    "recovery-asking",
    "shared-outputs",
    "two-runners",
    "victim-runner",
    "victim-shim",
    "victim-tool",
)
"""Some of them: all would take longer than the rest of a folder's tests."""
LONG = frozenset({"detached", "recovery-asking", "shared-outputs"})
"""Those of them that take several seconds."""


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    started = Zygote()
    yield started
    started.close()


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name in LONG else ()) for name in CHOSEN],
)
def test_the_promise_holds_under(name: str, tmp_path: Path, zygote: Zygote) -> None:
    tally = ATTACKS[name](Scene(tmp_path, zygote, seed=1, share=SHARE))

    assert tally.trials
    assert tally.broken == ()


@pytest.mark.parametrize("free", [1, 2, 3, 5])
def test_a_run_without_descriptors_still_reports_its_error(
    free: int, tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, "# 01) a\ntrue\n")
    few: dict[str, dict[str, object]] = {
        "tests.torture.disk_faults:use_up_descriptors": {"free": free}
    }

    assert unclear(project.run(inside=few)) == []


@pytest.mark.parametrize(
    "bug",
    [
        pytest.param(
            bug, id=bug.what, marks=pytest.mark.heavy if bug.is_heavy else pytest.mark.slow
        )
        for bug in BUGS
    ],
)
def test_a_deliberate_bug_is_caught(bug: Bug, tmp_path: Path, zygote: Zygote) -> None:
    try:
        assert caught(Scene(tmp_path, zygote, seed=1, share=SHARE), bug)[bug.breaks]
    except NotPlayedError as reason:
        pytest.skip(str(reason))


def test_there_are_eleven_deliberate_bugs() -> None:
    assert len({bug.what for bug in BUGS}) == 11


def test_an_attack_that_was_not_run_has_no_figures() -> None:
    missing = Tally(0, not_played="there is no such tool")

    assert line("real", missing, 0.0) == "real: not played: there is no such tool"
    assert "real  not played\n" in table({"real": missing})


def test_a_soak_plays_every_attack_before_it_repeats_one() -> None:
    count = len(ATTACKS) - len(LEFT_OUT)
    first = list(islice(turns(7), count))

    assert {turn.name for turn in first} == ATTACKS.keys() - LEFT_OUT
    assert first == list(islice(turns(7), count)), "the same seed gives the same turns"
    assert all(LEAST <= turn.share <= MOST for turn in first)


def test_a_soak_says_how_to_repeat_what_was_broken() -> None:
    turn = Turn("detached", 5, 0.01)
    tally = Tally(2, 1, broken=(Broken(Promise.LOST, "an answer"),))

    text = summary([(turn, tally), (turn, Tally(0, not_played="no server"))])

    assert text.splitlines() == [
        "2 attacks of 1 kinds, 2 trials, 1 kills, 1 broken promises",
        "not run here: detached",
        "     1  answers lost",
        "again: python -m tests.torture --only detached --seed 5 --share 0.01",
    ]
