from collections.abc import Mapping

import pytest

from oraclepack.authoring.choose import ChosenQuestion, choose
from oraclepack.authoring.question_catalogue import QUESTIONS
from oraclepack.authoring.repository import RepositorySnapshot, TrackedFile
from oraclepack.authoring.score import Score, score
from oraclepack.authoring.survey import Survey, survey
from oraclepack.authoring.wording import attached, facts, question_text
from oraclepack.pack.model import CATEGORIES

LOG = "logger.info(1)\n"


def a_survey(texts: Mapping[str, str], *commits: tuple[str, ...]) -> Survey:
    files = tuple(
        TrackedFile(path, max(len(text), 1), text) for path, text in sorted(texts.items())
    )
    return survey(
        RepositorySnapshot(files, commits), limit=1_048_576, is_secret=lambda p: "secret" in p
    )


def chosen(found: Survey, key: str, **options: int | tuple[str, ...]) -> ChosenQuestion:
    choices = choose(found, **options)  # type: ignore[arg-type]
    return next(choice for choice in choices if choice.question.key == key)


def test_there_are_two_questions_for_each_category() -> None:
    assert sorted(question.category for question in QUESTIONS) == sorted(CATEGORIES * 2)
    assert len({question.key for question in QUESTIONS}) == 20


@pytest.mark.parametrize(
    ("texts", "commits", "reference"),
    [
        pytest.param(
            {"a.py": LOG, "b.py": LOG * 2},
            (),
            "b.py",
            id="more finds",
        ),
        pytest.param(
            {"a.py": LOG, "b.py": LOG},
            (),
            "a.py",
            id="the first of equals",
        ),
        pytest.param(
            {"a.py": LOG, "b.py": LOG},
            (("b.py",), ("b.py",)),
            "b.py",
            id="changed more often",
        ),
        pytest.param(
            {"a.py": LOG, "b.py": LOG, "c.py": "import b\n"},
            (),
            "b.py",
            id="imported by others",
        ),
        pytest.param(
            {"a.py": LOG, "main.py": LOG},
            (),
            "main.py",
            id="an entry",
        ),
        pytest.param({"tests/test_a.py": LOG}, (), None, id="never a test"),
        pytest.param({"secret.py": LOG}, (), None, id="never a secret"),
        pytest.param({"notes.md": LOG}, (), None, id="never prose"),
    ],
)
def test_the_reference_of_a_question(
    texts: dict[str, str], commits: tuple[tuple[str, ...], ...], reference: str | None
) -> None:
    choice = chosen(a_survey(texts, *commits), "observability-logs")

    assert (choice.reference.path if choice.reference else None) == reference


def test_eight_plain_files_give_eight_references() -> None:
    found = a_survey({f"m{n}.py": f"def f{n}():\n    return {n}\n" for n in range(8)})

    references = {choice.reference.path for choice in choose(found) if choice.reference}

    assert len(references) == 8


def test_one_strong_file_is_taken_twice_before_a_weak_one() -> None:
    log = LOG * 20
    found = a_survey({"a.py": log + "Counter('x')\n" * 20, "b.py": "Counter('y')\n"})

    assert {c.reference.path for c in choose(found) if c.reference and c.trait} >= {"a.py"}
    both = [chosen(found, key).reference for key in ("observability-logs", "observability-signals")]
    assert [source.path for source in both if source] == ["a.py", "a.py"]


@pytest.mark.parametrize(
    ("texts", "commits", "neighbours"),
    [
        pytest.param(
            {"a.py": "import b\nlogger.info(1)\n", "b.py": ""},
            (),
            [("b.py", "imported by the reference")],
            id="an import",
        ),
        pytest.param(
            {"a.py": LOG, "c.py": "import a\n"},
            (),
            [("c.py", "imports the reference")],
            id="an importer",
        ),
        pytest.param(
            {"a.py": LOG, "tests/test_a.py": "import a\n"},
            (),
            [("tests/test_a.py", "imports the reference")],
            id="its test",
        ),
        pytest.param(
            {"a.py": LOG, "z.py": "x = 1\n"},
            (("a.py", "z.py"),) * 3,
            [("z.py", "changed together with it in 3 commits")],
            id="company in commits",
        ),
        pytest.param(
            {"a.py": LOG, "z.py": "x = 1\n"},
            (("a.py", "z.py"),),
            [],
            id="once is chance",
        ),
    ],
)
def test_neighbours(
    texts: dict[str, str],
    commits: tuple[tuple[str, ...], ...],
    neighbours: list[tuple[str, str]],
) -> None:
    choice = chosen(a_survey(texts, *commits), "observability-logs")

    assert [(one.path, one.because) for one in choice.neighbours] == neighbours


def test_neighbours_stay_within_two_files_on_average_and_within_the_room() -> None:
    texts = {f"m{n}.py": "".join(f"import m{k}\n" for k in range(30)) for n in range(30)}
    found = a_survey(texts)

    files = [len(choice.attached) for choice in choose(found) if choice.reference]
    alone = [len(choice.attached) for choice in choose(found, room=1) if choice.reference]

    assert max(files) <= 3
    assert sum(files) <= 2 * len(files)
    assert set(alone) == {1}


def test_scores_follow_the_formula_and_the_facts() -> None:
    strong = a_survey({"a.py": LOG * 9, "b.py": "import a\n"}, *[("a.py",)] * 9)
    weak = a_survey({"a.py": LOG})

    high = score(strong, chosen(strong, "observability-logs"))
    low = score(weak, chosen(weak, "observability-logs"))
    unknown = score(weak, chosen(weak, "jobs-timing"))

    assert high == Score(impact=8, confidence=90, effort=1)
    assert (high.roi, high.horizon) == (720, "Immediate")
    assert low.roi < high.roi
    assert unknown.header == "ROI=0.90 impact=3 confidence=0.30 effort=1 horizon=NearTerm"


def test_big_files_cost_effort() -> None:
    found = a_survey({"a.py": LOG + "x = 1\n" * 9_000})

    assert score(found, chosen(found, "observability-logs")).effort == 3


def test_the_words_name_what_was_found() -> None:
    texts = {
        "a.py": "@app.get('/x')\n",
        "b.py": "@app.get('/y')\n@app.get('/z')\n",
        "go.mod": "module x/shop\n",
    }
    found = a_survey(texts, ("b.py",))
    choice = chosen(found, "contracts-surface")

    assert question_text(found, choice).startswith(
        "b.py offers 2 routes (/y, /z) to the outside of shop, of 3 in all."
    )
    assert "b.py: 2 lines, changed in 1 commit, imported by 0 files" in facts(found, choice)
    assert "no test file carries its name" in facts(found, choice)
    assert attached(choice)[0] == "b.py: the reference"


def test_a_file_without_names_can_stand_in() -> None:
    found = a_survey({"a.py": "x = 1\n"})

    assert "no public names of its own" in question_text(found, chosen(found, "contracts-surface"))


def test_focus_leaves_other_files_out() -> None:
    found = a_survey({"a/x.py": LOG * 5, "b/y.py": LOG})

    choice = chosen(found, "observability-logs", focus=("b",))

    assert choice.reference is not None
    assert choice.reference.path == "b/y.py"


@pytest.mark.parametrize(
    ("texts", "name"),
    [
        ({"pyproject.toml": '[project]\nname = "shop"\n'}, "shop"),
        ({"package.json": '{"name": "@acme/shop"}'}, "shop"),
        ({"README.md": "text\n# The *Shop* of ours\n"}, "The Shop of ours"),
        ({"x.py": "1\n"}, "this repository"),
    ],
)
def test_a_project_is_called_what_it_calls_itself(texts: dict[str, str], name: str) -> None:
    assert a_survey(texts).name == name


def test_a_migration_is_one_by_its_folder() -> None:
    found = a_survey({"db/migrations/0001.py": "x = 1\n", "db/migrations/__init__.py": "\n"})

    choice = chosen(found, "migrations-safety")

    assert choice.reference is not None
    assert choice.reference.path == "db/migrations/0001.py"
