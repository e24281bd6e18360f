"""What the text of an output path decides."""

import pytest

from oraclepack.system.path_jail import fault_of, guarded_place, inside


@pytest.mark.parametrize(
    ("path", "words"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param("-", "standard output", id="a dash"),
        pytest.param("a\nb.md", "control character", id="a line end"),
        pytest.param("a\0b.md", "control character", id="a NUL"),
        pytest.param("a\x1b[2Jb.md", "control character", id="an escape sequence"),
        pytest.param("~/a.md", "expand", id="a tilde"),
        pytest.param("~root/a.md", "expand", id="another's home"),
        pytest.param("out/", "directory", id="a trailing slash"),
        pytest.param("out/.", "directory", id="a dot"),
        pytest.param("out/..", "directory", id="two dots"),
        pytest.param("x" * 256, "longer than", id="a long name"),
        pytest.param("ü" * 130, "longer than", id="a name long in bytes"),
        pytest.param("a/" * 2100 + "b", "too long", id="a long path"),
        pytest.param("a\udcff.md", "UTF-8", id="not UTF-8"),
        pytest.param("out/01-answer.md", None, id="a plain one"),
        pytest.param("-rf", None, id="a name that looks like a flag"),
        pytest.param("a b/ü…—.md", None, id="spaces and typography"),
        pytest.param("x" * 255, None, id="as long as it may be"),
    ],
)
def test_names_that_cannot_be_written(path: str, words: str | None) -> None:
    fault = fault_of(path)

    assert (fault is None) if words is None else (fault is not None and words in fault)


@pytest.mark.parametrize(
    ("path", "base", "expected"),
    [
        pytest.param("a.md", None, "a.md", id="relative"),
        pytest.param("/p/a.md", None, "a.md", id="absolute inside"),
        pytest.param("/q/a.md", None, None, id="absolute outside"),
        pytest.param("/pq/a.md", None, None, id="a sibling with the same beginning"),
        pytest.param("../a.md", None, None, id="above"),
        pytest.param("b/../a.md", None, "a.md", id="up and down inside"),
        pytest.param("b/../../a.md", None, None, id="up too far"),
        pytest.param("../a.md", "/p/sub", "a.md", id="above a directory of the project"),
        pytest.param("/p", None, "", id="the root itself"),
        pytest.param("/proc/self/cwd/a.md", None, None, id="through proc"),
    ],
)
def test_paths_inside_a_root(path: str, base: str | None, expected: str | None) -> None:
    assert inside("/p", path, base) == expected


def test_everything_is_inside_the_root_of_the_disk() -> None:
    assert inside("/", "/a/b.md") == "a/b.md"


@pytest.mark.parametrize(
    ("relative", "expected"),
    [
        (".git/config", ".git"),
        (".GIT/config", ".git"),
        ("vendor/lib/.git/hooks/x", ".git"),
        (".git", ".git"),
        (".oraclepack/runs/x/run.json", ".oraclepack/runs"),
        (".OraclePack/Cache/k.md", ".oraclepack/cache"),
        (".oraclepack/ticketify/next.json", None),
        (".oraclepack", None),
        (".github/x.md", None),
        ("docs/.oraclepack/runs/x", None),
    ],
)
def test_protected_places(relative: str, expected: str | None) -> None:
    assert guarded_place(relative) == expected
