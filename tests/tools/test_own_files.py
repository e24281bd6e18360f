"""Patterns of attachments do not take in what is ours."""

from pathlib import Path

import pytest

from oraclepack.tools.oracle_attachments import RECORDS, OwnFiles, exclusions

OWN = OwnFiles(
    folders=(*RECORDS, "answers/_failed"),
    files=("pack.state.json",),
    outputs=("answers/01.md", "answers/02.md", "top.md"),
    mine=("answers/02.md",),
)
ALWAYS = [f"!{folder}/**" for folder in OWN.folders]


def added(tmp_path: Path, values: list[str], cwd: str = "") -> list[str]:
    for folder in ("answers", "src", ".oraclepack/runs/r"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    for name in ("a.py", "answers/01.md", "answers/02.md", ".oraclepack/runs/r/x.md"):
        (tmp_path / name).touch()
    return list(exclusions(str(tmp_path), str(tmp_path / cwd), values, OWN))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param(["a.py"], None, id="literal files stay as they are"),
        pytest.param(["a.py", "answers/01.md"], None, id="also those of ours"),
        pytest.param(["src/**"], ["01", "02", "state", "top"], id="a pattern elsewhere"),
        pytest.param(["."], ["01", "02", "state", "top"], id="the whole tree"),
        pytest.param(["*"], ["01", "02", "state", "top"], id="the top: its outputs are ours"),
        pytest.param(["**/*.md"], ["01", "02", "state", "top"], id="everything of a kind"),
        pytest.param(["answers/*.md"], ["02", "state", "top"], id="a synthesis keeps its input"),
        pytest.param(["answers"], ["02", "state", "top"], id="its directory as well"),
        pytest.param(
            ["src/**", "answers/01.md"], ["02", "state", "top"], id="a literal file is not dropped"
        ),
        pytest.param(["a.py", "!b.py"], ["01", "02", "state", "top"], id="an exclusion alone"),
    ],
)
def test_what_is_left_out(tmp_path: Path, values: list[str], expected: list[str] | None) -> None:
    names = {
        "01": "!answers/01.md",
        "02": "!answers/02.md",
        "state": "!pack.state.json",
        "top": "!top.md",
    }

    result = added(tmp_path, values)

    assert result == ([] if expected is None else [*ALWAYS, *(names[one] for one in expected)])


def test_a_record_that_is_named_is_sent(tmp_path: Path) -> None:
    result = added(tmp_path, ["src/**", ".oraclepack/runs/r/x.md"])

    assert "!.oraclepack/runs/**" not in result


def test_paths_are_those_of_the_step(tmp_path: Path) -> None:
    assert "!../.oraclepack/runs/**" in added(tmp_path, ["*"], cwd="src")


def test_signs_of_patterns_in_a_name_are_no_signs(tmp_path: Path) -> None:
    own = OwnFiles(folders=(), files=("a,b[1]!.state.json",))

    assert exclusions(str(tmp_path), str(tmp_path), ["*"], own) == ("!a?b?1??.state.json",)
