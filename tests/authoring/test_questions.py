"""Which code gives which question, and the near misses that give none."""

import textwrap

import pytest

from oraclepack.authoring.duplicate_code import duplicate_questions
from oraclepack.authoring.git_repository import Commit, GitRepository, StoredText, TrackedFile
from oraclepack.authoring.history_questions import history_questions, often_fixed
from oraclepack.authoring.question_candidate import QuestionCandidate, question_texts
from oraclepack.authoring.question_kinds import code_questions
from oraclepack.authoring.question_selection import QuestionLimits, select_questions
from oraclepack.authoring.read_repository import survey_repository
from oraclepack.authoring.repository_survey import RepositorySurvey, is_fix
from oraclepack.pack.model import CATEGORIES


def surveyed(files: dict[str, str], commits: tuple[Commit, ...] = ()) -> RepositorySurvey:
    texts = {path: textwrap.dedent(text).lstrip("\n") for path, text in sorted(files.items())}
    tracked = tuple(TrackedFile(path, len(text), StoredText(text)) for path, text in texts.items())
    return survey_repository(
        GitRepository(tracked, commits), limit=1_000_000, is_secret=lambda _: False
    )


def found(files: dict[str, str], key: str) -> list[QuestionCandidate]:
    survey = surveyed(files)
    every = [*code_questions(survey), *duplicate_questions(survey)]
    return [one for one in every if one.key == key]


DENSE = "def plan(order):\n" + "".join(
    f"    if order.field_{n} > {n}:\n        order.total += {n}\n        order.steps += 1\n"
    for n in range(9)
)
COPY = """
def {name}(value, log):
    if value is None:
        return None
    value = first_step_of_many(value)
    value = second_step_of_many(value)
    value = third_step_of_many(value)
    value = fourth_step_of_many(value)
    value = fifth_step_of_many(value)
    value = sixth_step_of_many(value)
    value = seventh_step_of_many(value)
{more}    log.info("the value is %s", value)
    return value
"""

EVIDENCE = [
    pytest.param(
        "exit-handlers",
        "a.py",
        """
        import signal


        def stop(number, frame):
            queue.flush()
            raise SystemExit(number)


        def install():
            signal.signal(signal.SIGTERM, stop)
        """,
        [4, 9, 10],
        id="a signal handler",
    ),
    pytest.param(
        "option-combinations",
        "a.py",
        """
        def save(path, text, mode, backup=False, force=False, dry=False):
            if backup and not path:
                return 1
            if force:
                return 2
            if dry:
                return 3
        """,
        [1, 2, 4, 6],
        id="many options",
    ),
    pytest.param(
        "round-trip",
        "a.py",
        """
        def encode_row(row):
            if not row:
                return b""
            if len(row) > 9:
                raise ValueError(row)
            return str(row).encode()


        def decode_row(data):
            if len(data) > 100:
                raise ValueError(data)
            if not data:
                return None
            return data
        """,
        [1, 2, 4, 9, 10, 11],
        id="a writer and its reader",
    ),
    pytest.param("dense-function", "a.py", DENSE, [1, 2, 8, 14, 20], id="many decisions"),
]


@pytest.mark.parametrize(("key", "path", "text", "lines"), EVIDENCE)
def test_evidence_gives_a_question(key: str, path: str, text: str, lines: list[int]) -> None:
    (question,) = found({path: text}, key)

    assert sorted(place.line for place in question.evidence) == lines
    assert question.reference == path


@pytest.mark.parametrize(
    ("key", "path", "text"),
    [
        pytest.param(
            "exit-handlers",
            "a.js",
            "function f(stop) {\n  process.on('message', stop);\n}\n",
            id="an event that ends nothing",
        ),
        pytest.param(
            "exit-handlers",
            "a.py",
            "def f():\n    signal.signal(signal.SIGINT, signal.SIG_IGN)\n",
            id="a signal that is ignored",
        ),
        pytest.param(
            "round-trip",
            "a.py",
            "def dump(x):\n    return json.dumps(x)\n\n\ndef load(x):\n    return json.loads(x)\n",
            id="nothing is decided",
        ),
        pytest.param(
            "round-trip",
            "a.py",
            "def write_all(x):\n    if x > 9:\n        raise A\n    if x:\n        b()\n\n\n"
            "def read_all(x):\n    if x > 9:\n        raise B\n    if x:\n        b()\n",
            id="what is only transferred",
        ),
        pytest.param(
            "exit-handlers",
            "a.py",
            "def install(number, stop):\n    signal.signal(number, stop)\n",
            id="a handler that is elsewhere",
        ),
        pytest.param(
            "option-combinations",
            "a.c",
            """
            int split(char *buf, int len, char sep, char *one, char *two, char *three) {
                if (buf == 0)
                    return 1;
                if (sep && len)
                    return 2;
                return one != two;
            }
            """,
            id="parameters that are no options",
        ),
        pytest.param(
            "dense-function",
            "a.py",
            "def find(key):\n"
            + "".join(f"    if key == {n}:\n        a = {n}\n        b = {n}\n" for n in range(9)),
            id="a table in the form of conditions",
        ),
        pytest.param(
            "dense-function", "a.py", "def f(a):\n    if a:\n        return 1\n", id="few decisions"
        ),
        pytest.param(
            "two-copies",
            "a.py",
            COPY.format(name="first", more="    value = limit(value, 10)\n")
            + COPY.format(name="second", more="    value = limit(value, 16)\n"),
            id="copies that differ line for line",
        ),
        pytest.param(
            "two-copies",
            "a.py",
            COPY.format(name="next_value", more="    if value < 0:\n        raise Before(value)\n")
            + COPY.format(name="prev_value", more="    value = value_before_it(value)\n"),
            id="functions that mirror each other",
        ),
        pytest.param(
            "two-copies",
            "a.py",
            COPY.format(name="first", more="    value = rounded(value, 2)\n    value += one_more\n")
            + COPY.format(name="second", more="    value = rounded(value, 4)\n"),
            id="no copy has a check that the other lacks",
        ),
        pytest.param(
            "dense-function",
            "a.py",
            DENSE.replace("def plan", "def main"),
            id="a function that reads options",
        ),
        pytest.param(
            "round-trip",
            "a.go",
            """
            package a

            func Encode(v T) ([]byte, error) {
                b, err := marshal(v)
                if err != nil {
                    return nil, err
                }
                return b, nil
            }

            func Decode(b []byte) (T, error) {
                v, err := unmarshal(b)
                if err != nil {
                    return v, err
                }
                return v, nil
            }
            """,
            id="errors that are handed on",
        ),
    ],
)
def test_a_near_miss_gives_none(key: str, path: str, text: str) -> None:
    assert found({path: text}, key) == []


def test_what_was_built_of_other_files_is_no_copy() -> None:
    code = "function f(a) {\n  if (a) { return fetch(a); }\n}\n"
    survey = surveyed({"lib/a/b.js": code, "src/a/b.ts": code, "lib/c.js": code})

    assert [file.path for file in survey.subjects] == ["lib/c.js", "src/a/b.ts"]


def test_copies_that_drifted_apart() -> None:
    texts = {
        "shop/a.py": COPY.format(name="first", more="    value = round_the_value(value, 2)\n"),
        "shop/b.py": COPY.format(
            name="second", more="    if value < 0:\n        raise ValueError(value)\n"
        ),
    }

    (question,) = found(texts, "two-copies")

    assert question.paths == ("shop/a.py", "shop/b.py")
    assert "first() and second() in shop/b.py share most of their lines" in question.question


def fixed(subjects: list[str]) -> tuple[RepositorySurvey, list[str]]:
    """A function of which each line after the first stems from another commit."""
    lines = [f"    if order.field_{n}:\n" for n in range(len(subjects))]
    code = "def check(order):\n" + "".join(
        f"{line}        order.done_{n} = 1\n" for n, line in enumerate(lines)
    )
    commits = tuple(Commit(f"{n:040}", subject, ("a.py",)) for n, subject in enumerate(subjects))
    blamed = ["f" * 40, *(sha for c in commits for sha in (c.sha, "f" * 40))]
    return surveyed({"a.py": code}, commits), blamed


def test_a_function_that_was_fixed_again_and_again() -> None:
    survey, blamed = fixed(["Fix empty orders", "Rename things", "Fix a crash of check"])

    assert often_fixed(survey) == ["a.py"]
    (question,) = history_questions(survey, {"a.py": blamed})
    assert [place.line for place in question.evidence] == [1, 2, 6]
    assert question.question.startswith("2 commits that say they fix something")
    assert question.facts == (
        f"fix {0:010}: Fix empty orders",
        f"fix {0:010}: Fix a crash of check",
    )


@pytest.mark.parametrize(
    ("subjects", "count"),
    [
        pytest.param(["Fix empty orders", "Rename things"], 0, id="one"),
        pytest.param(["Fix empty orders", "Fix full ones"], 0, id="two that name no function"),
        pytest.param(["Fix empty orders", "Fix full ones", "Fix the rest"], 1, id="three"),
    ],
)
def test_how_many_fixes_are_a_pattern(subjects: list[str], count: int) -> None:
    survey, blamed = fixed(subjects)

    assert len(list(history_questions(survey, {"a.py": blamed}))) == count


@pytest.mark.parametrize(
    ("subject", "answer"),
    [
        ("Fix rounding of refunds", True),
        ("Correct a regression in the reader", True),
        ("Fix typo", False),
        ("Fix lint", False),
        ("Add a prefix", False),
    ],
)
def test_what_says_that_it_fixes_something(subject: str, *, answer: bool) -> None:
    assert is_fix(Commit("0" * 40, subject, ("a.py",))) is answer


def test_the_texts_are_complete() -> None:
    texts = question_texts()

    assert len(texts) == 8
    for text in texts.values():
        assert text.category in CATEGORIES
        assert text.question.endswith("?")
        assert not text.good.endswith(".")


PAIR = """
def encode(x):
    if x > 9:
        raise TooLarge(x)
    if not x:
        return ""
    return str(x)


def decode(text):
    if text == "-":
        raise Empty(text)
    if not text:
        return 0
    return int(text)
"""


def test_two_questions_never_quote_the_same_line() -> None:
    pairs = {place: [PAIR.replace("code", f"code_{place}{n}") for n in range(9)] for place in "ab"}
    survey = surveyed({f"{place}.py": "\n\n".join(code) for place, code in pairs.items()})

    selected = select_questions(survey, code_questions(survey), QuestionLimits())

    lines = [place for one in selected for place in one.candidate.evidence]
    assert len(lines) == len({*lines})
    per_file = [one.candidate.reference for one in selected]
    assert max(per_file.count(path) for path in ("a.py", "b.py")) <= 2


def test_a_pair_of_names_is_asked_about_once() -> None:
    survey = surveyed({"a.py": PAIR, "b.py": PAIR})
    candidates = [one for one in code_questions(survey) if one.key == "round-trip"]

    assert len(candidates) == 2
    assert len(select_questions(survey, candidates, QuestionLimits())) == 1


def test_what_is_worth_little_is_not_asked() -> None:
    files = {
        f"m{n}.py": DENSE.replace("plan", f"plan_{n}") + f"\nimport m{(n + 1) % 5}\n"
        for n in range(5)
    }
    survey = surveyed(files)
    dense = [one for one in code_questions(survey) if one.key == "dense-function"]

    selected = select_questions(survey, dense, QuestionLimits())

    assert len(dense) == 4
    assert len(selected) == 2


def test_the_attached_test_is_one_that_mentions_the_function() -> None:
    files = {
        "shop/stock.py": PAIR,
        "shop/__init__.py": "",
        "tests/other/test_stock.py": "from warehouse import stock\n\n\ndef test_x(): stock.y()\n",
        "tests/test_prices.py": "from shop.stock import encode\n\n\ndef test_a(): encode()\n",
        "tests/test_import.py": "import shop.stock\n",
    }
    survey = surveyed(files)

    (selected,) = select_questions(survey, code_questions(survey), QuestionLimits())

    assert selected.attachments == ("shop/stock.py", "tests/test_prices.py")
