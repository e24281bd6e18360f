import pytest

from oraclepack.pack.parse.markdown import read_markdown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("```bash\necho\n```\n", [("bash", "echo\n", 2, True)], id="backticks"),
        pytest.param("~~~bash\necho\n~~~\n", [("bash", "echo\n", 2, True)], id="tildes"),
        pytest.param("```bash\necho\n", [("bash", "echo\n", 2, False)], id="never closed"),
        pytest.param(
            "```bash\na\nb", [("bash", "a\nb\n", 2, False)], id="never closed, no line end"
        ),
        pytest.param("```bash\n```\n", [("bash", "", 2, True)], id="empty"),
        pytest.param("```bash", [("bash", "", 2, False)], id="only the opening, no line end"),
        pytest.param("```bash title=x\na\n```", [("bash", "a\n", 2, True)], id="words after bash"),
        pytest.param(
            "````bash\n```\ninner\n```\n````\n",
            [("bash", "```\ninner\n```\n", 2, True)],
            id="longer fence holds shorter ones",
        ),
        pytest.param(
            "1. x\n\n   ```bash\n   a\n   ```\n", [("bash", "a\n", 4, True)], id="in a list"
        ),
        pytest.param("> ```bash\n> a\n> ```\n", [("bash", "a\n", 2, True)], id="in a quotation"),
        pytest.param("```bash\na\0b\n```\n", [("bash", "a\ufffdb\n", 2, True)], id="with a NUL"),
        pytest.param("say ```bash``` inline\n", [], id="inline code is no block"),
        pytest.param("<!--\n```bash\na\n```\n-->\n", [], id="inside an HTML comment"),
    ],
)
def test_fenced_blocks(text: str, expected: list[tuple[str, str, int, bool]]) -> None:
    fences = [fence for fence in read_markdown(text).fences if fence.marker]

    found = [(fence.language, fence.content, fence.content_line, fence.closed) for fence in fences]
    assert found == expected


def test_headings_of_both_styles_are_found() -> None:
    headings = read_markdown("# One\n\nTwo\n---\n\n```\n# not\n```\n").headings

    assert [(heading.text, heading.line) for heading in headings] == [("One", 1), ("Two", 3)]
