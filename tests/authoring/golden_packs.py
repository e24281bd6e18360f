"""Writes the golden packs: `python -m tests.authoring.golden_packs`."""

import tempfile
from pathlib import Path

from tests.authoring.fixture_repositories import build
from tests.authoring.generated_packs import GOLDEN, made

GOLDEN_KINDS = ("library", "service", "cli", "monorepo")


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for kind in GOLDEN_KINDS:
            result, _ = made(build(kind, Path(folder) / kind))
            (GOLDEN / f"{kind}.md").write_text(result.data.text or "", encoding="utf-8")


if __name__ == "__main__":
    main()
