"""Config files, read but not judged."""

from collections.abc import Mapping
from io import StringIO
from pathlib import Path

from oraclepack.adapters.config import named_user_file
from oraclepack.core.setting import PREFIX
from oraclepack.core.settings import CONFIG_VARIABLE
from oraclepack.errors import InputError
from oraclepack.system import files
from oraclepack.system.environment import config_directory
from oraclepack.system.ownership import is_tracked
from oraclepack.system.text_limits import regex

MOST_DOTS = 100
"""In one line, outside quotes; keys of ours have at most three."""
_QUOTED = regex(rb"\"[^\"]*\"|'[^']*'")

PROJECT_FILE = "oraclepack.toml"
LARGEST = 1024 * 1024
"""Bytes. Settings are a page of text."""


def dotenv(root: str) -> dict[str, str]:
    """The `ORACLEPACK_*` keys of the project's `.env`."""
    path = Path(root) / ".env"
    raw = _content(path)
    if raw is None:
        return {}
    from dotenv import dotenv_values  # noqa: PLC0415 - only projects with an .env pay for it

    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as trouble:
        raise InputError(f"{path}: cannot be read: {trouble}") from None
    found = dotenv_values(stream=StringIO(text), interpolate=False)
    return {k: v for k, v in found.items() if k.startswith(PREFIX) and v is not None}


def project_tables(root: str) -> list[tuple[Path, Mapping[str, object]]]:
    """The project's own settings: oraclepack.toml, and [tool.oraclepack] of pyproject.toml."""
    tables: list[tuple[Path, Mapping[str, object]]] = []
    own = _toml(Path(root) / PROJECT_FILE)
    if own is not None:
        tables.append((Path(root) / PROJECT_FILE, own))
    shared = _pyproject(Path(root) / "pyproject.toml")
    if shared is not None:
        tables.append((Path(root) / "pyproject.toml", shared))
    return tables


def user_table(root: str) -> tuple[Path, Mapping[str, object]] | None:
    """The user's own settings. Raises InputError where they are the repository's."""
    named = named_user_file()
    path = Path(named) if named else _user_config()
    table = _toml(path)
    if table is not None and not named and _is_of_project(path, root):
        raise InputError(
            f"{path} is not taken for your own settings: it came with the project",
            hint=f"name your config file in {CONFIG_VARIABLE}, or set HOME to another directory",
        )
    if table is None and named:
        raise InputError(f"{CONFIG_VARIABLE}: {named}: no such file")
    return None if table is None else (path, table)


def _is_of_project(path: Path, root: str) -> bool:
    """Where a home lies in the project, a clone may bring this file too."""
    return path.is_relative_to(root) and is_tracked(path)


def _user_config() -> Path:
    return config_directory() / "config.toml"


def _pyproject(path: Path) -> Mapping[str, object] | None:
    table = _toml(path, marker=b"oraclepack")
    tool = table.get("tool") if table else None
    ours = tool.get("oraclepack") if isinstance(tool, dict) else None
    return ours if isinstance(ours, dict) else None


def _content(path: Path) -> bytes | None:
    try:
        return files.read_regular(path, LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as trouble:
        raise InputError(
            f"{path}: cannot be read: {trouble.strerror}",
            hint="a config file is a regular file of at most 1 MiB",
        ) from None


def _refuse_long_keys(path: Path, raw: bytes) -> None:
    """The time that the parser takes grows with the square of the parts of a key."""
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.count(b".") > MOST_DOTS and _QUOTED.sub(b"", line).count(b".") > MOST_DOTS:
            raise InputError(f"{path}: line {number} has a key of more than {MOST_DOTS} parts")


def _toml(path: Path, marker: bytes = b"") -> dict[str, object] | None:
    """A TOML file, or None when there is none. Without the marker it is not worth parsing."""
    raw = _content(path)
    if raw is None or marker not in raw:
        return None
    _refuse_long_keys(path, raw)
    import tomllib  # noqa: PLC0415 - most commands find no file to parse

    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as trouble:
        raise InputError(f"{path}: not valid TOML: {trouble}") from None
