from collections.abc import Callable
from pathlib import Path

import pytest

from oraclepack.authoring.answer_contract import work_format
from oraclepack.authoring.blank import new_pack
from oraclepack.authoring.upgrade import upgrade_pack, with_work_block
from oraclepack.pack.model import CATEGORIES
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.settings.registry import Settings
from tests.authoring.generated_packs import findings
from tests.cli.answers import answer
from tests.packs import ANSWER_FORMAT, OUT_DIR, QUESTIONS, pack_text, strict_text

Change = Callable[[int, str], str]
PRELUDE = f"set -euo pipefail\nmkdir -p {OUT_DIR}\n\n"


def old_step(number: int) -> str:
    """A step in the older spelling: a dash in the header, the fields below it."""
    slug, reference, question = QUESTIONS[number - 1]
    return f"""\
# {number:02} — {slug.replace("-", " ")}
# ROI: {6 - number / 10:.1f}
# Category: {CATEGORIES[(number - 1) % 10]}

oracle --write-output "{OUT_DIR}/{number:02}-{slug}.md" \\
  -p "$(cat <<'PROMPT'
{question}

# 05) this is no header
Reference: {reference}

{ANSWER_FORMAT}
PROMPT
)"

"""


def old_text(change: Change = lambda _, step: step, after: str = "", prelude: str = PRELUDE) -> str:
    steps = "".join(change(number, old_step(number)) for number in range(1, 21))
    return pack_text(prelude + steps, after=after)


def write(root: Path, text: str) -> str:
    path = root / "old-pack.md"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _prepares(number: int, step: str) -> str:
    return f"# 00) prepare\nmkdir -p other\ntest -d other\n\n{step}" if number == 3 else step


def _two_in_one(number: int, step: str) -> str:
    """Steps 07 and 08 under one header."""
    return step.partition("\n")[2].partition("\n")[2] if number == 8 else step


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(old_text(), id="dashes and fields below"),
        pytest.param(
            old_text(lambda n, s: f"# {n}) effort=1\n" + s.partition("\n")[2]), id="one digit"
        ),
        pytest.param(
            old_text(lambda _, s: "".join(x for x in s.splitlines(True) if "ROI:" not in x)),
            id="no scores at all",
        ),
        pytest.param(old_text(lambda n, s: s.replace("ROI: ", f"ROI: {n}")), id="wrong order"),
        pytest.param(old_text(after="\n## Notes\n\n```json\n{}\n```\n"), id="another fence"),
        pytest.param(old_text(after="\n## Coverage check\n* invariants: OK\n"), id="coverage"),
        pytest.param(old_text().replace("\n", "\r\n"), id="foreign line ends"),
    ],
)
def test_an_old_pack_becomes_strict_with_a_proof(project: Path, text: str) -> None:
    path = write(project, text)
    before = Path(path).read_bytes()

    proposed = upgrade_pack(path, Settings())

    assert proposed.reasons == ()
    assert (proposed.upgradable, proposed.changed, proposed.written) == (True, True, False)
    assert proposed.proof is not None
    assert proposed.proof.equal
    assert proposed.proof.commands_before == proposed.proof.commands_after
    assert proposed.diff.startswith(f"--- {path}\n+++ ")
    assert Path(path).read_bytes() == before, "nothing is written without --write"
    written = upgrade_pack(path, Settings(), write=True)
    pack = parse_pack(Path(path).read_text(), path)
    assert written.written
    assert findings(project, pack, strict=True) == []
    assert len(pack.steps) == 20


def test_an_upgraded_pack_is_left_alone(project: Path) -> None:
    path = write(project, old_text())
    upgrade_pack(path, Settings(), write=True)

    again = upgrade_pack(path, Settings())

    assert (again.upgradable, again.changed, again.diff) == (True, False, "")


def test_what_was_written_by_hand_stays(project: Path) -> None:
    path = write(project, old_text(lambda _, s: s.replace("Category:", "Impact: 3\n# Category:")))

    upgrade_pack(path, Settings(), write=True)

    first = parse_pack(Path(path).read_text(), path).steps[0]
    assert (first.title, first.attribute("impact")) == ("public contract", "3")


def _reads_the_first(number: int, step: str) -> str:
    first = f"{OUT_DIR}/01-public-contract.md"
    scored = step.replace("ROI: ", f"ROI: {number}")
    return scored.replace("oracle --w", f'oracle -f "{first}" --w') if number == 5 else scored


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            old_text(lambda n, s: s if n < 8 else ""),
            "7 questions; --strict requires 20",
            id="too few",
        ),
        pytest.param(
            old_text(lambda n, s: s.replace("--write-output", "--out") if n == 4 else s),
            "OP501",
            id="an answer that goes nowhere",
        ),
        pytest.param(old_text(_reads_the_first), "reads docs/oracle-answers/01", id="bound order"),
        pytest.param(old_text(_prepares), "asks 0 questions, not one", id="a preparation"),
        pytest.param(old_text(_two_in_one), "step 07 asks 2 questions, not one", id="two in one"),
        pytest.param(
            old_text(lambda _, s: s.replace("# Category: ", "# Theme: ")),
            "it names no category",
            id="no category",
        ),
        pytest.param("# Nothing\n", "no bash block with steps", id="no pack"),
        pytest.param(
            old_text(lambda n, s: s.replace("oracle --w", "oracle -f x.py --w") if n == 2 else s),
            "x.py does not exist",
            id="a missing attachment",
        ),
    ],
)
def test_a_pack_that_cannot_be_upgraded_safely_gets_a_reason(
    project: Path, capsys: pytest.CaptureFixture[str], text: str, expected: str
) -> None:
    path = write(project, text)

    got = answer(capsys, "upgrade", path, "--write", "--json")

    assert got.code == 2
    assert got.envelope["error"]["code"] == "NOT_UPGRADABLE"
    assert expected in got.envelope["error"]["detail"]
    assert Path(path).read_text() == text


def test_a_strict_pack_needs_nothing(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _, reference, _ in QUESTIONS:
        (project / reference).parent.mkdir(parents=True, exist_ok=True)
        (project / reference).write_text("x\n")
    path = write(project, strict_text())

    got = answer(capsys, "upgrade", path)

    assert (got.code, got.out) == (0, "")
    assert "is strict already" in got.err


def test_people_see_the_diff_on_stdout_and_the_proof_on_stderr(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(project, old_text())

    got = answer(capsys, "upgrade", path)

    assert got.out.startswith("--- ")
    assert "the same bash" in got.err
    assert "nothing written" in got.err


def test_prompts_can_be_made_to_ask_for_stated_work(project: Path) -> None:
    path = str(project / "new.md")
    new_pack(path, "review")
    text = Path(path).read_text().replace(f"\n{work_format()}", "")
    Path(path).write_text(text)

    plain, _ = with_work_block(parse_pack(text, path))
    again, nothing = with_work_block(parse_pack(plain, path))

    assert "[oraclepack-work]" not in text
    assert plain.count(work_format()) == 2
    assert (again, nothing) == (plain, 0), "what asks already is left alone"
