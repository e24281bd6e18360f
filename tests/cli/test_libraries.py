"""What stands in for functions of the standard library does as these do."""

import gettext
import platform

import pytest

from oraclepack.cli import libraries


def test_messages_are_those_of_a_machine_without_translations() -> None:
    assert libraries._untranslated("Usage:") == gettext.NullTranslations().gettext("Usage:")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_counts_choose_the_form_as_without_translations(count: int) -> None:
    expected = gettext.NullTranslations().ngettext("file", "files", count)

    assert libraries._counted("file", "files", count) == expected


def test_the_system_has_the_name_that_platform_gives_it() -> None:
    assert libraries._system() == platform.system()
