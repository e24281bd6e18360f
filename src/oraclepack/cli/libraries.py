"""Loads the libraries of every command without what they hardly ever use.

Of the time of a short command this saves a fifth (`inspect` 8 ms, `typing_extensions` 4, `gettext`
with `locale` 2, `platform` 2, `ipaddress` and `textwrap` 1 each, where Python itself takes 14).
"""

import os
import typing

from oraclepack.core.docstring import cleaned
from oraclepack.core.late_import import imported_late

_TYPING = ("NotRequired", "Required", "get_type_hints")
"""What msgspec asks `typing_extensions` for where that is installed; `typing` has it all by now."""


def load_libraries() -> None:
    """Import what every command needs."""
    with imported_late(
        {
            "gettext": {"gettext": _untranslated, "ngettext": _counted},
            "inspect": {"cleandoc": cleaned},  # for the help of each option
            "locale": {},  # by way of subprocess, if that is needed at all
            "ipaddress": {},  # by way of pathlib and urllib.parse
            "platform": {"system": _system},  # by way of uuid
            "textwrap": {},
            "typing_extensions": {name: getattr(typing, name) for name in _TYPING},
        },
        lasting={"locale"},
    ):
        import pathlib  # noqa: F401, PLC0415

        import click  # noqa: F401, PLC0415
        import msgspec  # noqa: F401, PLC0415


def _untranslated(message: str) -> str:
    # The program speaks English; the real one would look for a catalogue of click's on disk.
    return message


def _counted(one: str, many: str, count: int) -> str:
    return one if count == 1 else many


def _system() -> str:
    return os.uname().sysname
