"""Draws docs/demo.svg: the demo as it runs, in the colours of a terminal."""

import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs/demo.svg"
PLACE = "build/demo"
"""Where `make demo` puts its results."""
WIDTH = 108
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


def shown() -> str:
    """What the demo prints, with colours."""
    shutil.rmtree(ROOT / PLACE, ignore_errors=True)
    done = subprocess.run(
        ["bash", "examples/demo.sh", PLACE],
        cwd=ROOT,
        env=os.environ | {"ORACLEPACK_COLOR": "always"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout.decode()


def picture(text: str) -> str:
    """The same text gives the same picture; nothing in it is fetched from elsewhere."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    for line in text.strip("\n").split("\n"):
        styled = Text.from_ansi(line)
        if line.startswith("== "):
            styled.stylize("bold cyan")
        if line.startswith("$ "):
            styled.stylize("bold")
        console.print(styled)
    svg = _FONTS.sub("", console.export_svg(title="make demo", unique_id="demo"))
    return "\n".join(line.rstrip() for line in svg.split("\n")).rstrip("\n") + "\n"


def main() -> int:
    PICTURE.write_text(picture(shown()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
