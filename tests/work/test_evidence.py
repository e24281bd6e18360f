import pytest

from oraclepack.work.evidence import (
    Citation,
    CitationState,
    Evidence,
    QuestionFile,
    check,
    commands_in,
    evidence_in,
    said_of,
)
from tests.work.answers import FILES

ATTACHED = {file.path: file for file in FILES}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        pytest.param("see `src/x.py:10`", ["src/x.py:10"], id="a line"),
        pytest.param("see `src/x.py:10-20`", ["src/x.py:10-20"], id="a range"),
        pytest.param("see `src/x.py:10–20`", ["src/x.py:10-20"], id="a range with a dash"),
        pytest.param("see `x.py:3,9-12`", ["x.py:3", "x.py:9-12"], id="several at once"),
        pytest.param("see `x.py:123456789012`", ["x.py:123456789012"], id="a line far off"),
        pytest.param("see `src/x.py:10:4`", ["src/x.py:10"], id="a line and a column"),
        pytest.param("see `src/x.py#L10-L20`", ["src/x.py:10-20"], id="as GitHub writes it"),
        pytest.param("see src/x.py:10, please", ["src/x.py:10"], id="without code marks"),
        pytest.param("see `src/x.py` (lines 10–20)", ["src/x.py:10-20"], id="said after it"),
        pytest.param("see x.py line 4", ["x.py:4"], id="said in prose"),
        pytest.param("`Dockerfile:1`", ["Dockerfile:1"], id="a file without an ending"),
        pytest.param("`src/x.py:20-10`", ["src/x.py:20"], id="a range backwards"),
        pytest.param("https://h/x.py:3 and 1.2.3 and 10:30", [], id="addresses, versions, times"),
    ],
)
def test_citations_in_a_text(text: str, places: list[str]) -> None:
    assert [str(citation) for citation in evidence_in(text).citations] == places


@pytest.mark.parametrize(
    ("text", "paths", "symbols"),
    [
        pytest.param("`src/a.py` `docs/**/*.md`", ["docs/**/*.md", "src/a.py"], [], id="paths"),
        pytest.param("`Foo.bar` `baz()` `LIMIT`", [], ["Foo.bar", "LIMIT", "baz"], id="names"),
        pytest.param("`POST /v1/x` `/v1/x`", [], ["POST /v1/x"], id="an endpoint"),
        pytest.param("`orders.created_at`", [], ["orders.created_at"], id="a column"),
        pytest.param("and/or, Node.js, I/O, e.g. this", [], [], id="words with slashes"),
        pytest.param("`--flag` `<tag>` `{x}` ``", [], [], id="other code"),
    ],
)
def test_names_in_a_text(text: str, paths: list[str], symbols: list[str]) -> None:
    found = evidence_in(text)

    assert (found.paths, found.symbols) == (tuple(paths), tuple(symbols))


@pytest.mark.parametrize(
    ("code", "language", "commands"),
    [
        pytest.param("make a\n\n# no\nmake b\n", "bash", ["make a", "make b"], id="lines"),
        pytest.param("make \\\n  a\n", "sh", ["make a"], id="a continued line"),
        pytest.param("$ make a\ndone\n", "console", ["make a"], id="a transcript"),
        pytest.param("make a\n", "python", [], id="another language"),
    ],
)
def test_commands_of_a_code_block(code: str, language: str, commands: list[str]) -> None:
    assert commands_in(f"```{language}\n{code}```") == tuple(commands)


@pytest.mark.parametrize(
    ("path", "line", "state"),
    [
        pytest.param("src/cache.py", 40, "verified", id="the last line"),
        pytest.param("src/cache.py", 41, "out_of_range", id="one too far"),
        pytest.param("src/cache.py", 0, "out_of_range", id="line zero"),
        pytest.param("src/moved.py", 3, "stale", id="changed since"),
        pytest.param("src/gone.py", 3, "stale", id="gone since"),
        pytest.param("src/other.py", 3, "not_attached", id="never attached"),
        pytest.param("cache.py", 3, "verified", id="only the name"),
        pytest.param("/home/me/src/cache.py", 3, "verified", id="an absolute path"),
        pytest.param("lib/src/cache.py", 3, "not_attached", id="the same name elsewhere"),
    ],
)
def test_a_citation_against_what_was_attached(path: str, line: int, state: str) -> None:
    evidence = Evidence((path,), citations=(Citation(path, line, line),))

    judged = check(evidence, ATTACHED).citations[0]

    assert judged.state == state
    assert judged.path in said_of(judged)


def test_nothing_is_said_of_files_when_the_list_is_not_complete() -> None:
    evidence = Evidence(("src/other.py",), citations=(Citation("src/other.py", 3, 3),))

    (citation,) = check(evidence, ATTACHED, complete=False).citations
    assert citation.state is CitationState.UNKNOWN
    assert check(evidence, None) == evidence


def test_a_name_that_fits_two_attached_files_means_neither() -> None:
    two = {name: QuestionFile(name, "h", "h", 9) for name in ("a/x.py", "b/x.py")}
    evidence = Evidence(("x.py",), citations=(Citation("x.py", 3, 3),))

    (citation,) = check(evidence, two).citations
    assert citation.state is CitationState.NOT_ATTACHED
