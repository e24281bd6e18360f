"""Writes the golden packs: `python -m tests.authoring.golden_packs`."""

import tempfile
from pathlib import Path

from tests.authoring.fixture_repositories import KINDS, build
from tests.authoring.generated_packs import GOLDEN, made


def main() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            result, _ = made(build(kind, Path(folder) / kind))
            if result.data.text:
                (GOLDEN / f"{kind}.md").write_text(result.data.text, encoding="utf-8")


if __name__ == "__main__":
    main()
