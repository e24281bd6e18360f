"""Starting: what each command costs before it does anything, beside the bare interpreter."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.rivals import GO, PROGRAMS
from bench.scene import Contender, Place, Times, control, controlled, ours, python
from bench.table import Row, memories, present, ratio, ratios

BARE = "python -c pass"
STATIC = {"`--version`": ["--version"], "root `--help`": ["--help"]}
OTHERS = {
    "`schema`": ["schema"],
    "`explain OP201`": ["explain", "OP201"],
    "`config show`": ["config", "show"],
    "`completion bash`": ["completion", "bash"],
    "`manifest`": ["manifest"],
    "`list` of a short pack": ["list", "pack.md"],
    "`validate` of a short pack": ["validate", "pack.md"],
}
RIVALS = ("make", "just", "parallel", "doit", "snakemake", "inspect", GO)
ASKED = {GO: "--help"}
"""What a rival is asked instead of its version."""
SLOW = ("snakemake", "inspect")
LIBRARIES = {
    "import click": "import click",
    "import msgspec": "import msgspec",
    "import tree_sitter, tree_sitter_bash": "import tree_sitter, tree_sitter_bash",
    "import of all three": "import click, msgspec, tree_sitter, tree_sitter_bash",
    "import markdown_it": "import markdown_it",
    "import subprocess": "import subprocess",
}
"""What commands are built on, as it comes: they may know how to load less of it."""

PACK = "# p\n\n```bash\n# 01) one\ntrue\n```\n"


MODULES = 100
SMALL = f"import of {MODULES} empty modules"


def scene(place: Place) -> Sequence[Contender]:
    _write_modules(place.path / "empty")
    (place.path / "pack.md").write_text(PACK, encoding="utf-8")
    bare = replace(python(BARE, "pass"), runs=2)
    return [
        bare,
        control(bare),
        *(ours(name, *args) for name, args in (STATIC | OTHERS).items()),
        *(
            Contender(name, [program, ASKED.get(name, "--version")], every=3 if name in SLOW else 1)
            for name in RIVALS
            if place.found(program := PROGRAMS.get(name, name))
        ),
        *(python(name, code) for name, code in LIBRARIES.items()),
        python(SMALL, "import empty"),
    ]


def _write_modules(package: Path) -> None:
    """As many files as a command may load, without the work that is in them."""
    package.mkdir()
    names = [f"module{number}" for number in range(MODULES)]
    for name in names:
        (package / f"{name}.py").write_text("")
    (package / "__init__.py").write_text(f"from empty import {', '.join(names)}\n")


def rows(times: Times) -> list[Row]:
    noise = ratio(times, controlled(BARE), BARE)
    rivals = present(times, {name: name for name in RIVALS})
    static = [
        Row(f"start of {name}", f"`{BARE}`", ratio(times, name, BARE), goal=1.5, control=noise)
        for name in STATIC
    ]
    # The rivals answer the first question only.
    static[0] = replace(
        static[0],
        rivals=ratios(times, rivals, BARE),
        memory=memories(times, next(iter(STATIC)), rivals),
    )
    others = [
        Row(
            f"any other command that runs nothing: {name}",
            f"`{BARE}`",
            ratio(times, name, BARE),
            goal=10.0,
            control=noise,
        )
        for name in OTHERS
    ]
    floors = [
        Row(f"`{name}`", f"`{BARE}`", ratio(times, name, BARE), control=noise)
        for name in (*LIBRARIES, SMALL)
    ]
    return [*static, *others, *floors]
