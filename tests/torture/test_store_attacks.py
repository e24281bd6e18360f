"""Some attacks on a run whose store is PostgreSQL; `python -m tests.torture --store postgresql`."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.run.project import Zygote
from tests.postgres_server import NoServerError
from tests.torture.attacks import ATTACKS
from tests.torture.store_grounds import STORE_VARIABLE, goes_through_the_store, serving_torture
from tests.torture.tally import Scene

pytestmark = pytest.mark.heavy
SHARE = 0.01
CHOSEN = ("crowd-same-questions", "kills-asking", "kills-parallel", "victim-everything")


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    try:
        with serving_torture(None):
            started = Zygote()
            yield started
            started.close()
    except NoServerError as reason:
        pytest.skip(f"PostgreSQL cannot be had here: {reason}")


@pytest.mark.parametrize("name", CHOSEN)
def test_the_promise_holds_on_a_shared_store_under(
    name: str, tmp_path: Path, zygote: Zygote
) -> None:
    assert goes_through_the_store(name)
    assert os.environ[STORE_VARIABLE]
    tally = ATTACKS[name](Scene(tmp_path, zygote, seed=1, share=SHARE))

    assert tally.kills
    assert tally.broken == ()
