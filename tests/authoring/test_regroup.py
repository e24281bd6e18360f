import pytest

from oraclepack.authoring.regroup import regroup
from oraclepack.authoring.upgrade import upgrade
from tests.packs import a_pack

ASK = 'oracle -p "Why?" --write-output a.md'
AND = 'oracle -p "How?" --write-output b.md'


def parts(bash: str) -> tuple[list[tuple[str, int]], list[str]]:
    """Each part as the header it takes and its number of lines; and the reasons against."""
    found, _, reasons = regroup(a_pack(f"set -euo pipefail\n{bash}"))
    shown = [(str(p.step.id), sum(end - start + 1 for start, end in p.bodies)) for p in found]
    return shown, reasons


@pytest.mark.parametrize(
    ("bash", "expected"),
    [
        pytest.param(f"# 01) a\n{ASK}\n# 02) b\n{AND}\n", [("01", 1), ("02", 1)], id="as it is"),
        pytest.param(f"# 01) a\nmkdir x\n# 02) b\n{AND}\n", [("02", 2)], id="joined to the next"),
        pytest.param(f"# 01) a\n{ASK}\n# 02) b\ntest -s a.md\n", [("01", 2)], id="to the last"),
        pytest.param(f"# 01) a\n{ASK}\n\n{AND}\n", [("01", 1), ("01", 2)], id="split"),
        pytest.param(
            f"# 01) a\nIFS= read -r -d '' p <<'E' || true\nx\nE\n{ASK}\n"
            f"IFS= read -r -d '' p <<'E' || true\ny\nE\noracle -p \"$p\" --write-output b.md\n",
            [("01", 4), ("01", 4)],
            id="a variable that is set anew",
        ),
    ],
)
def test_one_question_in_each_part(bash: str, expected: list[tuple[str, int]]) -> None:
    assert parts(bash) == (expected, [])


@pytest.mark.parametrize(
    ("bash", "expected"),
    [
        pytest.param(f"# 01) a\nx=1\n# 02) b\n{ASK}\n", "variable x would", id="a variable"),
        pytest.param(f"# 01) a\nf() {{ :; }}\n# 02) b\n{ASK}\n", "function would", id="a function"),
        pytest.param(
            f"# 01) a\nfor x in 1 2; do\n{ASK}\n{AND}\ndone\n", "cannot be separated", id="a loop"
        ),
        pytest.param(f"# 01) a\ncd x\n{ASK}\n{AND}\n", "share `cd`", id="a directory"),
        pytest.param(
            f'# 01) a\nout=b.md\n{ASK}\necho x\noracle -p "How?" --write-output "$out"\n',
            "share the variable out",
            id="a common variable",
        ),
    ],
)
def test_what_hangs_together_is_left_alone(bash: str, expected: str) -> None:
    _, reasons = parts(bash)

    assert expected in reasons[0]


def test_a_step_without_any_telling_word_has_no_category() -> None:
    proposal = upgrade(a_pack('# 01) x\noracle -p "Hm?" --write-output a.md\n'))

    assert "step 01: no category can be read from its words" in proposal.reasons


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("python3 make.py", "runs python3", id="a program"),
        pytest.param('echo x > "$where"', "only the running shell knows", id="a hidden output"),
        pytest.param("oracle status -f '*.py'", "fits a pattern", id="a pattern"),
        pytest.param("cat a.md", "reads a.md, which step 01 writes", id="another's output"),
        pytest.param("echo harmless", None, id="nothing that matters"),
    ],
)
def test_steps_change_places_only_when_nothing_can_depend_on_it(
    line: str, expected: str | None
) -> None:
    bash = (
        '# 01) cache ROI=1\noracle -p "cache?" --write-output a.md\n'
        f'# 02) cache ROI=2\n{line}\noracle -p "cache!" -f x.py --write-output b.md\n'
    )

    reasons = [r for r in upgrade(a_pack(bash)).reasons if "reordered" in r]

    assert [(expected or "-") in reason for reason in reasons] == ([True] if expected else [])
