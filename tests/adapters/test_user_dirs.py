"""The short way to a person's directories leads where platformdirs leads."""

import platformdirs
import pytest

from oraclepack.adapters.user_dirs import config_directory, state_directory

_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "ANDROID_DATA", "ANDROID_ROOT")


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({"HOME": "/home/x"}, id="a home"),
        pytest.param({"HOME": "/home/x/"}, id="a home with a slash"),
        pytest.param({}, id="no home"),
        pytest.param({"HOME": ""}, id="an empty home"),
        pytest.param({"HOME": "relative"}, id="a home that is no place"),
        pytest.param({"HOME": "/h", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}, id="named"),
        pytest.param({"HOME": "/h", "XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": " "}, id="misnamed"),
        pytest.param({"HOME": "/h", "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}, id="unnamed"),
    ],
)
def test_the_directories_are_those_of_platformdirs(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in _VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert config_directory() == platformdirs.user_config_path("oraclepack", appauthor=False)
    assert state_directory() == platformdirs.user_state_path("oraclepack", appauthor=False)
