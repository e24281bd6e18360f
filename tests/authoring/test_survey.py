"""What `survey` tells of a repository."""

from pathlib import Path

import pytest

from oraclepack.authoring.survey import SECTIONS, SurveyReport, brief, survey
from oraclepack.tools.usage import text_tokens
from tests.authoring.fixture_repositories import build, commit, repository
from tests.authoring.repositories import write


def told(root: Path, **options: object) -> SurveyReport:
    return survey(root, **options)[0]  # type: ignore[arg-type]


def of_kind(report: SurveyReport, kind: str) -> list[tuple[str, int]]:
    return [(fact.path, fact.line) for fact in report.facts if fact.kind == kind]


@pytest.mark.parametrize("kind", ["library", "service", "cli", "monorepo", "documents"])
def test_every_fact_quotes_its_line(tmp_path: Path, kind: str) -> None:
    root = build(kind, tmp_path / "r")

    report = told(root)

    assert report.facts
    for fact in report.facts:
        lines = (root / fact.path).read_text(encoding="utf-8").split("\n")
        assert " ".join(lines[fact.line - 1].split()).startswith(fact.text.removesuffix(" …"))
        assert f"    {fact.path}:{fact.line}  {fact.text}\n" in brief(report)


def test_the_same_commit_gives_the_same_bytes(tmp_path: Path) -> None:
    one = told(build("service", tmp_path / "a"))
    other = told(build("service", tmp_path / "b"))

    assert one == other


def test_what_a_library_shows(tmp_path: Path) -> None:
    report = told(build("library", tmp_path / "r"))

    kinds = {fact.kind for fact in report.facts}
    assert {"promise", "wait", "central", "public", "test"} <= kinds <= {*SECTIONS}
    assert report.languages == {"Python": 8}
    tests = [fact for fact in report.facts if fact.kind == "test"]
    assert all(fact.path.startswith("tests/") for fact in tests)
    assert "tests ledger/money.py" in {fact.note for fact in tests}


def test_functions_that_were_fixed_come_with_the_subjects(tmp_path: Path) -> None:
    report = told(build("service", tmp_path / "r"))

    fixed = next(fact for fact in report.facts if fact.kind == "fixed-again")
    assert (fixed.path, fixed.text.startswith("def ")) == ("parcels/tracking.py", True)
    assert "Fix a wrong status after a hold; fix" in fixed.note


def test_documents_alone_have_their_promises(tmp_path: Path) -> None:
    text = (
        "# Words\n\nThis tool never loses a line.\n\n## Limits\n\n- [a](b)\n\n"
        "Lines are cut at 4 kB.\nThe reader must skip them.\n\n"
        "````\n```\n# no heading\nnever\n````\n"
    )
    root = repository(tmp_path / "r", {"README.md": text, "snippet.py": "x = 1\n"})

    report = told(root)

    promises = [fact for fact in report.facts if fact.kind == "promise"]
    assert [(fact.line, fact.note) for fact in promises] == [
        (3, "Words"),
        (9, "Limits"),
        (10, "Limits"),
    ]


def test_changes_come_with_their_subjects_and_lines(tmp_path: Path) -> None:
    root = build("library", tmp_path / "r")
    path = "ledger/rates.py"
    text = (root / path).read_text(encoding="utf-8")
    commit(root, {path: text + "\n\ndef fresh():\n    return 1\n"}, "Add a fresh rate")

    report = told(root, since="HEAD~1")

    assert report.commits == ("Add a fresh rate",)
    (fact,) = [fact for fact in report.facts if fact.kind == "change"]
    assert fact.path == path
    assert "+def fresh(): ⏎ + return 1" in fact.note
    assert "## Commits since HEAD~1\n\n    Add a fresh rate\n" in brief(report)


def test_tickets_are_named(tmp_path: Path) -> None:
    root = build("cli", tmp_path / "r")
    write(root, {".tickets/T-1.md": "\n# Keep more\n"})

    assert of_kind(told(root), "ticket") == [(".tickets/T-1.md", 2)]


def test_only_a_part_of_the_repository(tmp_path: Path) -> None:
    report = told(build("monorepo", tmp_path / "r"), focus=("web",), exclude=("web/src/page.ts",))

    assert {fact.path.split("/")[0] for fact in report.facts} == {"web"}
    assert "web/src/page.ts" not in {fact.path for fact in report.facts}


@pytest.mark.parametrize("limit", [600, 900, 100_000])
def test_the_brief_keeps_within_its_limit(tmp_path: Path, limit: int) -> None:
    report = told(build("library", tmp_path / "r"), max_tokens=limit)

    assert text_tokens(brief(report)) <= limit
    assert bool(report.left_out) == (limit < 100_000)
    assert {"promise", "central"} <= {fact.kind for fact in report.facts}


def test_text_of_the_repository_stays_in_its_code_block(tmp_path: Path) -> None:
    code = "def a(x):\n    return fetch(x)\n"
    files: dict[str, str | bytes] = {
        "README.md": "# T\n\nA tool \x1b[31m`x`\x07 never fails, <b>always</b>.\n",
        "a.py": code,
    }

    text = brief(told(repository(tmp_path / "r", files)))

    assert "\x1b" not in text
    assert "    README.md:3  A tool [31m`x` never fails, <b>always</b>.\n" in text
