"""Answer sets and the artifacts they give: `python -m tests.work.golden` rewrites them."""

import sys
from pathlib import Path

from oraclepack.work.backlog import Export, PackAnswers
from oraclepack.work.load_answers import from_directory
from oraclepack.work.records import WorkItems, actionize

FOLDER = Path(__file__).parent.parent / "golden" / "actionize"
PROJECT = FOLDER / "project"
CASES = sorted(path for path in FOLDER.iterdir() if (path / "pack.md").exists())


def answers(case: Path) -> PackAnswers:
    return from_directory(case / "answers", case / "pack.md", PROJECT).answers


def work(case: Path) -> WorkItems:
    """A case through the whole actionizer, with every export."""
    earlier = case / "earlier-backlog.md"
    kept = earlier.read_text(encoding="utf-8") if earlier.exists() else ""
    return actionize(answers(case), tuple(Export), kept)


def expected(case: Path) -> dict[str, str]:
    files = sorted((case / "expected").iterdir())
    return {path.name: path.read_bytes().decode() for path in files}


def main() -> int:
    """Write what the program gives now; the difference is for a person to judge."""
    for case in CASES:
        (case / "expected").mkdir(exist_ok=True)
        for artifact in work(case).artifacts:
            (case / "expected" / artifact.path).write_bytes(artifact.text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
