from pathlib import Path

import pytest

from tests.authoring.fixture_repositories import build
from tests.authoring.generated_packs import GOLDEN, findings, made
from tests.authoring.golden_packs import GOLDEN_KINDS


@pytest.mark.parametrize("kind", GOLDEN_KINDS)
def test_the_pack_is_the_golden_one_and_valid(tmp_path: Path, kind: str) -> None:
    root = build(kind, tmp_path / "anywhere")

    result, pack = made(root)

    wanted = (GOLDEN / f"{kind}.md").read_text(encoding="utf-8")
    assert result.data.text == wanted, "if intended: python -m tests.authoring.golden_packs"
    assert findings(root, pack, strict=False) == []


def test_fewer_questions_than_asked_for_are_announced(tmp_path: Path) -> None:
    result, pack = made(build("cli", tmp_path / "r"))

    assert 0 < len(pack.steps) < 10
    assert f"{len(pack.steps)} questions with evidence; for twenty, let an" in result.warnings[0]
