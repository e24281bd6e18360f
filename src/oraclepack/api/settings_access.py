"""Settings, the user's own files, and texts without secrets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from oraclepack.settings import loading
from oraclepack.settings.named_pages import save_page
from oraclepack.settings.registry import CWD, TRUST_KEY_FILE, Settings, SettingValue
from oraclepack.settings.trusted_files import SettingsTrust, record_trust
from oraclepack.system import files
from oraclepack.system.environment import (
    DETACHED_VARIABLE,
    environment,
    refuse_to_write_out,
    root_of_place,
)
from oraclepack.system.file_moves import write_new
from oraclepack.system.secrets import Redactor
from oraclepack.system.trust_key import use_file
from oraclepack.system.user_secrets import make_secret, read_secret, secret_file

_LARGEST_CONFIG = 1024 * 1024

Record = TypeVar("Record", bound=msgspec.Struct)


def load_settings(
    pack: str | Path | None = None,
    values: Mapping[str, object] | None = None,
    *,
    reads_config: bool = True,
) -> Settings:
    """The settings that hold for a pack, or for the current directory.

    `values` are by name, as `config show` lists them, and outrank variables and config files. A
    `SettingValue` also says where the value was written.
    """
    given = {
        name: value if isinstance(value, SettingValue) else SettingValue(value, name)
        for name, value in (values or {}).items()
    }
    path = None if pack is None else str(pack)
    settings = loading.load_settings(given, path, reads_config=reads_config)
    use_file(settings[TRUST_KEY_FILE])
    return settings


def place_values(place: str | Path, settings: Settings) -> dict[str, SettingValue]:
    """What screens that open a place add to the flags: the root of a project elsewhere.

    `--cwd` takes precedence.
    """
    root = None if settings.is_given(CWD) else root_of_place(Path(place))
    return {} if root is None else {CWD.name: SettingValue(str(root), str(place))}


def trust_settings(found: SettingsTrust) -> None:
    """Let settings files be less strict than the user, as long as their settings stay the same."""
    contents: dict[str, Mapping[str, object]] = {loading.DOTENV: loading.dotenv(found.root)}
    contents |= {path.name: table for path, table in loading.project_tables(found.root)}
    for file in found.files:
        record_trust(Path(found.root), file.path, contents[file.path])


def save_chatgpt_url(name: str, url: str) -> str:
    """Name a ChatGPT page in the user's config file; returns the file."""
    return str(save_page(name, url))


def read_small_file(path: Path) -> bytes | None:
    """A file of the user's; None where there is none."""
    return files.read(path, _LARGEST_CONFIG)


def write_config_file(path: Path, data: bytes) -> None:
    """Put a file of the user's in place at once, with the directories that it lacks."""
    refuse_to_write_out(path.parent)
    files.make_directories(path.parent)
    files.write_atomic(path, data)


def mcp_token() -> tuple[str, Path, bool]:
    """The user's token for the MCP server over HTTP, its file, and whether it was made just now."""
    what = "the token of the MCP server"
    path = secret_file("mcp.token", what)
    is_new = read_secret(path, what) is None
    return make_secret(path, what).decode("ascii", "replace").strip(), path, is_new


def write_new_file(path: str | Path, data: bytes) -> None:
    """Write a whole file where none is; nothing is overwritten."""
    write_new(Path(path), data)


def redacted(text: str) -> str:
    """A text without the secrets of the environment."""
    return Redactor.of(environment()).clean(text)


def redacted_record(record: Record) -> Record:
    """A record with every text in it redacted."""
    return Redactor.of(environment()).clean_record(record)


def is_detached() -> bool:
    """Whether this process is the command of a detached run."""
    return DETACHED_VARIABLE in environment()
