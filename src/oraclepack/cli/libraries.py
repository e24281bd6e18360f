"""Loads the libraries of every command without what they hardly ever use.

Of the time of a short command this saves a fifth (`inspect` 8 ms, `typing_extensions` 4, `uuid` 3,
`urllib.parse` 3, parts of msgspec 3, `gettext` with `locale` 2, `decimal` 2, `textwrap` 1, where
Python itself takes 14).
"""

import typing

from oraclepack.core.docstring import cleaned
from oraclepack.core.late_import import imported_late, late_function

_TYPING = ("NotRequired", "Required", "get_type_hints")
"""What msgspec asks `typing_extensions` for where that is installed; `typing` has it all by now."""

_TERMUI = (
    *("clear", "confirm", "echo_via_pager", "edit", "get_pager_file", "getchar", "launch"),
    *("pause", "progressbar", "prompt", "secho", "style", "unstyle"),
)
"""By what click talks to people; our commands do that themselves."""


def load_libraries() -> None:
    """Import what every command needs."""
    with imported_late(
        {
            "gettext": {"gettext": _untranslated, "ngettext": _counted},
            "inspect": {"cleandoc": cleaned},  # for the help of each option
            "locale": {},  # by way of subprocess, if that is needed at all
            "urllib.parse": _late("urllib.parse", "quote_from_bytes"),  # by way of pathlib
            "click.termui": _late("click.termui", *_TERMUI),
            "decimal": {"Decimal": _NotOurs},
            "uuid": {"UUID": _NotOurs, "SafeUUID": _NotOurs},
            "msgspec.inspect": {},
            "msgspec._json_schema": _late("msgspec._json_schema", "schema", "schema_components"),
            "msgspec.msgpack": {},
            "msgspec.toml": {},
            "msgspec.yaml": {},
            "textwrap": {},
            "typing_extensions": {name: getattr(typing, name) for name in _TYPING},
        },
        lasting={"locale"},
    ):
        import pathlib  # noqa: F401, PLC0415

        import click  # noqa: F401, PLC0415
        import msgspec  # noqa: F401, PLC0415


class _NotOurs:
    """In place of classes that msgspec and click can read and write, and we have no value of."""

    unknown = None  # how safe an identifier is


def _late(module: str, *names: str) -> dict[str, object]:
    return {name: late_function(module, name) for name in names}


def _untranslated(message: str) -> str:
    # The program speaks English; the real one would look for a catalogue of click's on disk.
    return message


def _counted(one: str, many: str, count: int) -> str:
    return one if count == 1 else many
