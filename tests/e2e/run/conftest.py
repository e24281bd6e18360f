"""One process that starts the program for all tests of a worker."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.run.project import Project, Zygote, a_project


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    started = Zygote()
    yield started
    started.close()


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    """Twenty questions in a committed repository."""
    return a_project(tmp_path, zygote)
