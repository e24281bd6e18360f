from pathlib import Path

import pytest

from tests.authoring.fixture_repositories import KINDS, build
from tests.authoring.generated_packs import GOLDEN, findings, made

FULL = ("library", "service", "cli")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "empty"])
def test_the_pack_is_the_golden_one_and_valid(tmp_path: Path, kind: str) -> None:
    root = build(kind, tmp_path / "anywhere")

    result, pack = made(root)

    wanted = (GOLDEN / f"{kind}.md").read_text(encoding="utf-8")
    assert result.data.text == wanted, "if intended: python -m tests.authoring.golden_packs"
    assert findings(root, pack, strict=kind in FULL) == []
    assert (len(pack.steps) == 20) == (kind in FULL)


def test_fewer_questions_than_asked_for_are_announced(tmp_path: Path) -> None:
    result, pack = made(build("documents", tmp_path / "r"))

    assert len(pack.steps) < 20
    assert f"the evidence carries {len(pack.steps)} of 20 questions" in result.warnings[0]


def test_an_empty_repository_gives_no_pack_and_names_the_other_way(tmp_path: Path) -> None:
    result, _ = made(build("empty", tmp_path / "r"))

    assert (result.data.text, result.data.steps) == ("", ())
    (notice,) = result.warnings
    assert notice == (
        "nothing here gives evidence for a question, so no pack was written;"
        " `oraclepack new PACK` writes one for questions of your own"
    )


@pytest.mark.parametrize("kind", ["library", "service", "cli"])
def test_the_most_central_modules_are_among_the_references(tmp_path: Path, kind: str) -> None:
    central = {
        "library": {"ledger/money.py", "ledger/storage.py", "ledger/codec.py"},
        "service": {"parcels/app.py", "parcels/carriers.py", "parcels/store.py"},
        "cli": {"src/tidy/move.py", "src/tidy/rules.py", "src/tidy/config.py"},
    }[kind]

    result, _ = made(build(kind, tmp_path / "r"))

    assert central <= {step.reference for step in result.data.steps}
