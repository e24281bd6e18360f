"""`validate` of a pack as long as the longest real ones, against one `bash -n` of its block."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.big_pack import big_pack
from bench.rivals import GO, PROGRAMS
from bench.scene import BIN, Contender, Place, Times, control, controlled, ours, python
from bench.startup import BARE, LIBRARIES
from bench.table import Row, memories, present, ratio, ratios

BASH = "bash -n"
PLAIN = "validate, no shellcheck"
FULL = "validate, with shellcheck"
ALONE = "shellcheck alone"
ALL = "import of all three"
TREE = "tree-sitter alone"
PARSE = """
import tree_sitter
import tree_sitter_bash
language = tree_sitter.Language(tree_sitter_bash.language())
with open("block.sh", "rb") as block:
    tree_sitter.Parser(language).parse(block.read())
"""


def scene(place: Place) -> Sequence[Contender]:
    pack = big_pack()
    (place.path / "pack.md").write_text(pack, encoding="utf-8")
    block = pack.split("```bash\n")[1].rsplit("```", 1)[0]
    (place.path / "block.sh").write_text(block, encoding="utf-8")
    bash = Contender(BASH, ["bash", "-n", "block.sh"], runs=3)
    # Without shellcheck, which may or may not be installed and costs as much again.
    without = {"PATH": "/usr/bin:/bin"}
    return [
        bash,
        control(bash),
        Contender(PLAIN, [*_bare_program(place.path), "validate", "pack.md"], env=without),
        python(BARE, "pass"),
        python(ALL, LIBRARIES[ALL]),
        python(TREE, PARSE),
        *([_go()] if place.found(PROGRAMS[GO]) else []),
        *([ours(FULL, "validate", "pack.md"), _shellcheck()] if place.found("shellcheck") else []),
    ]


def _go() -> Contender:
    return Contender(GO, [PROGRAMS[GO], "validate", "pack.md"])


def _shellcheck() -> Contender:
    return Contender(ALONE, ["shellcheck", "-s", "bash", "block.sh"], code=None)


def _bare_program(place: Path) -> list[str]:
    """The same installation under an interpreter that has no shellcheck beside it."""
    bin_dir = place / "venv" / "bin"
    bin_dir.mkdir(parents=True)
    shutil.copy(BIN.parent / "pyvenv.cfg", place / "venv")
    (bin_dir / "python").symlink_to(sys.executable)
    # The very same libraries, .pth files too: start-up must cost what it costs elsewhere.
    (place / "venv" / "lib").symlink_to(BIN.parent / "lib")
    return [str(bin_dir / "python"), str(BIN / "oraclepack")]


def rows(times: Times) -> list[Row]:
    noise = ratio(times, controlled(BASH), BASH)
    others = present(times, {GO: GO})
    pack = big_pack()
    size = f"{pack.count(chr(10)):,}-line, {pack.count('oracle ' + chr(92))}-call"
    floors = {
        f"`{BARE}`": BARE,
        f"`{LIBRARIES[ALL]}`": ALL,
        "a Python that only parses the block of the long pack with tree-sitter": TREE,
        "`validate` of the long pack, with shellcheck": FULL,
        "shellcheck alone, of the long pack": ALONE,
    }
    row = Row(
        f"`validate` of a {size} pack",
        "one `bash -n` of its block",
        ratio(times, PLAIN, BASH),
        goal=50.0,
        rivals=ratios(times, others, BASH),
        control=noise,
        memory=memories(times, PLAIN, others),
    )
    return [
        row,
        *(
            replace(row, what=what, ours=ratio(times, name, BASH), goal=None, rivals={}, memory={})
            for what, name in floors.items()
            if name in times
        ),
    ]
