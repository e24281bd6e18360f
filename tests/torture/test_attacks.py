"""Some attacks in a short form; `make torture` runs all in full and writes the figures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.run.project import Zygote
from tests.torture.__main__ import table
from tests.torture.attacks import ATTACKS
from tests.torture.bug_scenes import NotPlayedError
from tests.torture.bugs import BUGS, Bug, caught
from tests.torture.playing import line
from tests.torture.tally import Scene, Tally

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
    "two-runners",
    "victim-runner",
    "victim-shim",
    "victim-tool",
)
"""Some of them: all would take longer than the rest of a folder's tests."""


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    started = Zygote()
    yield started
    started.close()


@pytest.mark.parametrize("name", CHOSEN)
def test_the_promise_holds_under(name: str, tmp_path: Path, zygote: Zygote) -> None:
    tally = ATTACKS[name](Scene(tmp_path, zygote, seed=1, share=SHARE))

    assert tally.trials
    assert tally.broken == ()


@pytest.mark.parametrize(
    "bug",
    [
        pytest.param(bug, id=bug.what, marks=[pytest.mark.heavy] if bug.is_heavy else [])
        for bug in BUGS
    ],
)
def test_a_deliberate_bug_is_caught(bug: Bug, tmp_path: Path, zygote: Zygote) -> None:
    try:
        assert caught(Scene(tmp_path, zygote, seed=1, share=SHARE), bug)[bug.breaks]
    except NotPlayedError as reason:
        pytest.skip(str(reason))


def test_there_are_ten_deliberate_bugs() -> None:
    assert len({bug.what for bug in BUGS}) == 10


def test_an_attack_that_was_not_run_has_no_figures() -> None:
    missing = Tally(0, not_played="there is no such tool")

    assert line("real", missing, 0.0) == "real: not played: there is no such tool"
    assert "real  not played\n" in table({"real": missing})
