"""What a step is about, for `list`, `steps.json` and the backlog."""

import pytest

from oraclepack.pack.model import Pack
from oraclepack.pack.questions import short_title, title_of
from oraclepack.view.manifests import steps_manifest
from oraclepack.view.run import RunView
from oraclepack.view.step_listing import listing
from oraclepack.work.load_answers import question_of
from tests.packs import a_pack

META = "[oraclepack-meta]\nCategory: permissions\nReference: src/meta.py\n[/oraclepack-meta]\n"

Named = tuple[str | None, str | None]


def everywhere(pack: Pack) -> set[Named]:
    """Category and reference of the only step, as each of its readers has them."""
    listed, recorded = listing(pack).steps[0], steps_manifest(RunView(pack=pack)).steps[0]
    asked = question_of(pack.steps[0])
    return {(one.category, one.reference) for one in (listed, recorded, asked)}


@pytest.mark.parametrize(
    ("header", "meta", "expected"),
    [
        pytest.param(
            "category=invariants reference=src/a.py",
            META,
            ("invariants", "src/a.py"),
            id="the header goes before the prompt",
        ),
        pytest.param("", META, ("permissions", "src/meta.py"), id="the prompt where it is silent"),
        pytest.param(
            "category=invariants", META, ("invariants", "src/meta.py"), id="each for itself"
        ),
        pytest.param("a title", "", (None, None), id="not given"),
    ],
)
def test_every_reader_has_the_same_category_and_reference(
    header: str, meta: str, expected: Named
) -> None:
    pack = a_pack(f"# 01) {header}\noracle -p '{meta}Why?' --write-output a.md\n")

    assert everywhere(pack) == {expected}


TITLES = [
    pytest.param("a title", f"{META}Why?", "a title", id="the header's words"),
    pytest.param("", "Why?\nBecause.", "Why?", id="the first line of the prompt"),
    pytest.param("", f"{META}\nWhy?", "Why?", id="the first line after the metadata"),
    pytest.param("", f"Why?\n{META}", "Why?", id="the metadata stands last"),
    pytest.param("", f"{META}Context\nQuestion:\nWhy?", "Why?", id="what is called the question"),
    pytest.param("", "[oraclepack-meta]\nCategory: x\nWhy?", "", id="metadata without an end"),
    pytest.param("", "y" * 200, "y" * 100, id="a long line is cut"),
]


@pytest.mark.parametrize(("header", "prompt", "expected"), TITLES)
def test_every_reader_has_the_same_title(header: str, prompt: str, expected: str) -> None:
    (step,) = a_pack(f"# 01) {header}\noracle -p '{prompt}' --write-output a.md\n").steps

    assert (title_of(step), question_of(step).title) == (expected, expected)


@pytest.mark.parametrize(
    ("header", "prompt", "expected"),
    [
        pytest.param("a title", "Why?", "a title", id="the header's words"),
        pytest.param("", "word " * 19 + "last?", "word " * 19 + "last?", id="it fits"),
        pytest.param("", "word " * 19 + "lasting, and more", "word " * 18 + "word…", id="cut"),
        pytest.param("", "y" * 200, "y" * 99 + "…", id="one long word"),
    ],
)
def test_a_long_title_ends_after_a_word(header: str, prompt: str, expected: str) -> None:
    (step,) = a_pack(f"# 01) {header}\noracle -p '{prompt}' --write-output a.md\n").steps

    assert short_title(step) == expected
