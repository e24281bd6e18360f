"""The names of the state and report files, and the copies of what they replace."""

import json
from pathlib import Path

import pytest

from oraclepack.view.legacy_files import all_file_names, files_of_go, keep_original, names_for

PLAIN = ("pack.state.json", "pack.report.json")
OWN = all_file_names("b/pack.md")[2:]
GO = {"schema_version": 1, "pack_hash": "", "step_statuses": {"01": {"status": "success"}}}


def ours(pack_path: str) -> dict[str, object]:
    return {"run_dir": ".oraclepack/runs/r", "pack_path": pack_path}


@pytest.mark.parametrize(
    ("standing", "names"),
    [
        pytest.param({}, PLAIN, id="the only pack of its name"),
        pytest.param({PLAIN[0]: ours("b/pack.md")}, PLAIN, id="its own file"),
        pytest.param({PLAIN[0]: ours("a/pack.md")}, OWN, id="another pack has the plain name"),
        pytest.param({PLAIN[1]: ours("a/pack.md")}, OWN, id="of which only the report is left"),
        pytest.param({PLAIN[0]: ours("gone/pack.md")}, PLAIN, id="the other pack is gone"),
        pytest.param({PLAIN[0]: GO}, PLAIN, id="the Go tool's"),
        pytest.param({PLAIN[0]: {"mine": 1}}, OWN, id="a foreign file"),
        pytest.param({PLAIN[0]: "torn"}, PLAIN, id="a damaged file"),
        pytest.param({OWN[0]: ours("b/pack.md")}, OWN, id="it keeps the name that it has got"),
    ],
)
def test_two_packs_of_one_name_have_files_of_their_own(
    tmp_path: Path, standing: dict[str, object], names: tuple[str, str]
) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "pack.md").touch()
    for name, content in standing.items():
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / name).write_text(text)

    assert names_for(tmp_path, "b/pack.md") == names


def test_names_differ_by_folder() -> None:
    assert (
        len({all_file_names(path)[2:] for path in ("a/pack.md", "b/pack.md", "a/b/pack.md")}) == 3
    )


def test_what_the_go_tool_left_is_found_state_first(tmp_path: Path) -> None:
    assert files_of_go(tmp_path, "pack.md") == ()
    (tmp_path / PLAIN[1]).write_text('{"pack_info": {"name": "pack.md"}, "summary": {}}')
    assert files_of_go(tmp_path, "pack.md") == (PLAIN[1],)
    (tmp_path / PLAIN[0]).write_text(json.dumps(GO))
    assert files_of_go(tmp_path, "pack.md") == PLAIN


def test_an_original_is_kept_once(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("1")

    first, again = keep_original(tmp_path, "a.json"), keep_original(tmp_path, "a.json")
    (tmp_path / "a.json").write_text("2")
    second = keep_original(tmp_path, "a.json")

    assert (first, again, second) == ("a.json.bak", "a.json.bak", "a.json.bak-2")
    assert [(tmp_path / name).read_text() for name in (first, second)] == ["1", "2"]
