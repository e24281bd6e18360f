"""Pack files by name: names that cannot be printed or used for files are refused."""

from pathlib import Path

import pytest

from oraclepack.errors import InputError
from oraclepack.pack.pack_files import LONGEST_NAME, check_name


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("bytes-\udcff.md", r"bytes-\\udcff.md: the path is not valid UTF-8"),
        ("x" * (LONGEST_NAME - 2) + ".md", "too long for a pack"),
        ("ä" * 119 + ".md", "too long for a pack"),
    ],
)
def test_a_name_that_cannot_be_written_down_is_refused(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        check_name(tmp_path / name)


@pytest.mark.parametrize("name", ["x" * (LONGEST_NAME - 3) + ".md", "new\nline.md", "ä 🧿.md"])
def test_other_odd_names_are_fine(tmp_path: Path, name: str) -> None:
    check_name(tmp_path / name)
