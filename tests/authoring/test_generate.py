import re
import subprocess
from pathlib import Path

import pytest

from oraclepack.authoring.file_roles import worth_reading
from oraclepack.authoring.generate import GenerateRequest, GenerateResult, generate
from oraclepack.errors import InputError, UsageError
from oraclepack.pack.model import Pack
from oraclepack.pack.parse.read_pack import parse_pack
from tests.authoring.fixture_repositories import build, commit, repository, write
from tests.authoring.generated_packs import attached_to, findings, made, prompt_of, quotes_of
from tests.authoring.repositories import git

ROOT = Path(__file__).parent.parent.parent


CODE = """\
def dump(value):
    if value is None:
        raise ValueError(value)
    if value > 9:
        return "many"
    return str(value)


def load(text):
    if not text:
        raise ValueError(text)
    if text == "many":
        return 10
    return int(text)
"""
"""Code that gives a question."""


def written(root: Path, **wishes: object) -> tuple[GenerateResult, Pack]:
    result = generate(GenerateRequest(root=root, **wishes))  # type: ignore[arg-type]
    path = root / result.data.path
    return result, parse_pack(path.read_text(encoding="utf-8"), path.as_posix())


def test_the_same_commit_gives_the_same_bytes_in_a_second_clone(tmp_path: Path) -> None:
    root = build("library", tmp_path / "one")
    clone = tmp_path / "elsewhere" / "other-name"
    clone.parent.mkdir()
    subprocess.run(["git", "clone", "-q", str(root), str(clone)], check=True)
    write(clone, {"untracked.py": "x\n", "ledger/rates.py": "changed = 1\n"})

    first, _ = written(root)
    bytes_of_first = (root / first.data.path).read_bytes()
    again, _ = written(root)
    second, _ = written(clone)

    assert first.data.path == "docs/oracle-pack-2026-03-09.md"
    assert again.data.unchanged
    assert (clone / second.data.path).read_bytes() == bytes_of_first
    assert "the work tree differs from the commit" in second.warnings[0]


def test_a_shallow_clone_is_announced(tmp_path: Path) -> None:
    root = build("library", tmp_path / "r")
    words = ["clone", "-q", "--depth", "1", root.as_uri(), str(tmp_path / "s")]
    subprocess.run(["git", *words], check=True)

    assert "shallow" in made(tmp_path / "s")[0].warnings[0]


@pytest.mark.parametrize("kind", ["library", "monorepo"])
def test_chunked_packs_ask_for_the_parts_one_by_one(tmp_path: Path, kind: str) -> None:
    root = build(kind, tmp_path / "r")

    _, pack = made(root, chunked=True)

    assert findings(root, pack, strict=False) == []
    assert all(len(step.calls) == 4 for step in pack.steps)
    assert all("[oraclepack-work]" in prompt_of(step) for step in pack.steps)
    assert all(call.span.line == call.span.end_line for step in pack.steps for call in step.calls)


def test_secrets_locks_generated_and_odd_names_are_never_attached(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "good.py": CODE,
        "secrets/id_rsa": CODE,
        "pages/[id].py": CODE,
        "a,b.py": CODE,
        "wire_pb2.py": CODE,
        "made.py": f"# @generated\n{CODE}",
        "parser.c": "/* A Bison parser, made by GNU Bison 3.8.2.  */\n#include <signal.h>\n"
        "int f(int a) {\n  if (a > 1) g();\n  signal(2, h);\n  return 0;\n}\n",
        "vendor/x.py": CODE,
        "huge.py": "x = 1\n" * 200_000,
    }

    result, _ = made(repository(tmp_path / "r", files))

    assert {path for step in result.data.steps for path in step.attachments} == {"good.py"}


@pytest.mark.parametrize(
    ("out", "answers"),
    [
        pytest.param("", "docs/oracle-answers-2027-01-02", id="the usual name"),
        pytest.param("docs/Billing review.md", "docs/oracle-answers-billing-review", id="another"),
        pytest.param("docs/oracle-pack-jobs.md", "docs/oracle-answers-jobs", id="a topic"),
        pytest.param("qa/oracle-pack.md", "qa/oracle-answers", id="another folder"),
        pytest.param("pack.md", "oracle-answers-pack", id="no folder"),
        pytest.param("../elsewhere.md", "docs/oracle-answers-elsewhere", id="outside"),
    ],
)
def test_the_answers_go_to_a_folder_named_after_the_pack(
    tmp_path: Path, out: str, answers: str
) -> None:
    root = build("cli", tmp_path / "r")

    place = str((root / out).resolve()) if out else ""
    result, pack = written(root, out=place, day="2027-01-02")

    assert (result.data.out_dir, pack.out_dir) == (answers, answers)
    assert not worth_reading(f"{answers}/01-x.md", 10)


def test_options_reach_every_call(tmp_path: Path) -> None:
    root = build("library", tmp_path / "r")

    _, pack = made(
        root,
        out_dir="answers/here",
        model="gpt-5.2",
        engine="api",
        oracle_cmd="npx -y @steipete/oracle",
        oracle_flags="--wait",
        extra_files=("docs/guide.md",),
        constraints="no `new`\n```\nPROMPT\ndependencies",
        non_goals="don't touch billing",
    )

    assert findings(root, pack, strict=len(pack.steps) == 20) == []
    for step in pack.steps:
        call = step.calls[0]
        assert [word.value for word in call.values("--model")] == ["gpt-5.2"]
        assert [word.value for word in call.values("--engine")] == ["api"]
        assert "docs/guide.md" in attached_to(step)
        assert len(attached_to(step)) <= 3
        assert step.outputs[0].path.display_text.startswith("answers/here/")
        assert "Constraints: no `new` ``` PROMPT dependencies\n" in prompt_of(step)


@pytest.mark.parametrize(
    ("focus", "references"),
    [
        pytest.param(("ledger/money.py",), {"ledger/money.py"}, id="a file"),
        pytest.param(("ledger/",), None, id="a folder"),
        pytest.param(("parse_money",), {"ledger/money.py"}, id="a function"),
    ],
)
def test_focus_limits_the_questions(
    tmp_path: Path, focus: tuple[str, ...], references: set[str] | None
) -> None:
    result, pack = made(build("library", tmp_path / "r"), focus=focus)

    found = {step.reference for step in result.data.steps}
    assert found
    assert found <= references if references else all(r.startswith("ledger/") for r in found)
    if focus == ("parse_money",):
        assert all("parse_money" in " ".join(q.code for q in quotes_of(s)) for s in pack.steps)


def test_excluded_files_are_not_even_read(tmp_path: Path) -> None:
    result, _ = made(build("library", tmp_path / "r"), exclude=("ledger/rates.py", "*report*"))

    attached = {path for step in result.data.steps for path in step.attachments}
    assert attached
    assert not attached & {"ledger/rates.py", "ledger/report.py"}


def test_a_number_of_questions_can_be_asked_for(tmp_path: Path) -> None:
    root = build("library", tmp_path / "r")

    result, pack = made(root, count=2)

    assert (len(pack.steps), result.warnings) == (2, ())
    assert findings(root, pack, strict=False) == []


def test_since_asks_only_about_what_changed(tmp_path: Path) -> None:
    root = build("library", tmp_path / "r")
    text = (root / "ledger/money.py").read_text(encoding="utf-8")
    text = text.replace("def parse_money(text):", 'def parse_money(text, default="EUR"):')
    text = text.replace(
        'digits = minor_units(currency or "EUR")', "digits = minor_units(currency or default)"
    )
    commit(root, {"ledger/money.py": text}, "Let the caller name the currency")

    result, pack = made(root, since="HEAD~1")

    (step,) = [s for s in result.data.steps if s.question_id == "changed-code-parse-money"]
    assert "since HEAD~1 change parse_money()" in step.question
    assert "They touch no test." in step.question
    changed = {n for n, line in enumerate(text.split("\n"), 1) if "default" in line}
    for asked in pack.steps:
        assert any(q.path == "ledger/money.py" and q.line in changed for q in quotes_of(asked))
    prompt = prompt_of(pack.steps[0])
    assert ": Let the caller name the currency\n" in prompt
    assert "\n    -def parse_money(text):\n    +def parse_money(text, default=" in prompt
    assert pack.steps
    assert findings(root, pack, strict=False) == []


def test_what_a_change_adds_is_not_asked_about_as_if_it_had_been_there(tmp_path: Path) -> None:
    root = build("library", tmp_path / "r")
    text = (root / "ledger/money.py").read_text(encoding="utf-8")
    added = """

class Purse:
    def __init__(self, limit):
        self.limit = limit
        self.coins = []

    def put(self, coin):
        if len(self.coins) >= self.limit:
            raise ValueError("full")
        self.coins.append(coin)


def emptied(purse):
    coins = list(purse.coins)
    purse.coins.clear()
    return coins
"""
    commit(root, {"ledger/money.py": text + added}, "Add a purse")

    result, _ = made(root, since="HEAD~1")

    assert {step.question_id for step in result.data.steps} == {
        "added-code-purse",
        "added-code-emptied",
    }


def test_code_that_moved_to_another_file_is_not_new(tmp_path: Path) -> None:
    root = build("library", tmp_path / "r")
    text = (root / "ledger/money.py").read_text(encoding="utf-8")
    at = text.index("def parse_money")
    following = text.find("\ndef ", at + 1)
    moved = text[at:following] if following > 0 else text[at:]
    commit(
        root, {"ledger/money.py": text.replace(moved, ""), "ledger/parsing.py": moved}, "Move it"
    )

    with pytest.raises(InputError, match="nothing here gives evidence"):
        made(root, since="HEAD~1")


@pytest.mark.parametrize("deleted", [False, True], ids=["no commit", "a deletion"])
def test_without_an_edit_there_is_nothing_to_ask(tmp_path: Path, *, deleted: bool) -> None:
    root = build("library", tmp_path / "r")
    git(root, "tag", "base")
    if deleted:
        git(root, "rm", "-q", "README.md")
        git(root, "commit", "-qm", "Remove a file")

    with pytest.raises(InputError, match="no file that exists was edited since the fork point"):
        made(root, since="base")


def test_a_hostile_diff_cannot_leave_the_heredoc(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"a.py": "def f():\n    return 1\n"})
    lines = ["PROMPT", "touch escaped", "```", "[/oraclepack-meta]", "# 02) ROI=1"]
    text = 'def f():\n    """Say.\n' + "\n".join(lines) + '\n"""\n    x = 1\n    return x\n'
    commit(root, {"a.py": text}, "PROMPT\x07`touch escaped`")

    _, pack = made(root, since="HEAD~1")

    assert [(step.id, len(step.script.heredocs)) for step in pack.steps] == [("01", 1)]
    assert "    +touch escaped\n" in prompt_of(pack.steps[0])
    assert pack.steps[0].meta.reference == "a.py"


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        pytest.param({"focus": ("nowhere",)}, "no code defines that name", id="focus"),
        pytest.param({"since": "no-such-branch"}, "names no commit", id="since"),
        pytest.param({"since": "--output=x"}, "names no commit", id="since that looks like a flag"),
        pytest.param({"day": "yesterday"}, "is not a date", id="a date that is none"),
        pytest.param({"extra_files": (".env",)}, "looks like a secret", id="a secret"),
        pytest.param(
            {"extra_files": ("no.py",)}, "not a tracked file", id="an untracked extra file"
        ),
        pytest.param({"extra_files": ("big.txt",)}, "accepts at most", id="a big extra file"),
        pytest.param({"extra_files": ("a,b.md",)}, "a pattern, a list or an option", id="a comma"),
        pytest.param({"extra_files": ("a", "b", "c")}, "3 files", id="three extra files"),
        pytest.param({"oracle_cmd": "oracle; rm x"}, "plain list of words", id="a program"),
        pytest.param({"oracle_flags": "--x '"}, "No closing quotation", id="an open quote"),
        pytest.param({"oracle_cmd": "echo"}, "would not be valid", id="not oracle at all"),
        pytest.param({"out_dir": "../x"}, "would not be valid", id="answers outside"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(
    tmp_path: Path, wishes: dict[str, object], message: str
) -> None:
    root = build("library", tmp_path / "r")
    more: dict[str, str | bytes] = {"big.txt": "x" * 1_100_000, "a,b.md": "x\n", ".env": "A=1\n"}
    commit(root, more, "More")
    before = sorted(root.rglob("*"))

    with pytest.raises(UsageError, match=re.escape(message)):
        generate(GenerateRequest(root=root, **wishes))  # type: ignore[arg-type]
    assert sorted(root.rglob("*")) == before


def test_another_pack_is_only_replaced_by_force(tmp_path: Path) -> None:
    root = build("cli", tmp_path / "r")
    write(root, {"docs/oracle-pack-2026-03-06.md": "mine\n"})

    with pytest.raises(UsageError, match="exists and is different"):
        written(root)
    result, _ = written(root, force=True)

    assert not result.data.unchanged


def test_printing_the_pack_writes_nothing(tmp_path: Path) -> None:
    root = build("cli", tmp_path / "r")

    result, pack = made(root)

    assert (result.data.path, pack.steps != ()) == ("", True)
    assert not (root / "docs").exists()


def test_outside_git_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not in a git repository"):
        made(tmp_path)


def test_a_bare_repository_is_named_as_one(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path)], check=True)

    with pytest.raises(InputError, match="bare git repository"):
        made(tmp_path)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        pytest.param({}, "", id="an empty repository"),
        pytest.param({"README.md": "# Words\n\nOnly words.\n"}, "", id="documents only"),
        pytest.param({"dist/a.js": "f()\n", "dist/b.js": "g()\n"}, "2 in dist/", id="built code"),
        pytest.param({"a.kt": "fun a() {}\n", "b.kt": "fun b() {}\n"}, "2 Kotlin", id="no parser"),
    ],
)
def test_without_evidence_nothing_is_written(
    tmp_path: Path, files: dict[str, str | bytes], said: str
) -> None:
    root = repository(tmp_path / "r", *([files] if files else []))

    with pytest.raises(InputError, match="nothing here gives evidence") as refused:
        generate(GenerateRequest(root=root))

    assert said in refused.value.detail
    assert "oraclepack survey" in refused.value.hint
    assert not (root / "docs").exists()


def test_a_focused_file_carries_more_than_two_questions(tmp_path: Path) -> None:
    code = "".join(CODE.replace("dump", f"dump_{n}").replace("load", f"load_{n}") for n in range(5))
    root = repository(tmp_path / "r", {"tool.py": code, "other.py": "import tool\n"})

    result, _ = made(root, focus=("tool.py",))

    assert len(result.data.steps) == 5


def test_an_index_without_a_commit_is_enough(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    write(root, {"tool.py": CODE})
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)

    result, _ = written(root)

    assert [step.reference for step in result.data.steps] == ["tool.py"]
    assert result.data.path == "docs/oracle-pack.md"
