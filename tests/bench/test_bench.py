"""The bench runs, and its page holds every goal; what a goal misses is explained."""

import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from bench.page import (
    MONEY,
    NOTES,
    fragments,
    number,
    page,
    renew_fragments,
    short_money,
    verdict,
)
from bench.process import Usage, spent
from bench.scene import Contender, Place, measured
from bench.table import Row, ratio

from bench import flaky_oracle, makespan, money, money_runners, scale

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "performance.md"

GOALS = [
    ("start of `--version`", "`python -c pass`", "≤ 1.5"),
    ("start of root `--help`", "`python -c pass`", "≤ 1.5"),
    ("any other command that runs nothing", "`python -c pass`", "≤ 10"),
    ("`validate` of a 4,287-line, 80-call pack", "one `bash -n` of its block", "≤ 50"),
    ("fixed cost of `run` (1 no-op step)", "`python -c pass`", "≤ 14"),
    ("each further no-op step, one at a time", "`bash -lc true`", "≤ 1.7"),
    ("20 no-op steps, four at a time", "`xargs -P4`", "≤ 5"),
    ("20 × 0.5 s, four at a time", "ideal 2.5 s", "≤ 1.12"),
    ("80 calls of log-normal length", "the same order without any overhead: 7.8 s", "≤ 1.03"),
    ("a step printing 1 GB", "plain redirect", "≤ 1.2"),
    ("a step printing 1 GB: memory", "nothing", "≤ 60 MB"),
    ("one intercepted call", "calling the tool directly", "≤ 60 ms"),
    ("one call answered from the cache", "`oracle --version`", "≤ 0.15"),
    ("resume of a finished run", "`python -c pass`", "≤ 10"),
    ("actionize of 2,000 answers", "100 × that of 20", "≤ 1.2"),
]
"""What the program promises to cost, said a second time: a goal is not moved by the way."""


def goals() -> list[list[str]]:
    """The lines of the page's table of goals: what, against, goal, ours, verdict, rivals, noise."""
    part = PAGE.read_text(encoding="utf-8").split("## Goals\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize(("what", "against", "goal"), GOALS, ids=str)
def test_every_goal_stands_on_the_page(what: str, against: str, goal: str) -> None:
    found = [line[1:3] for line in goals() if line[0].startswith(what)]

    assert found
    assert [against, goal] in found


def test_a_missed_goal_is_explained() -> None:
    notes = NOTES.read_text(encoding="utf-8")
    explanations = re.findall(r"^\*\*(.+?)\.\*\*", notes, re.MULTILINE)

    missed = [line[0] for line in goals() if "missed" in line[4]]
    assert [
        what for what in missed if not any(what.startswith(start) for start in explanations)
    ] == []


def test_the_page_names_the_rivals_and_keeps_the_notes() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert NOTES.read_text(encoding="utf-8").strip() in text
    for rival in ("bash", "xargs", "make", "parallel", "just", "doit", "snakemake"):
        assert rival in text


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        pytest.param(
            ["bench", "--quick", "--only", "output", "--only", "resume"],
            "a step printing 1 GB",
            id="a quick look at two topics",
            marks=pytest.mark.slow,
        ),
        pytest.param(["bench.cpu", "validate", "bash", "--rounds", "1"], "bash -n", id="cpu"),
        pytest.param(["bench.imports", "schema", "--runs", "1"], "msgspec", id="imports"),
    ],
)
def test_the_programs_run(argv: list[str], shown: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *argv], cwd=ROOT, capture_output=True, check=False, timeout=120
    )

    assert (done.returncode, done.stderr.decode().count("Traceback")) == (0, 0)
    assert shown in done.stdout.decode()


def test_a_part_of_the_figures_never_replaces_the_page() -> None:
    argv = [sys.executable, "-m", "bench", "--only", "start", "--write", "page.md"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, check=False)

    assert done.returncode == 2
    assert "all the figures or none" in done.stderr.decode()
    assert not (ROOT / "page.md").exists()


def usage(seconds: float) -> Usage:
    return Usage(seconds, seconds, 0.0, 1.0)


def test_ratios_are_taken_within_a_round() -> None:
    base = {1: usage(1.0), 2: usage(10.0), 3: usage(2.0)}
    slow = {1: usage(2.0), 2: usage(20.0)}

    assert ratio({"base": base, "slow": slow}, "slow", "base") == 2.0


def test_each_contender_takes_a_turn_in_each_round(tmp_path: Path) -> None:
    place = Place(tmp_path, {"PATH": "/usr/bin:/bin"})
    order: list[str] = []
    contenders = [
        Contender(name, ["true"], before=partial(order.append, name), every=every)
        for name, every in (("a", 1), ("b", 1), ("seldom", 2))
    ]

    times = measured(contenders, 3, place)

    assert {name: sorted(used) for name, used in times.items()} == {
        "a": [1, 2, 3],
        "b": [1, 2, 3],
        "seldom": [1, 3],
    }
    assert order == ["a", "b", "seldom", "b", "seldom", "a", "a", "b", "a", "b", "seldom"]


def test_a_contender_that_fails_is_no_figure() -> None:
    with pytest.raises(RuntimeError, match=r"ended with 3: told"):
        spent(["bash", "-c", "echo told >&2; exit 3"], {"PATH": "/usr/bin:/bin"})


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param(Row("x", "y", 1.2, goal=1.2), "met", id="as much as the goal allows"),
        pytest.param(Row("x", "y", 1.21, goal=1.2), "**missed**", id="more than it allows"),
    ],
)
def test_verdict(row: Row, expected: str) -> None:
    assert verdict(row) == expected


def test_a_page_names_who_is_missing() -> None:
    text = page([Row("x", "y", 2.0, goal=3.0, rivals={"make": 0.5})], "a machine", ["just"])

    assert "Not installed, so not compared: just." in text
    assert "| x | y | ≤ 3 | 2.00 | met | make 0.50 |  |" in text


@pytest.mark.parametrize(
    ("figure", "expected"), [(0.123, "0.12"), (9.99, "9.99"), (12.34, "12.3"), (152.4, "152")]
)
def test_figures_have_three_digits(figure: float, expected: str) -> None:
    assert number(figure) == expected


def test_the_readme_shows_the_money_that_was_measured_last() -> None:
    measured_last = MONEY.read_text(encoding="utf-8")

    assert short_money(measured_last) in (ROOT / "README.md").read_text(encoding="utf-8")
    assert fragments() in PAGE.read_text(encoding="utf-8")
    assert "| oraclepack | " in measured_last
    (ours,) = [
        line for line in short_money(measured_last).splitlines() if line.startswith("| oraclepack")
    ]
    assert ours.split(" | ")[2:] == ["0", "0", "0 |"], "paid twice, taken for good, missing"


def test_pages_are_renewed_from_the_fragments(tmp_path: Path) -> None:
    for name in ("README.md", "docs/performance.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)

    renew_fragments(tmp_path)

    for name in ("README.md", "docs/performance.md"):
        assert (tmp_path / name).read_text() == (ROOT / name).read_text(), name


def test_the_go_tool_gets_the_same_questions_in_packs_of_twenty(tmp_path: Path) -> None:
    (go,) = [one for one in money_runners.RUNNERS if one.program == "oraclepack-go"]

    assert go.write(tmp_path) == ["bash", "run.sh"]

    packs = [path.read_text() for path in sorted(tmp_path.glob("pack*.md"))]
    asked = [re.findall(r"^# (\d\d)\) Question (\d\d)$", text, re.MULTILINE) for text in packs]
    assert [[step for step, _ in steps] for steps in asked] == [money_runners.numbers()[:20]] * 2
    assert [question for steps in asked for _, question in steps] == money_runners.numbers()
    assert re.findall(r"pack\d\.md", (tmp_path / "run.sh").read_text()) == ["pack1.md", "pack2.md"]


def test_the_table_of_money_has_a_row_for_every_runner() -> None:
    bill = money.Bill(paid=48, twice=2, bad=0, missing=0, seconds=31.8, commands=22)
    found = [(one, [bill] if "Go tool" in one.name else []) for one in money_runners.RUNNERS]

    text = money.text_of(found, [1, 2, 3], "a machine")

    assert "| the Go tool, `--resume` | 48 | 2 | 0 | 0 | 31.8 | 22 |" in text
    assert "| make, `-k -j4` | not installed |" in text
    assert "| the Go tool, `--resume` | 48 | 2 | 0 | 0 |" in short_money(text)


@pytest.mark.parametrize(
    ("spans", "seconds"),
    [
        pytest.param([], 0.0, id="none"),
        pytest.param([(1.0, 2.0), (4.0, 5.0)], 2.0, id="apart"),
        pytest.param([(1.0, 4.0), (2.0, 3.0), (3.5, 5.0)], 4.0, id="overlapping"),
    ],
)
def test_seconds_are_counted_once(spans: list[tuple[float, float]], seconds: float) -> None:
    assert money.covered(spans) == seconds


def test_the_same_call_meets_the_same_fault() -> None:
    faults = money.FAULTS
    drawn = [flaky_oracle.chosen(f"1 Question {n}? 0", faults) for n in range(4000)]

    assert drawn == [flaky_oracle.chosen(f"1 Question {n}? 0", faults) for n in range(4000)]
    for name, share in faults.items():
        assert abs(drawn.count(name) / len(drawn) - share) < 0.02, name


@pytest.mark.parametrize(
    ("seconds", "in_order", "least"),
    [
        pytest.param([1.0] * 8, 2.0, 2.0, id="equal calls"),
        pytest.param([1.0, 1.0, 1.0, 1.0, 4.0], 5.0, 4.0, id="the longest comes last"),
        pytest.param([4.0, 1.0, 1.0, 1.0, 1.0], 4.0, 4.0, id="the longest comes first"),
    ],
)
def test_ideal_schedules(seconds: list[float], in_order: float, least: float) -> None:
    assert makespan.in_order(seconds) == in_order
    assert makespan.least(seconds) == least


def test_the_packs_of_scale_have_so_many_steps_together(tmp_path: Path) -> None:
    names = scale.lay_out(tmp_path, 250)
    texts = [(tmp_path / name).read_text() for name in names]

    assert [text.count(") step") for text in texts] == [99, 99, 52]
    assert len(set(texts)) == 3
