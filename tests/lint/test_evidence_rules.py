"""Quoted evidence against a real repository, by `validate`."""

from pathlib import Path

import pytest

from oraclepack.lint.engine import lint
from oraclepack.lint.external_checks import facts_for
from oraclepack.lint.finding import Severity
from oraclepack.lint.rule import Subject
from oraclepack.pack.parse.read_pack import parse_pack
from tests.authoring.repositories import a_repository, git, write
from tests.lint.judging import only
from tests.packs import pack_text

LONG = "total = " + " + ".join(f"part_{n}" for n in range(60))
STOCK = f"def reserve(article):\n    take(article)\n    {LONG}\n"


def step(evidence: str, *, number: int = 1, files: str = "-f stock.py") -> str:
    return (
        f"# {number:02}) stock\nIFS= read -r -d '' prompt <<'PROMPT' || true\n"
        f"Which order loses stock in case {number}?\n\n{evidence}\n\nAnswer briefly.\nPROMPT\n"
        f'oracle {files} -p "$prompt" --write-output {number}.md\n'
    )


def complaints(root: Path, bash: str) -> list[tuple[str, str]]:
    pack = parse_pack(pack_text(bash), "pack.md")
    found = lint(Subject(pack, facts_for(pack, root)), only("OP311", "OP312", "OP313"), strict=True)
    assert all(one.severity is Severity.ERROR for one in found)
    return [(one.rule, one.message) for one in found]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "r", {"stock.py": STOCK, ".env": "TOKEN=1\n"})


@pytest.mark.parametrize(
    ("quote", "expected"),
    [
        pytest.param("- stock.py:1  def reserve(article):", [], id="as it is"),
        pytest.param("- stock.py:2      take(article)", [], id="blanks do not count"),
        pytest.param(f"- stock.py:3  {LONG[:100]} …", [], id="cut"),
        pytest.param("- `stock.py:1`  def reserve(article):", [], id="between backquotes"),
        pytest.param(
            "- stock.py:2  drop(article)",
            [("OP311", "stock.py:2{at} says something else: take(article)")],
            id="an invented line",
        ),
        pytest.param(
            "- stock.py:9  take(article)", [("OP311", "stock.py has no line 9{at}")], id="too far"
        ),
        pytest.param(
            "- stock.py:1  def reserve(article, count):",
            [("OP311", "stock.py:1{at} says something else: def reserve(article):")],
            id="more than the line",
        ),
        pytest.param(
            "- gone.py:1  x = 1",
            [
                ("OP311", "gone.py has no line 1{at}"),
                ("OP312", "step 01 quotes gone.py and does not attach it"),
            ],
            id="an invented file",
        ),
        pytest.param(
            "- .env:1  TOKEN=2",
            [("OP312", "step 01 quotes .env and does not attach it")],
            id="a secret is not read",
        ),
        pytest.param(
            "- ../elsewhere.py:1  x = 1",
            [
                ("OP311", "../elsewhere.py has no line 1{at}"),
                ("OP312", "step 01 quotes ../elsewhere.py and does not attach it"),
            ],
            id="outside",
        ),
    ],
)
@pytest.mark.parametrize("named", [False, True], ids=["work tree", "commit"])
def test_lines_are_compared(
    root: Path, quote: str, expected: list[tuple[str, str]], *, named: bool
) -> None:
    sha = git(root, "rev-parse", "--short=12", "HEAD").strip()
    at = f" at commit {sha}" if named else ""
    if named:
        write(root, {"stock.py": "changed\n"})

    found = complaints(root, step(f"Evidence (path:line and the line{at}):\n{quote}"))

    assert found == [(rule, message.format(at=at)) for rule, message in expected]


def test_an_unknown_commit_is_no_way_around(root: Path) -> None:
    heading = "Evidence (at commit 0123456789ab):"

    assert complaints(root, step(f"{heading}\n- stock.py:1  def reserve(article):")) == []
    assert complaints(root, step(f"{heading}\n- stock.py:1  def drop():"))


@pytest.mark.parametrize(
    "files",
    [
        pytest.param("-f stock.py -f more.py", id="attached"),
        pytest.param('-f "*.py"', id="by pattern"),
        pytest.param('"${files[@]}"', id="by variable"),
    ],
)
def test_quoted_files_are_attached(root: Path, files: str) -> None:
    write(root, {"more.py": "x = 1\n"})
    quotes = "Evidence:\n- stock.py:1  def reserve(article):\n- more.py:1  x = 1"

    assert complaints(root, step(quotes, files=files)) == []


def test_removed_evidence_is_missed(root: Path) -> None:
    good = "Evidence (path:line):\n- stock.py:1  def reserve(article):"
    steps = [step(good, number=n) for n in (1, 2)] + [step("", number=3)]

    assert complaints(root, "\n".join(steps)) == [
        ("OP313", "step 03 quotes no evidence, as most of the others do")
    ]
    assert complaints(root, step("Evidence (path:line):\nsee the file")) == [
        ("OP313", "step 01 announces evidence and quotes none")
    ]
    assert complaints(root, step("Evidence is everything.")) == []


def test_outside_of_git_the_work_tree_is_compared(tmp_path: Path) -> None:
    write(tmp_path, {"stock.py": STOCK})
    heading = "Evidence (at commit 0123456789ab):"

    assert complaints(tmp_path, step(f"{heading}\n- stock.py:1  def reserve(article):")) == []
    assert complaints(tmp_path, step(f"{heading}\n- stock.py:2  def reserve(article):"))
