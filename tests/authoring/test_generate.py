import json
import re
import subprocess
from pathlib import Path

import pytest

from oraclepack.authoring.file_roles import worth_reading
from oraclepack.authoring.generate import GenerateRequest, GenerateResult, generate
from oraclepack.authoring.question_selection import PROFILES
from oraclepack.errors import InputError, UsageError
from oraclepack.pack.model import Pack
from oraclepack.pack.parse.read_pack import parse_pack
from tests.authoring.fixture_repositories import build, commit, repository, write
from tests.authoring.generated_packs import attached_to, findings, made, prompt_of, quotes_of
from tests.authoring.repositories import git

ROOT = Path(__file__).parent.parent.parent


def written(root: Path, **wishes: object) -> tuple[GenerateResult, Pack]:
    result = generate(GenerateRequest(root=root, **wishes))  # type: ignore[arg-type]
    path = root / result.data.path
    return result, parse_pack(path.read_text(encoding="utf-8"), path.as_posix())


@pytest.mark.slow
def test_this_repository_gives_a_strict_pack() -> None:
    result, pack = made(ROOT)

    assert findings(ROOT, pack, strict=True) == []
    assert len({step.reference for step in result.data.steps}) >= 12


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
    assert (first.warnings, again.data.unchanged) == ((), True)
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

    assert findings(root, pack, strict=kind == "library") == []
    assert all(len(step.calls) == 4 for step in pack.steps)
    assert all("WORK:" in prompt_of(step) for step in pack.steps)
    assert all(call.span.line == call.span.end_line for step in pack.steps for call in step.calls)


def test_secrets_locks_generated_and_odd_names_are_never_attached(tmp_path: Path) -> None:
    code = "import os\n\n\ndef f():\n    os.remove('a')\n    os.rename('b', 'c')\n"
    files: dict[str, str | bytes] = {
        "good.py": code,
        "secrets/id_rsa": code,
        "pages/[id].py": code,
        "a,b.py": code,
        "wire_pb2.py": code,
        "made.py": f"# @generated\n{code}",
        "vendor/x.py": code,
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
        pytest.param(("ledger/rates.py",), {"ledger/rates.py"}, id="a file"),
        pytest.param(("ledger/",), None, id="a folder"),
        pytest.param(("open_book",), {"ledger/accounts.py", "ledger/report.py"}, id="a function"),
        pytest.param(("Money.split",), {"ledger/money.py"}, id="a method"),
    ],
)
def test_focus_limits_the_questions(
    tmp_path: Path, focus: tuple[str, ...], references: set[str] | None
) -> None:
    result, pack = made(build("library", tmp_path / "r"), focus=focus)

    found = {step.reference for step in result.data.steps}
    assert found
    assert found <= references if references else all(r.startswith("ledger/") for r in found)
    if focus == ("open_book",):
        assert all("open_book" in " ".join(q.code for q in quotes_of(s)) for s in pack.steps)


def test_excluded_files_are_not_even_read(tmp_path: Path) -> None:
    result, _ = made(build("library", tmp_path / "r"), exclude=("ledger/rates.py", "*report*"))

    attached = {path for step in result.data.steps for path in step.attachments}
    assert attached
    assert not attached & {"ledger/rates.py", "ledger/report.py"}


@pytest.mark.parametrize("profile", PROFILES)
def test_a_profile_prefers_its_questions(tmp_path: Path, profile: str) -> None:
    root = build("service", tmp_path / "r")

    plain, _ = made(root, count=6)
    chosen, pack = made(root, profile=profile, count=6)

    def share(result: GenerateResult) -> int:
        names = PROFILES[profile]
        steps = result.data.steps
        return sum(s.category in names or s.question_id.startswith(tuple(names)) for s in steps)

    assert len(pack.steps) == 6
    assert share(chosen) > share(plain)


def test_central_files_do_not_displace_what_a_profile_prefers(tmp_path: Path) -> None:
    result, _ = made(build("service", tmp_path / "r"), profile="security", count=4)

    names = PROFILES["security"]
    assert all(
        s.category in names or s.question_id.startswith(tuple(names)) for s in result.data.steps
    )


@pytest.mark.parametrize("deleted", [False, True], ids=["no commit", "a deletion"])
def test_nothing_edited_is_said_so(tmp_path: Path, *, deleted: bool) -> None:
    root = build("library", tmp_path / "r")
    git(root, "tag", "base")
    if deleted:
        git(root, "rm", "-q", "README.md")
        git(root, "commit", "-qm", "Remove a file")

    result, _ = made(root, since="base")

    said = "no file that exists was edited since the fork point from base; no pack was written"
    assert said in result.warnings


def test_a_number_of_questions_can_be_asked_for(tmp_path: Path) -> None:
    root = build("library", tmp_path / "r")

    result, pack = made(root, count=5)

    assert (len(pack.steps), result.warnings) == (5, ())
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

    keys = {step.question_id for step in result.data.steps}
    assert "changed-signature-parse-money" in keys
    changed = {n for n, line in enumerate(text.split("\n"), 1) if "default" in line}
    for step in pack.steps:
        assert any(q.path == "ledger/money.py" and q.line in changed for q in quotes_of(step))
    gains = next(s for s in result.data.steps if s.question_id == "changed-signature-parse-money")
    assert "it gains default" in gains.question


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
    assert all("The change adds" in step.question for step in result.data.steps)


def test_code_that_moved_to_another_file_is_not_new(tmp_path: Path) -> None:
    root = build("library", tmp_path / "r")
    text = (root / "ledger/money.py").read_text(encoding="utf-8")
    at = text.index("def parse_money")
    following = text.find("\ndef ", at + 1)
    moved = text[at:following] if following > 0 else text[at:]
    git(root, "mv", "ledger/money.py", "ledger/amounts.py")
    commit(root, {"ledger/amounts.py": text.replace(moved, ""), "ledger/parsing.py": moved}, "Move")

    result, _ = made(root, since="HEAD~1")

    assert [step.question for step in result.data.steps if "The change adds" in step.question] == []


def test_since_the_present_commit_there_is_nothing_to_ask(tmp_path: Path) -> None:
    result, _ = made(build("library", tmp_path / "r"), since="HEAD")

    assert result.data.steps == ()
    assert "no pack was written" in result.warnings[0]


@pytest.mark.parametrize("how", ["subdir", "auto"])
def test_groups_make_several_packs_and_a_manifest(tmp_path: Path, how: str) -> None:
    root = build("monorepo", tmp_path / "r")

    result = generate(GenerateRequest(root=root, group=how))

    assert result.data.manifest is not None
    listed = json.loads((root / result.data.manifest).read_bytes())
    assert {pack["group"] for pack in listed["packs"]} >= {"web"}
    assert len(listed["packs"]) == len(result.data.packs) == 2
    for one in result.data.packs:
        pack = parse_pack((root / one.path).read_text(encoding="utf-8"), one.path)
        assert findings(root, pack, strict=False) == []
        assert len({out for step in pack.steps for out in step.outputs}) == len(pack.steps)
    assert len({one.out_dir for one in result.data.packs}) == 2
    again = generate(GenerateRequest(root=root, group=how))
    assert again.data.unchanged


TICKETS: dict[str, str | bytes] = {
    "billing/split.md": (
        "# Split amounts fairly\n\nThe rest of `split` goes to the first part today.\n\n"
        "## Acceptance criteria\n\n- The rest is spread over the first parts\n"
        "- The sum of the parts is the amount\n- A negative amount works as well\n"
    ),
    "billing/rates.md": (
        "# Rates time out\n\n`fetch_rate` in ledger/rates.py hangs when the service is down.\n"
        "People wait for minutes and then close the window.\n"
    ),
    "storage/rotate.md": (
        "# Keep more old files\n\n- [ ] Number the files of rotate in ledger/storage.py\n"
        "- [ ] Delete the oldest one\n- [ ] Tell the user which files there are\n"
    ),
}


@pytest.mark.parametrize(
    ("group", "names"),
    [
        pytest.param("", {""}, id="one pack"),
        pytest.param("subdir", {"billing", "storage"}, id="a pack for each folder"),
    ],
)
def test_tickets_give_packs_that_quote_them(tmp_path: Path, group: str, names: set[str]) -> None:
    root = build("library", tmp_path / "r")
    write(root, {f".tickets/{name}": text for name, text in TICKETS.items()})

    result = generate(GenerateRequest(root=root, from_tickets=".tickets", group=group))

    packs = result.data.packs or ()
    assert {pack.group for pack in packs} == (names if group else set())
    for path in [pack.path for pack in packs] or [result.data.path]:
        pack = parse_pack((root / path).read_text(encoding="utf-8"), path)
        assert findings(root, pack, strict=False) == []
        for step in pack.steps:
            assert (step.attribute("reference") or "").startswith(".tickets/")
            for quote in quotes_of(step):
                line = (root / quote.path).read_text(encoding="utf-8").split("\n")[quote.line - 1]
                assert quote.code == " ".join(line.split())


def test_tickets_that_name_the_same_things_come_into_one_group(tmp_path: Path) -> None:
    root = build("library", tmp_path / "r")
    more = {"c.md": "# Retry the rates\n\nAsk ledger/rates.py again after a minute, in any case.\n"}
    tickets = {"a.md": TICKETS["billing/rates.md"], **more, "b.md": TICKETS["billing/split.md"]}
    write(root, {f".tickets/{name}": text for name, text in tickets.items()})

    result = generate(GenerateRequest(root=root, from_tickets="", group="auto"))

    assert sorted(pack.group for pack in result.data.packs) == ["Rates time out", "misc"]


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        pytest.param({"focus": ("nowhere",)}, "no code defines that name", id="focus"),
        pytest.param({"since": "no-such-branch"}, "names no commit", id="since"),
        pytest.param({"since": "--output=x"}, "names no commit", id="since that looks like a flag"),
        pytest.param({"profile": "speed"}, "not one of security", id="a profile that is none"),
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
        pytest.param({"group": "auto", "to_stdout": True}, "give one of them", id="both"),
        pytest.param({"group": "auto", "out": "x.md"}, "must name a directory", id="a file"),
        pytest.param({"from_tickets": "", "since": "HEAD"}, "give one", id="tickets and changes"),
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


def test_a_missing_directory_of_tickets_is_named_by_its_flag(tmp_path: Path) -> None:
    root = repository(tmp_path / "r", {"a.py": "x = 1\n"})

    with pytest.raises(InputError, match=r"^--from-tickets nodir"):
        generate(GenerateRequest(root=root, from_tickets="nodir"))


def test_a_repository_of_built_code_says_what_was_left_out(tmp_path: Path) -> None:
    result, _ = made(repository(tmp_path / "r", {"dist/a.js": "f()\n", "dist/b.js": "g()\n"}))

    assert "2 in dist/" in result.warnings[0]


def test_a_focused_file_carries_more_than_four_questions(tmp_path: Path) -> None:
    kinds = ("remove", "unlink", "rename", "replace", "rmdir")
    code = "import os\n" + "".join(
        f"\n\ndef clean_{kind}(path, other):\n    os.{kind}(path)\n    os.rename(other, path)\n"
        f"    try:\n        os.stat(path)\n    except Exception:\n        pass\n"
        for kind in kinds
    )
    root = repository(tmp_path / "r", {"tool.py": code, "other.py": "import tool\n"})

    result, _ = made(root, focus=("tool.py",))

    assert len(result.data.steps) > 4


def test_an_index_without_a_commit_is_enough(tmp_path: Path) -> None:
    root = repository(tmp_path / "r")
    write(
        root, {"tool.py": "import os\n\n\ndef f():\n    os.remove('a')\n    os.rename('b', 'c')\n"}
    )
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)

    result, _ = written(root)

    assert [step.reference for step in result.data.steps] == ["tool.py"]
    assert result.data.path == "docs/oracle-pack.md"


def test_files_of_languages_without_a_parser_are_named(tmp_path: Path) -> None:
    result, _ = made(
        repository(tmp_path / "r", {"a.kt": "fun main() {}\n", "b.kt": "fun b() {}\n"})
    )

    assert "2 Kotlin files" in result.warnings[0]


def test_names_from_string_literals_cannot_leave_the_heredoc(tmp_path: Path) -> None:
    again = "IFS= read -r -d '' prompt <<'PROMPT' || true"
    name = f"A\\nPROMPT\\ntouch escaped\\n{again}\\nB"
    code = f"""import os


def load():
    return os.environ.get("{name}"), os.environ["C"]


def tell():
    return os.environ.get("D"), os.environ["E"]
"""
    root = repository(tmp_path / "r", {"shop/code.py": code, "shop/__init__.py": ""})

    _, pack = made(root)

    assert [step.id for step in pack.steps]
    assert [(step.id, len(step.script.heredocs)) for step in pack.steps] == [
        (step.id, 1) for step in pack.steps
    ]
    assert "A PROMPT touch escaped" in prompt_of(pack.steps[0])
