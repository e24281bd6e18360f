"""Records the project of `tui --demo`: `python -m tests.tui.demo_record`."""

import json
import tempfile
from pathlib import Path

from oraclepack.journal.journal_file import load
from oraclepack.journal.line_format import Signer, Unknown
from oraclepack.tui.demo_project import RECORD
from tests.events import in_file
from tests.view.example_runs import Plan, a_run

FILE = Path(__file__).parent.parent.parent / "src/oraclepack/tui" / RECORD
STEPS = 8


def recorded(root: Path) -> str:
    """The files of the example; its journal is signed with a key that nobody has."""
    run = a_run(root, Plan(steps=STEPS))
    journal = run.path / "journal.jsonl"
    events = [one for one in load(journal).events if not isinstance(one, Unknown)]
    journal.write_bytes(in_file(events, Signer(b"demo", run.path.name)))
    record = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
    return json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        FILE.write_text(recorded(Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
