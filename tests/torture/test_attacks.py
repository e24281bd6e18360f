"""Every attack in a short form; `make torture` plays them in full and tells the figures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.run.project import Zygote
from tests.torture.attacks import ATTACKS
from tests.torture.bugs import BUGS, Bug, caught
from tests.torture.tally import Scene

SHARE = 0.004
"""Of the trials; an attack does at least one of each kind."""
IN_FULL_ONLY = {"deliberate-bugs"}


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    started = Zygote()
    yield started
    started.close()


@pytest.mark.parametrize("name", sorted(ATTACKS.keys() - IN_FULL_ONLY))
def test_the_promise_holds_under(name: str, tmp_path: Path, zygote: Zygote) -> None:
    tally = ATTACKS[name](Scene(tmp_path, zygote, seed=1, share=SHARE))

    assert tally.trials
    assert tally.broken == ()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.what)
def test_a_deliberate_bug_is_caught(bug: Bug, tmp_path: Path, zygote: Zygote) -> None:
    assert caught(Scene(tmp_path, zygote, seed=1, share=0.02), bug)
