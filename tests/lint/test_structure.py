"""OP1xx, row by row: what is found, where, and how much it weighs."""

import pytest

from oraclepack.lint.finding import Severity
from tests.packs import BLOCK_LINE, findings_of, pack_text, places, some_steps, strict_text

STEP = "# 01) a\ntrue\n"
SELECTED = tuple(f"OP{number}" for number in (*range(101, 110), 111))


def _numbered(*numbers: str) -> str:
    return pack_text("".join(f"# {number}) a\ntrue\n" for number in numbers))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", [(1, "OP101")], id="an empty file"),
        pytest.param("# words\n\nand more\n", [(1, "OP101")], id="no block at all"),
        pytest.param(f"```sh\n{STEP}```\n", [(1, "OP101")], id="sh is not bash"),
        pytest.param(f"```bash\n{STEP}```\n", [], id="one block"),
        pytest.param(f"~~~bash\n{STEP}~~~\n", [], id="tildes"),
        pytest.param(f"````bash title=x\n{STEP}````\n", [], id="words after bash"),
        pytest.param(
            f"<!--\n```bash\n{STEP}```\n-->\n", [(1, "OP101")], id="a comment holds no block"
        ),
        pytest.param(
            f"```bash\n{STEP}```\n\n```bash\n{STEP}```\n", [(6, "OP102")], id="two bash blocks"
        ),
        pytest.param(
            f"```json\n{{}}\n```\n\n```bash\n{STEP}```\n", [(1, "OP103")], id="another fence"
        ),
        pytest.param(f"```bash\n{STEP}```\n\n    indented\n", [], id="indented text is no fence"),
        pytest.param(f"```bash\n{STEP}", [(1, "OP104")], id="a fence that never ends"),
        pytest.param("```bash\ntrue\n```\n", [(1, "OP105")], id="no steps"),
        pytest.param("```bash\n```\n", [(1, "OP105")], id="an empty block"),
        pytest.param(
            pack_text("# 1) ROI=1 a\ntrue\n"), [(3, "OP105"), (4, "OP106")], id="one digit"
        ),
        pytest.param(pack_text(f"{STEP}  # 02) ROI=1 b\ntrue\n"), [], id="an indented header"),
        pytest.param(pack_text(f"{STEP}# 1) first look\n"), [], id="a numbered remark"),
        pytest.param(_numbered("01", "02", "03"), [], id="in order"),
        pytest.param(_numbered("01", "03", "04"), [(6, "OP107")], id="a gap is reported once"),
        pytest.param(
            _numbered("01", "03", "02", "04"), [(6, "OP107"), (8, "OP107")], id="two swapped"
        ),
        pytest.param(_numbered("02"), [(4, "OP107")], id="the first is not 01"),
        pytest.param(_numbered("00", "01"), [(4, "OP107")], id="zero"),
        pytest.param(_numbered("01", "02", "02", "03"), [(8, "OP108")], id="a duplicate"),
        pytest.param(_numbered(*(f"{n:02}" for n in range(1, 100))), [], id="ninety-nine are fine"),
        pytest.param(
            _numbered(*(f"{n:02}" for n in range(1, 101))),
            [(202, "OP106"), (202, "OP109")],
            id="a hundred are too many",
        ),
        pytest.param(f"```bash\r\n{STEP}```\r\n", [(1, "OP111")], id="carriage returns"),
        pytest.param(f"\ufeff```bash\n{STEP}```\n", [(1, "OP111")], id="a byte order mark"),
    ],
)
def test_structure(text: str, expected: list[tuple[int, str]]) -> None:
    assert places(findings_of(text, select=SELECTED)) == expected


@pytest.mark.parametrize(
    ("steps", "strict", "expected"),
    [
        pytest.param(20, True, [], id="twenty"),
        pytest.param(19, True, [Severity.ERROR], id="one short"),
        pytest.param(21, True, [Severity.ERROR], id="one too many"),
        pytest.param(19, False, [], id="nothing by default"),
    ],
)
def test_the_number_of_steps(steps: int, strict: bool, expected: list[Severity]) -> None:
    text = pack_text(some_steps(["true"] * steps))

    found = findings_of(text, strict=strict, select=("wrong-step-count",))

    assert [finding.severity for finding in found] == expected


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param(f"# 21) x\n\n```bash\n{STEP}```\n", [1], id="before the block"),
        pytest.param(f"```bash\n{STEP}```\n\n## 03) x\n### 04 - y\n", [6, 7], id="behind it"),
        pytest.param(f"```bash\n{STEP}```\n#21) x\n", [5], id="without a blank"),
        pytest.param(f"```bash\n{STEP}```\n\n```sh\n# 02) x\n```\n", [], id="another fence"),
        pytest.param(f"## 3) x\n## 2026) y\n## 10 steps\n```bash\n{STEP}```\n", [], id="prose"),
        pytest.param("# 01) x\n", [], id="no block at all"),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_step_headers_outside_of_the_block(text: str, lines: list[int], strict: bool) -> None:
    found = findings_of(text, strict=strict, select=("OP117",))

    severity = Severity.ERROR if strict else Severity.WARNING
    assert [(one.span.line, one.severity) for one in found] == [(at, severity) for at in lines]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        pytest.param(
            ("01", "03", "02"),
            ["step 03 stands where 02 belongs", "step 02 stands where 03 belongs"],
            id="two swapped",
        ),
        pytest.param(("01", "02", "02", "04"), [], id="behind a duplicate"),
        pytest.param(("02", "03"), ["step 02 stands where 01 belongs"], id="from 02 on"),
    ],
)
def test_a_step_out_of_order_names_the_number_of_its_place(
    numbers: tuple[str, ...], expected: list[str]
) -> None:
    found = findings_of(_numbered(*numbers), select=("OP107",))

    assert [finding.message for finding in found] == expected


def test_a_malformed_number_names_the_number_of_its_place() -> None:
    text = pack_text("# 01) a\ntrue\n# 2) ROI=1 b\ntrue\n# 3) ROI=1 c\ntrue\n")

    found = findings_of(text, select=("OP106",))

    assert [finding.hint for finding in found] == ["write it as # 02)", "write it as # 03)"]


def test_the_hint_names_the_block_that_was_meant() -> None:
    (finding,) = findings_of(f"words\n\n~~~shell\n{STEP}~~~\n", select=("OP101",))

    assert (finding.message, finding.hint, finding.span.line) == (
        'no bash block: the block at line 3 is labelled "shell"',
        "open it with ~~~bash",
        3,
    )


def test_a_block_without_steps_names_a_later_one_that_has_them() -> None:
    text = "```bash\nnpm i\n```\n\n```bash\n# 01) a\ntrue\n```\n"

    (finding,) = findings_of(text, select=("OP105",))

    assert finding.hint.endswith("the steps are in that at line 5: label this one sh")


def test_a_strict_pack_has_no_findings_of_structure_or_bash() -> None:
    assert findings_of(strict_text(), strict=True, select=("OP1", "OP2")) == ()


@pytest.mark.parametrize(
    ("bash", "merged"),
    [
        pytest.param("# 01) a\ntrue\n  # 02) b\ntrue", [], id="an indented step"),
        pytest.param("# 01) a\ntrue\n# 2) b\ntrue", [(3, "02", "step 01")], id="one digit"),
        pytest.param("# 01) a\ntrue\n## 02) b\ntrue", [(3, "02", "step 01")], id="two signs"),
        pytest.param("# 01) a\ntrue\n# 02: b\ntrue", [(3, "02", "step 01")], id="a colon"),
        pytest.param("# 01) a\ntrue\n# 02. b\ntrue", [(3, "02", "step 01")], id="a dot"),
        pytest.param(
            "# 01) a\ntrue\n# 2) b\ntrue\n# 3) c\ntrue",
            [(3, "02", "step 01"), (5, "03", "step 01")],
            id="two in a row",
        ),
        pytest.param(
            "# 01) a\ntrue\n# 2) b\ntrue\n# 03) c\ntrue", [(3, "02", "step 01")], id="in a gap"
        ),
        pytest.param(
            "# 1: a\ntrue\n# 02) b\ntrue", [(1, "01", "the prelude")], id="before all steps"
        ),
        pytest.param("# 01) a\n# 1) one\n# 2) two\ntrue", [], id="a list of its own"),
        pytest.param("# 01) a\n# 2) b\ntrue\n# 02) c\ntrue", [], id="there is a step 02"),
        pytest.param("# 01) a\n# 7) b\n# 2024: c\n# 3.5 d\ntrue", [], id="other numbers"),
        pytest.param("# 01) a\ntrue\n# 2) b", [], id="nothing behind it"),
        pytest.param("# 01) a\ntrue # 2) b\ntrue", [], id="behind a command"),
        pytest.param("# 01) a\nif true; then\n  # 2) b\n  true\nfi", [], id="in a construct"),
        pytest.param("# 01) a\ncat <<E\n# 2) b\nE\ntrue", [], id="in a heredoc"),
        pytest.param("# 1) set up\ntrue\n# 2) more\ntrue\n# 01) a\ntrue", [], id="a prelude"),
        pytest.param("# 01) a\n# 2 files are left\ntrue", [], id="a sentence"),
    ],
)
def test_headers_that_are_merged_into_a_step(bash: str, merged: list[tuple[int, str, str]]) -> None:
    found = findings_of(pack_text(f"{bash}\n"), select=("OP116",))

    assert [(each.span.line - BLOCK_LINE + 1, each.message) for each in found] == [
        (line, f"no step header: the commands of step {number} are merged into {where}")
        for line, number, where in merged
    ]


def test_steps_are_not_renumbered_past_a_header_that_was_merged() -> None:
    text = pack_text("# 01) a\ntrue\n# 2) b\ntrue\n# 03) c\ntrue\n")

    assert all(finding.fix is None for finding in findings_of(text, select=("OP1",)))
