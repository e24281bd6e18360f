"""Stand-ins for modules: there while a library loads, real as soon as something is used."""

import importlib
import importlib.util
import sys
from collections.abc import Iterator

import pytest

from oraclepack.core.late_import import imported_late, late_function

_UNUSED = "this"
"""A module of the standard library that nothing else imports."""


@pytest.fixture(autouse=True)
def _fresh(capsys: pytest.CaptureFixture[str]) -> Iterator[None]:
    sys.modules.pop(_UNUSED, None)
    yield
    sys.modules.pop(_UNUSED, None)
    capsys.readouterr()


def test_a_stand_in_is_gone_afterwards_and_nothing_was_loaded(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with imported_late({_UNUSED: {}}):
        importlib.import_module(_UNUSED)

    assert _UNUSED not in sys.modules
    assert not capsys.readouterr().out


def test_what_a_library_kept_of_it_works_later() -> None:
    with imported_late({_UNUSED: {}}):
        kept = importlib.import_module(_UNUSED)

    assert kept.s == sys.modules[_UNUSED].s


def test_use_within_loads_the_real_module_at_once() -> None:
    with imported_late({_UNUSED: {}}):
        value = importlib.import_module(_UNUSED).s
        real = sys.modules[_UNUSED]

    assert real is sys.modules[_UNUSED]
    assert value == real.s


def test_what_it_was_given_it_answers_by_itself() -> None:
    with imported_late({_UNUSED: {"s": "mine"}}):
        exec(f"from {_UNUSED} import s\nassert s == 'mine'")

    assert _UNUSED not in sys.modules


def test_a_lasting_one_stays_until_it_is_used() -> None:
    with imported_late({_UNUSED: {}}, lasting={_UNUSED}):
        pass
    kept = importlib.import_module(_UNUSED)

    assert kept.s == sys.modules[_UNUSED].s
    assert sys.modules[_UNUSED] is not kept


def test_a_lasting_one_is_found_like_any_module() -> None:
    with imported_late({_UNUSED: {}}, lasting={_UNUSED}):
        found = importlib.util.find_spec(_UNUSED)

    assert found is not None
    assert importlib.reload(sys.modules[_UNUSED]).s


def test_a_module_that_is_loaded_keeps_its_place() -> None:
    with imported_late({"json": {"loads": None}}):
        assert importlib.import_module("json").loads("1") == 1


def test_a_name_that_the_module_lacks_is_missing_as_ever() -> None:
    with imported_late({_UNUSED: {}}):
        kept = importlib.import_module(_UNUSED)

    with pytest.raises(AttributeError):
        kept.nothing_of_this_name  # noqa: B018


def test_a_late_function_does_what_the_real_one_does() -> None:
    assert late_function("json", "dumps")([1], indent=None) == "[1]"
