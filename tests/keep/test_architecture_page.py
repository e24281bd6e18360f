"""The pages for developers name files that exist, and the drawing of the data flow can be made."""

import re
from pathlib import Path

import pytest

from tests.flow_picture import SOURCE, draw, read

ROOT = Path(__file__).parent.parent.parent
PATH = re.compile(r"`((?:[a-z_]+/)*[a-z_]+(?:\.py|\.md|/))`")


def missing(page: str) -> list[str]:
    """The paths that a page names and that are not there, from the root or from the package."""
    named = PATH.findall((ROOT / page).read_text(encoding="utf-8"))
    homes = (ROOT, ROOT / "src/oraclepack", ROOT / "tests", ROOT / "docs")
    return sorted({path for path in named if not any((home / path).exists() for home in homes)})


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md"])
def test_every_path_on_the_page_exists(page: str) -> None:
    assert missing(page) == []


def test_every_folder_has_a_paragraph() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    folders = {path.parent.name for path in (ROOT / "src/oraclepack").glob("*/__init__.py")}

    assert {name for name in folders if f"**{name}**" not in page} == set()


def test_boxes_of_the_drawing_do_not_share_a_place() -> None:
    boxes, arrows = read(SOURCE.read_text(encoding="utf-8"))

    assert len({(box.column, box.row) for box in boxes.values()}) == len(boxes)
    assert {name for arrow in arrows for name in (arrow.start, arrow.end)} == set(boxes)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("box a 0", id="a box without a place"),
        pytest.param("arrow a b", id="an arrow between no boxes"),
        pytest.param("circle a 0 0 x", id="another shape"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="line 1"):
        draw(line)
