"""The directories of the user are those of platformdirs."""

import platformdirs
import pytest

from oraclepack.system.environment import config_directory, state_directory


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"HOME": "/home/ada"}, id="a home"),
        pytest.param({"HOME": "/home/ada/"}, id="a home with a slash at its end"),
        pytest.param({"HOME": "/"}, id="the root as home"),
        pytest.param({"HOME": "home"}, id="a relative home"),
        pytest.param({"HOME": ""}, id="an empty home"),
        pytest.param({}, id="no home"),
        pytest.param(
            {"HOME": "/home/ada", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s/"}, id="by XDG"
        ),
        pytest.param({"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}, id="XDG without a home"),
        pytest.param(
            {"HOME": "/home/ada", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "~/s"},
            id="relative by XDG",
        ),
        pytest.param(
            {"HOME": "/home/ada", "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}, id="empty by XDG"
        ),
    ],
)
def test_the_directories_are_those_of_platformdirs(
    given: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    assert config_directory() == platformdirs.user_config_path("oraclepack", appauthor=False)
    assert state_directory() == platformdirs.user_state_path("oraclepack", appauthor=False)
