"""Oracle's own files around a call: its home, its config files, the `.env` beside the call."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from oraclepack.core.oracle_surroundings import Surroundings, steering_variables, surroundings
from oraclepack.system import files

_CONFIG = "config.json"
_LARGEST = 1024 * 1024
_PROJECT_CONFIG = Path(".oracle", _CONFIG)


def oracle_home(env: Mapping[str, str]) -> Path:
    """Where oracle keeps its config and sessions."""
    named = env.get("ORACLE_HOME_DIR")
    return Path(named) if named else _user_home(env) / ".oracle"


def around_call(cwd: str, env: Mapping[str, str]) -> Surroundings:
    """What takes part in the answer to a call made here. Raises InputError."""
    places = (oracle_home(env) / _CONFIG, *_project_configs(Path(cwd), env))
    texts = [
        data.decode("utf-8", "replace") for place in places if (data := files.read(place, _LARGEST))
    ]
    return surroundings(env, _dotenv(Path(cwd)), texts)


def steering_of(cwd: str, env: Mapping[str, str]) -> tuple[str, ...]:
    """The variables by which the `.env` beside a call would steer oracle. Raises InputError."""
    data = files.read(Path(cwd) / ".env", _LARGEST) or b""
    return steering_variables(data.decode("utf-8", "replace"), env)


def _user_home(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) if env.get("HOME") else Path.home()


def _project_configs(cwd: Path, env: Mapping[str, str]) -> list[Path]:
    """From the working directory up to the user's home, the nearest last: it wins."""
    usual = oracle_home(env) / _CONFIG
    found = [folder / _PROJECT_CONFIG for folder in _upwards(cwd, _user_home(env))]
    return [path for path in reversed(found) if path != usual and path.is_file()]


def _upwards(cwd: Path, home: Path) -> Iterator[Path]:
    for folder in (cwd, *cwd.parents):
        if folder == home:
            return
        yield folder


def _dotenv(cwd: Path) -> dict[str, str]:
    data = files.read(cwd / ".env", _LARGEST)
    if not data:
        return {}
    # Few projects have such a file; the others do not pay for the import.
    from io import StringIO  # noqa: PLC0415

    from dotenv import dotenv_values  # noqa: PLC0415

    text = StringIO(data.decode("utf-8", "replace"))
    read = dotenv_values(stream=text, interpolate=False)
    return {name: value for name, value in read.items() if value is not None}
