"""Which files of a very large repository are parsed."""

import pytest

from oraclepack.authoring.git_repository import StoredText
from oraclepack.authoring.read_repository import files_to_parse

TEXTS = {
    "a/core.py": "def run(): ...\n",
    "a/left.py": "from a import core\n",
    "a/next.py": "import a.core\n",
    "b/other.py": "x = 'core other other'\n",
}


@pytest.mark.parametrize(
    ("budget", "commits", "asked", "chosen"),
    [
        pytest.param(1000, {}, "", set(TEXTS), id="all where there is room"),
        pytest.param(20, {}, "", {"a/core.py"}, id="what is imported most"),
        pytest.param(20, {"a/next.py": 9}, "", {"a/next.py"}, id="what is changed most"),
        pytest.param(25, {"a/next.py": 9}, "b/other.py", {"b/other.py"}, id="what is asked for"),
        pytest.param(40, {}, "", {"a/core.py", "a/left.py"}, id="ties by path"),
    ],
)
def test_the_budget_goes_to_what_matters(
    budget: int, commits: dict[str, int], asked: str, chosen: set[str]
) -> None:
    texts = {path: StoredText(text) for path, text in TEXTS.items()}

    files = files_to_parse(texts, commits, lambda path, _: path == asked, budget)

    assert {*files} == chosen


@pytest.mark.parametrize("text", ["", "plain\n", "Größe 𝄞 " * 900])
def test_a_compressed_text_reads_the_same(text: str) -> None:
    one, other = StoredText(text), StoredText(text, compressed=True)

    assert one.read() == other.read() == text
    assert one.length == other.length == len(text)
    assert one.head(2500) == other.head(2500) == text[:2500]
