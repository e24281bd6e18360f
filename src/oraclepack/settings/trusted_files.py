"""Settings files of a project that the user trusts: they may be less strict than the user's own.

The record is one private file in the user's state directory for each trusted content. It is bound
to the project's directory, the name of the file and the settings in it, so that a change of them,
or a copy elsewhere, is not trusted.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from oraclepack.settings.registry import Settings
from oraclepack.system.digests import canonical_line, sha256_bytes
from oraclepack.system.user_secrets import make_secret, read_secret, secret_file

_WHAT = "the record of trusted settings"


class TrustedFile(msgspec.Struct, frozen=True):
    """A settings file, and what it may set once it is trusted."""

    path: str
    """Relative to the project root."""
    settings: tuple[str, ...]
    """What it sets less strictly than the user, or than the default."""


class SettingsTrust(msgspec.Struct, frozen=True):
    """What `config trust` trusts."""

    root: str
    files: tuple[TrustedFile, ...] = ()


def find_untrusted(settings: Settings) -> SettingsTrust:
    """The settings files of the project that would be less strict, and are not trusted."""
    names: dict[str, list[str]] = {}
    for one in settings.ignored:
        if one.can_be_trusted:
            names.setdefault(one.where.partition(":")[0], []).append(one.name)
    files = (TrustedFile(file, tuple(wanted)) for file, wanted in sorted(names.items()))
    return SettingsTrust(settings.root, tuple(files))


def record_trust(root: Path, name: str, content: Mapping[str, object]) -> None:
    """Trust a settings file of a project while its settings are these."""
    make_secret(_record(root, name, content), _WHAT)


def is_trusted(root: Path, name: str, content: Mapping[str, object]) -> bool:
    return read_secret(_record(root, name, content), _WHAT) is not None


def _record(root: Path, name: str, content: Mapping[str, object]) -> Path:
    digest = sha256_bytes(canonical_line([str(root.resolve()), name, content]))
    return secret_file(f"trusted-settings/{digest}", _WHAT)
