"""Which files oracle would attach: the rules that were observed, one row each."""

import pytest

from oraclepack.tools.oracle_attachments import FileListing, base_of, choose, glob

FILES = (
    ".env.sample",
    "README.md",
    "a.log",
    "lib/x.log",
    "src/a.py",
    "src/b.py",
    "src/deep/c.py",
    "src/deep/.hidden.py",
    "dist/out.js",
    "build/keep.txt",
    "src/tmp/t.py",
)


@pytest.mark.parametrize(
    ("values", "ignores", "expected"),
    [
        pytest.param(
            ["src/*.py"], {}, ["src/a.py", "src/b.py"], id="a star stays in its directory"
        ),
        pytest.param(
            ["src/**/*.py"], {}, ["src/a.py", "src/b.py", "src/deep/c.py"], id="two stars go down"
        ),
        pytest.param(
            ["src"], {}, ["src/a.py", "src/b.py", "src/deep/c.py"], id="a directory is all below it"
        ),
        pytest.param(["./src/*.py"], {}, ["src/a.py", "src/b.py"], id="a dot in front"),
        pytest.param(["src/**", "!src/deep/**"], {}, ["src/a.py", "src/b.py"], id="an exclusion"),
        pytest.param(
            ["!src/b.py", "src/*.py"],
            {},
            ["src/a.py"],
            id="an exclusion applies wherever it stands",
        ),
        pytest.param(["README.md", "!x"], {}, ["README.md"], id="a plain name goes the same way"),
        pytest.param(
            ["README.md", "src/a.py", "lib/*"],
            {"": ["src/a.py"]},
            ["README.md", "lib/x.log"],
            id="an ignored plain name is dropped",
        ),
        pytest.param(["**/*.log"], {"": ["*.log"]}, ["lib/x.log"], id="a star does not cross"),
        pytest.param(["**/*.log"], {"": ["lib/"]}, ["a.log"], id="a directory line is a prefix"),
        pytest.param(
            ["**/*.log"], {"": ["/a.log", "!x"]}, ["a.log", "lib/x.log"], id="crude lines"
        ),
        pytest.param(["**/*.log"], {"lib": ["# no", "*.log"]}, ["a.log"], id="one further down"),
        pytest.param(["**/*.log"], {"": ["**/x.log"]}, ["a.log"], id="two stars in an ignore line"),
        pytest.param(
            ["src/deep/.h*"], {}, ["src/deep/.hidden.py"], id="hidden files when one asks for them"
        ),
        pytest.param(
            [".env.sample", "lib/*"], {}, [".env.sample", "lib/x.log"], id="a hidden name"
        ),
        pytest.param(["dist/*.js"], {}, [], id="a directory that is left out by itself"),
        pytest.param(["dist"], {}, ["dist/out.js"], id="unless it is named"),
        pytest.param(["dist/out.js", "lib/*"], {}, ["dist/out.js", "lib/x.log"], id="or its file"),
        pytest.param(
            ["build/*"], {"build": ["x"]}, ["build/keep.txt"], id="or it ignores by itself"
        ),
        pytest.param(["src/**/t.py"], {}, [], id="the same further down"),
        pytest.param(["nothing/*"], {}, [], id="no match"),
    ],
)
def test_choose(values: list[str], ignores: dict[str, list[str]], expected: list[str]) -> None:
    directories = frozenset(value for value in values if value in {"src", "dist", "lib"})

    assert list(choose(values, FileListing(FILES, directories, ignores)).files) == expected


def test_the_working_directory_itself() -> None:
    chosen = choose(["."], FileListing(("a", "b/c"), frozenset(".")))

    assert chosen.files == ("a", "b/c")


def test_left_out_files_are_reported() -> None:
    chosen = choose(["dist/*"], FileListing(FILES))

    assert chosen.notes == ("Skipping default-ignored path: dist/out.js (matches dist)",)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        pytest.param("a?c", "abc", True, id="one letter"),
        pytest.param("a?c", "a/c", False, id="but no slash"),
        pytest.param("[a-c].py", "b.py", True, id="a class"),
        pytest.param("[!a-c].py", "b.py", False, id="a negated class"),
        pytest.param("x{1..3}.py", "x2.py", True, id="a range"),
        pytest.param("x.{py,md}", "x.md", True, id="a choice"),
        pytest.param("a.b", "axb", False, id="a dot is a dot"),
        pytest.param("a\\*b", "a*b", True, id="an escaped star"),
        pytest.param("**/x", "x", True, id="two stars may be nothing"),
    ],
)
def test_glob(pattern: str, path: str, expected: bool) -> None:
    assert (glob(pattern).fullmatch(path) is not None) is expected


@pytest.mark.parametrize(
    ("pattern", "base"),
    [
        pytest.param("src/*.py", "src", id="the part before the sign"),
        pytest.param("*.py", ".", id="the working directory"),
        pytest.param("../x/y/*.py", "../x/y", id="outside"),
        pytest.param("/abs/*.py", "/abs", id="from the root"),
        pytest.param("/*", "/", id="the root itself"),
        pytest.param("!src/x/*", "src/x", id="of an exclusion"),
        pytest.param("src/a.py", "src", id="of a plain name"),
    ],
)
def test_base_of(pattern: str, base: str) -> None:
    assert base_of(pattern) == base
