"""docs/troubleshooting.md has a row for every error code, and for no other."""

import re

from tests.keep.error_codes import error_codes
from tests.keep.pages import ROOT

PAGE = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")


def rows() -> dict[str, list[str]]:
    """The cells of each row, by code."""
    found: dict[str, list[str]] = {}
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        codes = re.findall(r"`([A-Z_]{4,})`", cells[0]) if cells else []
        found |= dict.fromkeys(codes, cells)
    return found


def test_every_code_has_a_row() -> None:
    assert error_codes() - rows().keys() == set()


def test_every_row_has_a_code() -> None:
    assert rows().keys() - error_codes() == set()


def test_every_row_says_what_happened_and_what_to_do() -> None:
    assert [code for code, cells in rows().items() if len(cells) != 3 or not all(cells)] == []


def test_codes_are_read_from_classes_calls_replies_constants_data_and_exit_codes() -> None:
    expected = {"LOCKED", "EXIT_CODE", "STALE", "NOT_STARTED", "PROJECT_ENV", "QUOTA", "POLICY"}

    assert expected <= error_codes()
