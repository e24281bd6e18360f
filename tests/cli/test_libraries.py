"""What stands in for functions of the standard library does as these do."""

import gettext
import subprocess
import sys

import pytest

from oraclepack.cli import libraries


def test_messages_are_those_of_a_machine_without_translations() -> None:
    assert libraries._untranslated("Usage:") == gettext.NullTranslations().gettext("Usage:")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_counts_choose_the_form_as_without_translations(count: int) -> None:
    expected = gettext.NullTranslations().ngettext("file", "files", count)

    assert libraries._counted("file", "files", count) == expected


_PROGRAM = """
import sys
from oraclepack.cli.libraries import load_libraries
load_libraries()
left_out = {"decimal", "inspect", "msgspec.inspect", "urllib.parse", "uuid"}
print(sorted(left_out & set(sys.modules)))
import msgspec, pathlib
print(msgspec.json.schema(int), msgspec.toml.encode, pathlib.Path("/a b").as_uri())
"""


def test_what_is_left_out_at_first_is_there_when_it_is_used() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    first, second = ended.stdout.splitlines()
    assert first == "[]"
    assert second.startswith("{'type': 'integer'} <function encode")
    assert second.endswith(" file:///a%20b")


def test_the_modules_of_the_standard_library_are_found_afterwards() -> None:
    program = """
from oraclepack.cli.libraries import load_libraries
load_libraries()
import importlib.util
print(all(map(importlib.util.find_spec, ("datetime", "inspect", "locale", "uuid"))))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ended.stdout == "True\n"
