"""The page of the figures: goals, memory, floors, and the explanations kept beside them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from bench.process import least_memory
from bench.table import Row

ROOT = Path(__file__).parents[1]
NOTES = Path(__file__).with_name("notes.md")
MONEY = Path(__file__).with_name("money.md")
"""What `python -m bench.money` measured last."""
SCALE = Path(__file__).with_name("scale.md")
"""What `python -m bench.scale` measured last."""
FLEETS = Path(__file__).with_name("fleets.md")
"""What `python -m bench.fleet_page` measured and simulated last."""
SCREENS = Path(__file__).with_name("screens.md")
"""What `python -m bench.screens` measured last."""
FRAGMENTS = (
    ("## Money: faults and kills", MONEY),
    ("## Scale", SCALE),
    ("## Screens and reports", SCREENS),
    ("## Fleets", FLEETS),
)
FLOORS = "## Floors"
README_HEAD = "| | calls paid | good answers paid twice | bad answers taken for good | missing |"
BOUNDS = "## What bounds them"
"""Where the explanations begin."""

HEAD = """\
# What it costs

Written by `make bench`; the explanations at the end are kept in `bench/notes.md`. All figures are
ratios unless a unit is named. Who is compared takes turns, round by round, in a clean home; each
ratio is one within a round, and the table gives the median over the rounds. *Noise* is the
baseline against itself in the same rounds: what differs from 1 by no more than that says nothing.

{machine}

{missing}
"""


def page(rows: Sequence[Row], machine: str, missing: Sequence[str]) -> str:
    note = f"Not installed, so not compared: {', '.join(missing)}." if missing else ""
    parts = [
        HEAD.format(machine=machine, missing=note).rstrip(),
        "## Goals",
        _goals([row for row in rows if row.goal is not None]),
        "## Memory",
        _memory([row for row in rows if row.memory]),
        fragments(),
        FLOORS,
        "What the parts cost that everything above is made of, measured in the same rounds.",
        _floors([row for row in rows if row.goal is None]),
    ]
    return with_notes("\n\n".join([*parts, BOUNDS]))


def with_notes(text: str) -> str:
    """The page with the explanations as they are kept today."""
    return text[: text.index(BOUNDS)] + NOTES.read_text(encoding="utf-8")


def fragments() -> str:
    """The tables that have programs of their own, as they were measured last."""
    return "\n\n".join(
        f"{head}\n\n{path.read_text(encoding='utf-8').rstrip()}" for head, path in FRAGMENTS
    )


def renew_fragments(root: Path = ROOT) -> None:
    """Put the last measurements on the page of figures, and money in short into the README."""
    figures = root / "docs" / "performance.md"
    before, _, after = figures.read_text(encoding="utf-8").partition(FLOORS)
    before = before.partition(FRAGMENTS[0][0])[0]
    figures.write_text(f"{before}{fragments()}\n\n{FLOORS}{after}", encoding="utf-8")
    readme = root / "README.md"
    before, after = readme.read_text(encoding="utf-8").split(README_HEAD)
    rest = after.lstrip("\n").splitlines(keepends=True)
    while rest and rest[0].startswith("|"):
        rest.pop(0)
    short = short_money(MONEY.read_text(encoding="utf-8"))
    readme.write_text(before + short + "".join(rest), encoding="utf-8")


def short_money(text: str) -> str:
    """The table for the README: without seconds and commands, and of ours only what anyone gets."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    chosen = [row[:5] for row in rows[1:] if "cut to" not in row[0] and row[0] != "---"]
    lines = [README_HEAD, "| --- | --- | --- | --- | --- |"]
    return "".join(f"{line}\n" for line in [*lines, *(f"| {' | '.join(row)} |" for row in chosen)])


def line(row: Row) -> str:
    """One row, printed while the bench runs."""
    line = f"{row.what}: {number(row.ours)}{_unit(row)}"
    return line if row.goal is None else f"{line} ({verdict(row).strip('*')})"


def verdict(row: Row) -> str:
    return "met" if row.goal is None or row.ours <= row.goal else "**missed**"


def _goals(rows: Sequence[Row]) -> str:
    head = ("what", "against", "goal", "ours", "verdict", "rivals", "noise")
    return _table(
        head,
        (
            (
                row.what,
                row.against,
                f"≤ {row.goal:g}{_unit(row)}",
                f"{number(row.ours)}{_unit(row)}",
                verdict(row),
                _named(row.rivals),
                "" if row.control is None else f"{row.control:.2f}",
            )
            for row in rows
        ),
    )


def _memory(rows: Sequence[Row]) -> str:
    """A child process is never reported with less memory than its parent."""
    least = least_memory()
    note = (
        f"Megabytes resident at the highest point, of the largest process of each. Less than"
        f" {least:.0f} cannot be distinguished: that is the bench itself."
    )
    cells = (
        (
            row.what,
            _megabytes(row.memory["ours"], least),
            ", ".join(
                f"{name} {_megabytes(peak, least)}"
                for name, peak in row.memory.items()
                if name != "ours"
            ),
        )
        for row in rows
    )
    return f"{note}\n\n{_table(('what', 'ours', 'rivals'), cells)}"


def _megabytes(peak: float, least: float) -> str:
    return f"{peak:.0f}" if peak > least * 1.02 else f"≤ {least:.0f}"


def _floors(rows: Sequence[Row]) -> str:
    return _table(
        ("what", "against", "figure"),
        (
            (
                row.what,
                "" if row.against == "nothing" else row.against,
                f"{number(row.ours)}{_unit(row)}",
            )
            for row in rows
        ),
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _named(figures: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {number(figure)}" for name, figure in figures.items())


def _unit(row: Row) -> str:
    return f" {row.unit}" if row.unit else ""


def number(figure: float) -> str:
    """Three digits that mean something."""
    return f"{figure:.{0 if figure >= 100 else 1 if figure >= 10 else 2}f}"
