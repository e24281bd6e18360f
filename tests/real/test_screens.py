"""The live table in a real terminal: tmux draws it, and its screen is read back."""

import shutil
from pathlib import Path

import pytest

from tests.table_screens import screens

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed"),
]


def test_the_table_fits_both_sizes(tmp_path: Path) -> None:
    for (wide, high), text in screens(tmp_path, wait=10.0).items():
        lines = text.splitlines()
        assert max(map(len, lines)) < wide
        assert sum(line.startswith("step  state") for line in lines) == 1, text
        assert len([line for line in lines if line]) <= high
        for words in ("slot of openai", "429, retry in", "failed", "running", "from the cache"):
            assert words in text, text
