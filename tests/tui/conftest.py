"""Projects for the screens."""

from pathlib import Path

import pytest

from tests.report.example_runs import PACK, a_run

FAULTY = """\
# Faulty

```bash
# 01) Ask
oracle \\\x20
  -p 'What does it do?' --write-output out/01.md
# 02) Tell
oracle -p 'hello'
```
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a pack that has run, and one with faults."""
    root = tmp_path / "shop"
    root.mkdir()
    a_run(root)
    (root / "faulty.md").write_text(FAULTY)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def pack(shop: Path) -> Path:
    return shop / PACK
