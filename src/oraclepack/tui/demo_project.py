"""The project that `tui --demo` opens: a pack with a recorded run, in a folder of its own."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from importlib.resources import files
from pathlib import Path

RECORD = "demo_project.json"
"""The files of the project by name; `python -m tests.tui.demo_record` writes it."""


@contextmanager
def demo_project() -> Iterator[Path]:
    """A copy of the recorded project as working directory; its pack. It is removed at the end."""
    record = files("oraclepack.tui").joinpath(RECORD).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory(prefix="oraclepack-demo-") as folder:
        for name, text in json.loads(record).items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        with chdir(folder):
            yield next(Path(folder).glob("*.md"))
