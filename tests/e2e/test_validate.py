"""What `validate` promises, seen from outside."""

import json
import os
import re
import sys
from pathlib import Path

import jsonschema
import pytest

from oraclepack.view.report.schemas import schema_of
from tests.e2e.program import oraclepack, tree
from tests.packs import QUESTIONS, pack_text, strict_text

SARIF = json.loads((Path(__file__).parents[1] / "data/sarif-2.1.0.schema.json").read_bytes())

ORPHAN = pack_text(
    '# 01) one\ntrue\n\n# 02) two\noracle -f a.md --write-output b.md\n  -p "Why?"\n'
)
LINE = 9
"""Where the `-p` of the orphaned flag stands in the Markdown file."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that holds what the strict pack attaches."""
    for _, reference, _ in QUESTIONS:
        file = tmp_path / reference
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("pass\n", encoding="utf-8")
    (tmp_path / "a.md").write_text("a\n", encoding="utf-8")
    (tmp_path / "strict.md").write_text(strict_text(), encoding="utf-8")
    (tmp_path / "orphan.md").write_text(ORPHAN, encoding="utf-8")
    return tmp_path


def test_a_correct_pack_passes_the_strict_demands(project: Path) -> None:
    before = tree(project)

    ran = oraclepack(project, "validate", "--strict", "--json", "strict.md")

    assert (ran.code, ran.err) == (0, "")
    assert ran.data["counts"] == {
        "steps": 20,
        "bash_blocks": 1,
        "oracle_invocations": 20,
        "oracle_questions": 20,
    }
    assert ran.data["findings"] == []
    assert (ran.data["ordering"]["ok"], ran.data["fields"]["ok"]) == (True, True)
    assert ran.envelope["meta"]["duration_ms"] > 0
    jsonschema.validate(ran.envelope, schema_of("envelope"))
    jsonschema.validate(ran.data, schema_of("validation"))
    assert tree(project) == before


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_the_same_pack_gives_the_same_bytes(project: Path, form: str) -> None:
    args = ("validate", "--strict", "--format", form, "strict.md", "orphan.md")

    first, second = (oraclepack(project, *args).out for _ in range(2))

    took = re.compile(r'"duration_ms": ?\d+')
    assert took.sub("", first) == took.sub("", second)


def test_an_orphaned_flag_is_named_for_people(project: Path) -> None:
    ran = oraclepack(project, "validate", "orphan.md")

    assert ran.code == 2
    lines = [line for line in ran.out.splitlines() if "OP201" in line]
    assert len(lines) == 1
    assert lines[0].startswith(f"orphan.md:{LINE}:3 OP201 error: orphaned flag -p")
    assert lines[0].endswith("(step 02)")
    assert f'{LINE} |   -p "Why?"' in ran.out
    assert f"add a backslash at the end of line {LINE - 1}" in ran.out


def test_an_orphaned_flag_is_named_for_programs(project: Path) -> None:
    ran = oraclepack(project, "validate", "--json", "orphan.md")

    assert (ran.code, ran.envelope["ok"]) == (2, False)
    found = [finding for finding in ran.data["findings"] if finding["rule"] == "OP201"]
    assert [(one["line"], one["column"], one["step_id"]) for one in found] == [(LINE, 3, "02")]
    assert found[0]["severity"] == "error"
    assert found[0]["fix"] is not None
    jsonschema.validate(ran.data, schema_of("validation"))


def test_an_orphaned_flag_is_named_in_sarif(project: Path) -> None:
    ran = oraclepack(project, "validate", "--format", "sarif", "orphan.md")

    log = json.loads(ran.out)
    jsonschema.validate(log, SARIF, format_checker=jsonschema.FormatChecker())
    found = [one for one in log["runs"][0]["results"] if one["ruleId"] == "OP201"]
    assert ran.code == 2
    assert [(one["level"], one["properties"]["step"]) for one in found] == [("error", "02")]
    place = found[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "orphan.md"
    assert (place["region"]["startLine"], place["region"]["startColumn"]) == (LINE, 3)
    rule = log["runs"][0]["tool"]["driver"]["rules"][found[0]["ruleIndex"]]
    assert rule["id"] == "OP201"


def test_the_sarif_schema_would_notice_a_fault() -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"version": "2.1.0", "runs": [{"results": []}]}, SARIF)


def test_an_orphaned_flag_becomes_an_annotation(project: Path) -> None:
    ran = oraclepack(project, "validate", "--format", "github", "orphan.md")

    found = [line for line in ran.out.splitlines() if "OP201" in line]
    assert ran.code == 2
    assert len(found) == 1
    assert re.match(
        rf"::error file=orphan\.md,line={LINE},col=3,title=OP201 orphaned-flag::step 02: ", found[0]
    )


def test_the_fix_joins_an_orphaned_flag(project: Path) -> None:
    fixed = oraclepack(project, "validate", "--fix", "orphan.md")
    again = oraclepack(project, "validate", "--json", "orphan.md")

    expected = ORPHAN.replace("b.md\n  -p", "b.md \\\n  -p")
    assert (project / "orphan.md").read_text(encoding="utf-8") == expected
    assert (fixed.code, again.code) == (0, 0)
    assert "  changed: 1 fix written to orphan.md\n" in fixed.out
    assert "OP201" not in [finding["rule"] for finding in again.data["findings"]]


@pytest.mark.parametrize(
    ("args", "stream", "said"),
    [
        pytest.param((), "out", "changed: 1 fix written to half.md; the errors", id="as text"),
        pytest.param(("--format", "sarif"), "err", "1 fix written to half.md\n", id="as SARIF"),
        pytest.param(("--format", "github"), "err", "1 fix written to half.md\n", id="for GitHub"),
        pytest.param(
            ("--json",), "out", '"detail":"1 fix written to half.md"', id="as JSON, in the error"
        ),
    ],
)
def test_a_fix_that_leaves_errors_says_what_it_changed(
    project: Path, args: tuple[str, ...], stream: str, said: str
) -> None:
    half = project / "half.md"
    half.write_text(f"{ORPHAN}\n```text\na fence that never ends\n", encoding="utf-8")

    fixed = oraclepack(project, "validate", "--fix", "half.md", *args)

    assert fixed.code == 2
    assert said in getattr(fixed, stream)
    assert "b.md \\\n  -p" in half.read_text(encoding="utf-8")


def test_each_changed_file_is_named_with_the_number_of_its_fixes(project: Path) -> None:
    twice = pack_text(
        '# 01) a\noracle --write-output a.md\n  -p "Why?"\n'
        '# 02) b\noracle --write-output b.md\n  -p "How?"\n'
    )
    (project / "twice.md").write_text(twice, encoding="utf-8")

    fixed = oraclepack(project, "validate", "--fix", "orphan.md", "strict.md", "twice.md")

    changed = [line for line in fixed.out.splitlines() if "written to" in line]
    assert changed == [
        "  changed: 1 fix written to orphan.md",
        "  changed: 2 fixes written to twice.md",
    ]


def test_a_fix_with_nothing_to_do_leaves_the_file_alone(project: Path) -> None:
    before = tree(project)

    assert oraclepack(project, "validate", "--fix", "strict.md").code == 0
    assert tree(project) == before


def test_several_packs_and_directories(project: Path) -> None:
    inner = project / "docs"
    inner.mkdir()
    (inner / "one.md").write_text(pack_text("# 01) x\ntrue\n"), encoding="utf-8")
    (inner / "prose.md").write_text("# no pack\n", encoding="utf-8")
    (project / "latin.md").write_bytes(b"caf\xe9\n")

    ran = oraclepack(project, "validate", "--json", "docs", "orphan.md", "latin.md")

    paths = {pack["path"]: pack["ok"] for pack in ran.data["packs"]}
    assert ran.code == 2
    assert paths == {"docs/one.md": True, "latin.md": False, "orphan.md": False}
    jsonschema.validate(ran.data, schema_of("validation"))


def bare_python(folder: Path) -> str:
    """The interpreter under a name that has no shellcheck beside it."""
    folder.mkdir()
    (folder / "pyvenv.cfg").write_text(
        f"home = {Path(sys.executable).resolve().parent}\ninclude-system-site-packages = false\n",
        encoding="utf-8",
    )
    (folder / "bin").mkdir()
    link = folder / "bin" / "python"
    link.symlink_to(sys.executable)
    return str(link)


@pytest.mark.parametrize(
    ("programs", "expected"),
    [
        pytest.param([], {"bash -n": "skipped", "shellcheck": "skipped"}, id="neither"),
        pytest.param(["bash"], {"bash -n": "ok", "shellcheck": "skipped"}, id="only bash"),
    ],
)
def test_checks_without_their_programs_are_skipped_and_say_why(
    tmp_path: Path, programs: list[str], expected: dict[str, str]
) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in programs:
        (tools / name).symlink_to(f"/bin/{name}")
    (tmp_path / "pack.md").write_text(pack_text("# 01) x\ntrue\n"), encoding="utf-8")
    python = bare_python(tmp_path / "venv")
    library = os.pathsep.join(path for path in sys.path if path)

    asked = {"python": python, "PATH": str(tools), "PYTHONPATH": library}
    ran = oraclepack(tmp_path, "validate", "--json", "pack.md", **asked)
    text_result = oraclepack(tmp_path, "validate", "pack.md", **asked)

    checks = {check["name"]: check for check in ran.data["checks"]}
    assert {name: check["status"] for name, check in checks.items()} == expected
    for check in checks.values():
        assert (check["status"] == "skipped") == bool(check["reason"])
        assert check["reason"] in text_result.out
    assert ran.code == 0
