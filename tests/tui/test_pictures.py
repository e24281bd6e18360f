"""The pictures of the documentation are what the screens show."""

import html
import re
from pathlib import Path

import pytest

from tests.tui.screenshots import PICTURES, SCREENS, draw, make_example

_TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)


def words(svg: str) -> str:
    """The text of a picture, without its layout."""
    return html.unescape(" ".join(_TEXT.findall(svg))).replace("\xa0", " ")


@pytest.mark.heavy
@pytest.mark.parametrize("name", SCREENS)
def test_a_picture_shows_the_screen(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_example(tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("TZ", "UTC")
    stored = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")

    drawn = draw(name)

    assert words(drawn) == words(stored), "python -m tests.tui.screenshots"
    assert drawn == stored


def test_every_screen_has_a_picture_that_refers_to_nothing() -> None:
    for name in SCREENS:
        svg = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
        assert "@font-face" not in svg
        assert "http" not in svg.replace("http://www.w3.org/", "")
        assert len(svg) < 150_000
