"""Attachments that a step is sure to miss, and those that something may still create."""

import pytest

from oraclepack.pack.missing_files import literal_attachments, missing_files
from tests.packs import BLOCK_LINE, a_pack

ASK = "oracle -p why -f {} --write-output b.md"
LOST = ASK.format("lost.py")

Row = tuple[str, int, str]


def _missed(bash: str, running: tuple[str, ...] = (), settled: tuple[str, ...] = ()) -> list[Row]:
    pack = a_pack(bash if "# 01)" in bash else f"# 01) a\n{bash}\n")
    gone = {path for path in literal_attachments(pack) if "lost" in path}
    found = missing_files(pack, gone, running or [step.id for step in pack.steps], settled)
    return [(one.step, one.span.line - BLOCK_LINE, one.path) for one in found]


@pytest.mark.parametrize(
    ("bash", "expected"),
    [
        pytest.param(LOST, [("01", 1, "lost.py")], id="a file that is not there"),
        pytest.param(
            "oracle -p why \\\n  -f there.py \\\n  -f lost.py",
            [("01", 3, "lost.py")],
            id="the line is that of the file",
        ),
        pytest.param(ASK.format("./lost.py"), [("01", 1, "./lost.py")], id="with a dot before it"),
        pytest.param(
            f"x=1\nmkdir -p out\necho hello\n{LOST}", [("01", 4, "lost.py")], id="after plain words"
        ),
        pytest.param(
            f"git log > notes.md\n{LOST}", [("01", 2, "lost.py")], id="another file is written"
        ),
        pytest.param(
            f"ask() {{ echo; {LOST}; }}\nask", [("01", 1, "lost.py")], id="in a plain function"
        ),
        pytest.param(
            f"set -e\n# 01) a\n{LOST}\n# 02) b\n{LOST}",
            [("01", 2, "lost.py"), ("02", 4, "lost.py")],
            id="each step that misses it",
        ),
        pytest.param(ASK.format("there.py"), [], id="a file that is there"),
        pytest.param(f"touch lost.py\n{LOST}", [], id="touched before"),
        pytest.param(f"git diff > lost.py\n{LOST}", [], id="written before"),
        pytest.param(f"cp -r a lost\n{ASK.format('lost/b.py')}", [], id="copied in a folder"),
        pytest.param(f"{LOST}\ntouch lost.py", [], id="written by the same step"),
        pytest.param(f"make\n{LOST}", [], id="after a program that may create it"),
        pytest.param(f"./prepare.sh\n{LOST}", [], id="after a script"),
        pytest.param(f"codex exec x\n{LOST}", [], id="after another tool"),
        pytest.param(f"git checkout main\n{LOST}", [], id="after git that changes files"),
        pytest.param(f"help() {{ make; }}\nhelp\n{LOST}", [], id="after a function that may"),
        pytest.param(f'echo a > "$x"\n{LOST}', [], id="after writing who knows where"),
        pytest.param(f'"$run" a\n{LOST}', [], id="after who knows what"),
        pytest.param(f"make\n# 01) a\n{LOST}", [], id="after a prelude that may create it"),
        pytest.param(f"touch lost.py\n# 01) a\n{LOST}", [], id="after a prelude that does"),
        pytest.param(f"# 01) a\ntouch lost.py\n# 02) b\n{LOST}", [], id="an earlier step does"),
        pytest.param(
            f"# 01) a\n{ASK.format('there.py').replace('b.md', 'lost.py')}\n# 02) b\n{LOST}",
            [],
            id="an earlier answer",
        ),
        pytest.param(f"# 01) a\nmake\n# 02) b\n{LOST}", [], id="an earlier step may"),
        pytest.param(f"if [ -f lost.py ]; then {LOST}; fi", [], id="under a condition"),
        pytest.param(f"[ -f lost.py ] && {LOST}", [], id="after a test"),
        pytest.param(f"cd src\n{LOST}", [], id="in another directory"),
        pytest.param(ASK.format("'!lost.py'"), [], id="an exclusion"),
        pytest.param(ASK.format("'lost/*.py'"), [], id="a pattern"),
        pytest.param(ASK.format('"$d/lost.py"'), [], id="a path that only bash knows"),
        pytest.param("oracle status -f lost.py", [], id="no question"),
        pytest.param("oracle -p why --dry-run -f lost.py", [], id="a question that is not put"),
    ],
)
def test_what_a_step_misses(bash: str, expected: list[Row]) -> None:
    assert _missed(bash) == expected


TWO = f"# 01) a\ntouch lost.py\n# 02) b\n{LOST}"
LAST = f"# 01) a\n{LOST}\n# 02) b\ntrue"


@pytest.mark.parametrize(
    ("bash", "running", "settled", "expected"),
    [
        pytest.param(LAST, ("02",), (), [], id="a step that does not run misses nothing"),
        pytest.param(TWO, ("02",), ("01",), [], id="a file of a step that is done comes back"),
        pytest.param(TWO, ("02",), (), [("02", 3, "lost.py")], id="its maker does not run"),
    ],
)
def test_only_what_runs_counts(
    bash: str, running: tuple[str, ...], settled: tuple[str, ...], expected: list[Row]
) -> None:
    assert _missed(bash, running, settled) == expected
