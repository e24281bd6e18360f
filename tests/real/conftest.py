"""The real oracle and its provider, in directories of the test's own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.provider import Provider, serving
from tests.real.install import NotToBeHadError, real_programs
from tests.real.oracles import RealOracle


@pytest.fixture(scope="session")
def programs() -> Path:
    try:
        return real_programs()
    except NotToBeHadError as reason:
        pytest.skip(f"the real oracle is not to be had: {reason}")


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as made:
        yield made


def an_oracle(programs: Path, provider: Provider, place: Path) -> RealOracle:
    for name in ("home", "work"):
        (place / name).mkdir()
    return RealOracle(programs, place / "home", place / "work", provider)


@pytest.fixture
def real_oracle(programs: Path, provider: Provider, tmp_path: Path) -> RealOracle:
    return an_oracle(programs, provider, tmp_path)
