"""OP3xx: what counts as a fault of a question, and what does not."""

import pytest

from oraclepack.lint.engine import lint
from oraclepack.lint.finding import Facts
from oraclepack.lint.rule import Subject
from oraclepack.pack.model import CATEGORIES
from oraclepack.pack.parse.read_pack import parse_pack
from tests.lint.judging import findings, only
from tests.packs import COVERAGE, a_strict_pack, header, some_steps, strict_text, twenty_steps


def test_a_strict_pack_has_no_finding() -> None:
    assert lint(Subject(a_strict_pack(), Facts()), only("OP3"), strict=True) == ()


def a_header(**changes: str) -> str:
    fields = {
        "ROI": "4.8",
        "impact": "6",
        "confidence": "0.80",
        "effort": "1",
        "horizon": "Immediate",
        "category": "invariants",
        "reference": "src/a.py",
    } | changes
    said = " ".join(f"{name}={value}" for name, value in fields.items() if value)
    return f"# 01) {said}\noracle -p 'Why?' --write-output a.md\n"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, [], id="complete"),
        pytest.param({"horizon": ""}, ["OP301"], id="one field missing"),
        pytest.param({"ROI": "..."}, ["OP302"], id="dots are no number"),
        pytest.param({"ROI": "TBD", "effort": "low"}, ["OP302"], id="one finding for a header"),
        pytest.param({"impact": "nan"}, ["OP302"], id="not a number, literally"),
        pytest.param({"impact": "1_0"}, ["OP302"], id="an underscore is no digit"),
        pytest.param({"effort": "٣"}, ["OP302"], id="a digit of another script"),
        pytest.param({"category": "Invariants"}, ["OP303"], id="other capitals"),
        pytest.param({"category": "background jobs"}, [], id="a category of two words"),
        pytest.param({"ROI": "4.80"}, [], id="more decimals"),
        pytest.param({"ROI": "5"}, [], id="rounded to a whole number"),
        pytest.param({"ROI": "4"}, [], id="cut to a whole number"),
        pytest.param({"ROI": "5.1", "impact": "7", "confidence": "0.74"}, [], id="cut decimals"),
        pytest.param({"ROI": "5.2", "impact": "7", "confidence": "0.74"}, [], id="rounded"),
        pytest.param({"ROI": "5.0", "impact": "7", "confidence": "0.74"}, ["OP305"], id="neither"),
        pytest.param({"ROI": "1.63", "effort": "3", "confidence": "0.8"}, [], id="rounded parts"),
        pytest.param({"ROI": "3.2", "effort": "1.5"}, [], id="effort with decimals"),
        pytest.param({"ROI": "5.4"}, ["OP305"], id="too high"),
        pytest.param({"ROI": "2.4"}, ["OP305"], id="half of it"),
        pytest.param({"effort": "0"}, ["OP305"], id="no effort at all"),
        pytest.param({"ROI": "-1", "impact": "-1", "confidence": "1"}, [], id="below zero"),
    ],
)
def test_headers(changes: dict[str, str], expected: list[str]) -> None:
    found = findings(
        a_header(**changes),
        only("OP30"),
        strict=True,
    )

    assert [one.rule for one in found] == expected


def test_missing_fields_are_named_at_the_header() -> None:
    bash = "# 01) ROI=1 impact=1 confidence=1 effort=1\ntrue"

    (found,) = findings(bash, only("OP301"), strict=True)

    assert (found.span.line, found.step_id) == (4, "01")
    assert found.message == "the header of step 01 lacks horizon, category, reference"


def test_the_nearest_category_is_offered() -> None:
    (found,) = findings(a_header(category="ux flow"), only("OP303"))

    assert found.hint == "did you mean UX flows?"


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param([(4, 1), (3, 1), (2, 1)], [], id="falling"),
        pytest.param([(3, 1), (4, 1), (2, 1)], ["02"], id="one too late"),
        pytest.param([(3, 1), (3, 2)], [], id="a tie by effort"),
        pytest.param([(3, 2), (3, 1)], ["02"], id="a tie in the wrong order"),
    ],
)
def test_roi_order(scores: list[tuple[int, int]], expected: list[str]) -> None:
    steps = "".join(
        f"# {n:02}) ROI={roi} effort={effort}\ntrue\n" for n, (roi, effort) in enumerate(scores, 1)
    )

    assert [found.step_id for found in findings(steps, only("OP304"))] == expected


SHARED = "You are a careful reviewer.\nAnswer format: bullets\n"
LONG = "List every place where an order can be paid twice, name the guard and cite its test."


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        pytest.param(["Why is it slow?", "How is it tested?"], [], id="two questions"),
        pytest.param([LONG, LONG], ["02"], id="word for word"),
        pytest.param([LONG, LONG.upper()], ["02"], id="in capitals"),
        pytest.param([LONG, LONG.replace("List", "Please list")], ["02"], id="one word more"),
        pytest.param([LONG, LONG.replace("order", "invoice and refund")], [], id="other things"),
        pytest.param(
            [
                "Which callers break if the order changes?",
                "Which callers break if the user changes?",
            ],
            [],
            id="in a short question one word decides",
        ),
        pytest.param(
            [f"{LONG} See src/a.py.", f"{LONG} See src/b.py."], [], id="about another file"
        ),
        pytest.param(
            [f"{LONG}\nReference: src/a.py", f"{LONG}\nReference: src/b.py"],
            ["02"],
            id="a repeated header line is not the question",
        ),
        pytest.param(
            [f"Question #{n}\n{SHARED}{text}" for n, text in enumerate([LONG, "Why slow?", LONG])],
            ["03"],
            id="shared lines do not count, numbers neither",
        ),
        pytest.param(
            [
                f"Read v{n} first.\n{text}"
                for n, text in ((9, LONG), (10, "Why slow?"), (100, "How often?"), (2000, LONG))
            ],
            ["04"],
            id="numbers of other lengths in a shared line",
        ),
        pytest.param(
            [f"{SHARED}Why is {name} slow?" for name in ("search", "login", "billing", "upload")],
            [],
            id="long shared text does not make them alike",
        ),
        pytest.param([SHARED] * 3, ["02", "03"], id="nothing of their own, and all the same"),
        pytest.param([f"{LONG} $x", f"{LONG} $x"], [], id="what the shell adds is unknown"),
    ],
)
def test_duplicates(prompts: list[str], expected: list[str]) -> None:
    bodies = [f'oracle -p "{text}" --write-output {n}.md' for n, text in enumerate(prompts)]

    found = findings(some_steps(bodies), only("OP306"))

    assert [each.step_id for each in found] == expected


def test_the_same_words_about_other_files_are_the_same_question() -> None:
    bodies = [
        f"oracle -p 'Is it good?\n- {name}.py:1  x = 1' -f {name}.py --write-output {name}.md"
        for name in "abc"
    ]

    assert [one.step_id for one in findings(some_steps(bodies), only("OP306"))] == ["02", "03"]


def test_chunks_of_a_step_are_not_duplicates() -> None:
    sections = ("direct-answer", "risks-unknowns", "next-experiment", "missing-evidence")
    calls = "\n".join(f"oracle -p '{LONG}' --write-output a-{name}.md" for name in sections)

    assert not findings(calls, only("OP3"))


def test_ninety_nine_steps_are_compared() -> None:
    bodies = [f"oracle -p '{LONG} {'x' * n}' --write-output {n}.md" for n in range(99)]

    assert findings(some_steps(bodies), only("OP306"))


def coverage(**changes: str) -> str:
    lines = dict.fromkeys(CATEGORIES, "OK") | {
        category.replace("_", " "): verdict for category, verdict in changes.items()
    }
    listed = "".join(f"- {name}: {verdict}\n" for name, verdict in lines.items() if verdict)
    return f"\n## Coverage check\n{listed}"


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        pytest.param("", [], id="no section is fine"),
        pytest.param(coverage(), [], id="all ten are covered"),
        pytest.param(coverage().replace("OK", "**OK** (two steps)"), [], id="with ornaments"),
        pytest.param(coverage().replace("UX flows", "`ux flows`"), [], id="other capitals"),
        pytest.param(coverage(migrations=""), ["leaves out migrations"], id="one left out"),
        pytest.param(coverage(magic="OK"), ["unknown category: magic"], id="one too many"),
        pytest.param(coverage() + "- invariants: OK\n", ["invariants twice"], id="twice"),
        pytest.param(coverage(invariants="yes"), ["neither OK nor Missing"], id="another word"),
        pytest.param(
            coverage(invariants="OK or Missing(<step ids>)"), ["neither"], id="the template's words"
        ),
        pytest.param(coverage(invariants="Missing(02)"), ["step 02 asks"], id="not missing"),
        pytest.param(coverage(invariants="Missing"), ["step 02 asks"], id="missing, no ids"),
        pytest.param(coverage(invariants="Missing(05)"), [], id="another step was to ask"),
        pytest.param("\n## Coverage check\n", ["leaves out contracts/interfaces"], id="empty"),
    ],
)
def test_coverage(section: str, expected: list[str]) -> None:
    text = strict_text(coverage=section)

    found = lint(Subject(parse_pack(text, "p.md"), Facts()), only("OP307"))

    assert len(found) == len(expected)
    assert all(words in each.message for words, each in zip(expected, found, strict=True))


def test_ok_without_a_step_is_wrong() -> None:
    steps = twenty_steps(lambda _, text: text.replace("category=invariants", "category=migrations"))

    found = lint(Subject(parse_pack(strict_text(steps, COVERAGE), "p.md"), Facts()), only("OP307"))

    assert [each.message for each in found] == [
        "the coverage check says invariants is OK, but no step has that category"
    ]


def test_ok_is_believed_when_a_step_has_no_category() -> None:
    steps = twenty_steps(lambda _, text: text.replace("category=invariants ", ""))

    found = lint(Subject(parse_pack(strict_text(steps, COVERAGE), "p.md"), Facts()), only("OP307"))

    assert found == ()


def test_questions_in_a_step() -> None:
    two = "oracle -p a --write-output a.md\noracle -p b --write-output b.md"

    found = findings(some_steps(["true", two, "oracle -p c"]), only("OP308", "OP31"), strict=True)

    assert [(each.rule, each.step_id, each.message) for each in found] == [
        ("OP310", "01", "no oracle question in 01"),
        ("OP308", "02", "step 02 asks 2 questions"),
    ]


@pytest.mark.parametrize(
    ("meta", "expected"),
    [
        pytest.param("Category: invariants\nReference: src/shop/api.py", [], id="agrees"),
        pytest.param("Category: migrations", [6], id="another category"),
        pytest.param("QuestionId: 1\nReference: src/b.py", [7], id="another reference"),
        pytest.param("Reference: ./src/shop/api.py", [], id="the same path"),
        pytest.param("Category:", [], id="nothing said"),
    ],
)
def test_metadata(meta: str, expected: list[int]) -> None:
    step = header(2).replace("02)", "01)")
    bash = (
        f"{step}\noracle --write-output a.md -p '[oraclepack-meta]\n{meta}\n[/oraclepack-meta]'\n"
    )

    assert [found.span.line for found in findings(bash, only("OP309"))] == expected
