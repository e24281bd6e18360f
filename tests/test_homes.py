"""No test, and no fixture of a module or of the session, sees the home of who runs the tests."""

import os
import pwd
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def home_of_the_module() -> Path:
    return Path(os.environ["HOME"])


def test_fixtures_of_modules_have_another_home_than_the_user(
    home_of_the_module: Path, home: Path
) -> None:
    real = Path(pwd.getpwuid(os.getuid()).pw_dir)

    assert real not in {home_of_the_module, home}
    assert home_of_the_module != home
    assert os.environ["XDG_STATE_HOME"].startswith(f"{home}/")
