import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from oraclepack.authoring.file_kinds import worth_reading
from oraclepack.errors import InputError, UsageError
from oraclepack.pack.model import CATEGORIES, Pack
from oraclepack.pack.tool_call import AttachmentKind
from tests.authoring import repositories as repos
from tests.authoring.making import made, strict_findings

SHAPES: dict[str, Mapping[str, str | bytes]] = {
    "a Go service": repos.GO_SERVICE,
    "a small Go program": repos.SECOND_GO,
    "a TypeScript web app": repos.WEB_APP,
    "a Django-like monolith": repos.MONOLITH,
    "a single file": repos.SINGLE_FILE,
    "only prose": {"README.md": "# Notes\n\nNothing else.\n"},
    "an empty commit of one empty file": {"empty.txt": ""},
}
ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("chunked", [False, True], ids=["single", "chunked"])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_repository_gives_a_strict_pack(
    tmp_path: Path, shape: str, chunked: bool
) -> None:
    root = repos.a_repository(tmp_path / "r", SHAPES[shape])

    outcome, pack = made(root, chunked=chunked)

    assert strict_findings(root, pack, shellcheck=shape == "a single file") == []
    assert sorted(step.attribute("category") or "" for step in pack.steps) == sorted(CATEGORIES * 2)
    attached = [_attached(step.calls[0]) for step in pack.steps]
    assert all((root / path).is_file() for paths in attached for path in paths)
    assert max(map(len, attached)) <= 3
    asked = [paths for paths in attached if paths]
    assert sum(map(len, asked)) <= 2 * len(asked)
    assert all(len(step.calls) == (4 if chunked else 1) for step in pack.steps)
    assert outcome.warnings == ()


def test_an_empty_repository_gives_a_strict_pack_that_asks_what_to_attach(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r")

    outcome, pack = made(root)

    assert outcome.data.path == "docs/oracle-pack.md"
    assert strict_findings(root, pack) == []
    assert {step.attribute("reference") for step in pack.steps} == {"Unknown"}
    assert all("say what to attach" in _prompt(pack, n) for n in range(20))


def test_this_repository_gives_a_strict_pack(tmp_path: Path) -> None:
    outcome, pack = made(ROOT, out=str(tmp_path / "pack.md"))

    assert strict_findings(ROOT, pack) == []
    references = {step.reference for step in outcome.data.steps} - {"Unknown"}
    assert len(references) >= 8


@pytest.mark.parametrize(
    "shape", ["a Go service", "a TypeScript web app", "a Django-like monolith"]
)
def test_many_files_are_asked_about(tmp_path: Path, shape: str) -> None:
    root = repos.a_repository(tmp_path / "r", SHAPES[shape])

    outcome, _ = made(root)

    assert len({step.reference for step in outcome.data.steps} - {"Unknown"}) >= 8


def test_secrets_locks_generated_and_binary_files_are_never_attached(tmp_path: Path) -> None:
    shapes = {**repos.GO_SERVICE, **repos.WEB_APP, **repos.MONOLITH}
    big = "x = 1\n" * 200_000
    root = repos.a_repository(tmp_path / "r", {**shapes, "books/huge.py": big})

    outcome, _ = made(root)

    attached = {path for step in outcome.data.steps for path in step.attachments}
    never = {"go.sum", "package-lock.json", "uv.lock", ".env", "secrets/id_rsa", "books/huge.py"}
    never |= {"internal/api/wire.pb.go", "dist/bundle.min.js", "assets/logo.png"}
    assert attached & never == set()
    assert not any("[" in path for path in attached), "oracle would read it as a pattern"


def test_the_same_commit_gives_the_same_bytes_in_a_second_clone(tmp_path: Path) -> None:
    later = {"books/views.py": "import os\n", "books/tasks.py": "import sys\n"}
    root = repos.a_repository(tmp_path / "one", repos.MONOLITH, later)
    clone = tmp_path / "elsewhere" / "other-name"
    clone.parent.mkdir()
    repos.git(root, "clone", "-q", str(root), str(clone))
    (clone / "untracked.py").write_text("app.get('/x')\n")
    (clone / "books/urls.py").write_text("path('x/', y)\n")

    first, _ = made(root)
    bytes_of_first = (root / first.data.path).read_bytes()
    again, _ = made(root)
    second, _ = made(clone)

    assert first.data.path == "docs/oracle-pack-2026-03-04.md"
    assert again.data.unchanged
    assert (root / first.data.path).read_bytes() == bytes_of_first
    assert (clone / second.data.path).read_bytes() == bytes_of_first


def test_a_dirty_work_tree_changes_nothing_but_is_told(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r", repos.MONOLITH)
    first, pack = made(root)
    (root / "books/views.py").write_text("nothing\n")

    second, again = made(root)

    assert again.text == pack.text
    assert (first.warnings, len(second.warnings)) == ((), 1)


def test_a_shallow_clone_is_told(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r", repos.MONOLITH)
    more = ["-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "more"]
    subprocess.run(["git", *more, "--allow-empty"], cwd=root, check=True)
    words = ["clone", "-q", "--depth", "1", root.as_uri(), str(tmp_path / "s")]
    subprocess.run(["git", *words], check=True)

    outcome, _ = made(tmp_path / "s")

    assert "shallow" in outcome.warnings[0]


def test_two_repositories_of_one_language_get_different_questions(tmp_path: Path) -> None:
    _, one = made(repos.a_repository(tmp_path / "a", repos.GO_SERVICE))
    _, other = made(repos.a_repository(tmp_path / "b", repos.SECOND_GO))

    first, second = _questions(one), _questions(other)

    assert first.keys() == second.keys()
    assert sum(first[key] != second[key] for key in first) >= 15


def test_every_prompt_carries_its_metadata(tmp_path: Path) -> None:
    _, pack = made(repos.a_repository(tmp_path / "r", repos.MONOLITH))

    for step in pack.steps:
        assert step.meta.category == step.attribute("category")
        assert step.meta.reference == step.attribute("reference")
        assert step.meta.question_id is not None
        assert step.meta.expected_artifacts is not None


def test_the_calls_stand_on_one_line_and_need_no_new_bash(tmp_path: Path) -> None:
    _, pack = made(repos.a_repository(tmp_path / "r", repos.GO_SERVICE), chunked=True)

    calls = [call for step in pack.steps for call in step.calls]
    assert len(calls) == 80
    assert all(call.span.line == call.span.end_line for call in calls)
    assert "$(" not in pack.text
    assert "\\\n" not in pack.text


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
    root = repos.a_repository(tmp_path / "r", repos.SINGLE_FILE)

    place = str((root / out).resolve()) if out else ""
    outcome, pack = made(root, out=place, day="2027-01-02")

    assert (outcome.data.out_dir, pack.out_dir) == (answers, answers)
    assert strict_findings(root, pack) == []
    assert not worth_reading(f"{answers}/01-x.md", 10)


def test_options_reach_every_call(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r", {**repos.GO_SERVICE, "docs/adr.md": "# ADR\n"})

    outcome, pack = made(
        root,
        out="",
        out_dir="answers/here",
        day="2027-01-02",
        model="gpt-5.2",
        engine="api",
        oracle_cmd="npx -y @steipete/oracle",
        oracle_flags="--wait",
        extra_files=("docs/adr.md",),
        constraints="no `new`\n```\nPROMPT\ndependencies",
        non_goals="don't touch billing",
    )

    assert outcome.data.path == "docs/oracle-pack-2027-01-02.md"
    assert strict_findings(root, pack) == []
    for step in pack.steps:
        call = step.calls[0]
        assert [word.value for word in call.values("--model")] == ["gpt-5.2"]
        assert [word.value for word in call.values("--engine")] == ["api"]
        assert "docs/adr.md" in _attached(call)
        assert len(_attached(call)) <= 3
        assert step.outputs[0].path.shown.startswith("answers/here/")
        assert call.prompt is not None
        assert "Constraints: no `new` ``` PROMPT dependencies\n" in call.prompt.text


def test_focus_limits_the_references(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r", repos.MONOLITH)

    outcome, pack = made(root, focus=("books/", "./lending/urls.py"))

    references = {step.reference for step in outcome.data.steps} - {"Unknown"}
    assert references
    assert all(r.startswith("books/") or r == "lending/urls.py" for r in references)
    assert strict_findings(root, pack) == []


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        pytest.param({"focus": ("nowhere",)}, "nothing tracked lies at nowhere", id="focus"),
        pytest.param({"day": "yesterday"}, "is no day", id="a date that is none"),
        pytest.param({"extra_files": (".env",)}, "looks like a secret", id="a secret"),
        pytest.param({"extra_files": ("no.py",)}, "no tracked file", id="an untracked extra file"),
        pytest.param({"extra_files": ("big.txt",)}, "oracle takes", id="a big extra file"),
        pytest.param({"extra_files": ("a,b.md",)}, "a pattern or a list", id="a comma"),
        pytest.param({"extra_files": ("a", "b", "c")}, "3 files", id="three extra files"),
        pytest.param({"oracle_cmd": "oracle; rm x"}, "plain list of words", id="a program"),
        pytest.param({"oracle_flags": "--x '"}, "No closing quotation", id="an open quote"),
        pytest.param({"oracle_cmd": "echo"}, "would not be valid", id="not oracle at all"),
        pytest.param({"out_dir": "../x"}, "would not be valid", id="answers outside"),
        pytest.param({"oracle_flags": "--no-such"}, None, id="an unknown flag is only a warning"),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(
    tmp_path: Path, wish: dict[str, object], told: str | None
) -> None:
    more: dict[str, str | bytes] = {"big.txt": "x" * 1_100_000, "a,b.md": "x\n"}
    root = repos.a_repository(tmp_path / "r", {**repos.MONOLITH, **more})

    if told is None:
        made(root, **wish)
        return
    with pytest.raises(UsageError, match=re.escape(told)):
        made(root, **wish)
    assert not (root / "docs").exists()


def test_another_pack_is_only_replaced_by_force(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r", repos.MONOLITH)
    repos.write(root, {"docs/oracle-pack-2026-03-04.md": "mine\n"})

    with pytest.raises(UsageError, match="exists and is different"):
        made(root)
    outcome, _ = made(root, force=True)

    assert not outcome.data.unchanged


def test_outside_git_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not in a git repository"):
        made(tmp_path)


def test_an_index_without_a_commit_is_enough(tmp_path: Path) -> None:
    root = repos.a_repository(tmp_path / "r")
    repos.write(root, repos.SINGLE_FILE)
    repos.git(root, "add", "-A")

    outcome, pack = made(root)

    assert {step.reference for step in outcome.data.steps} >= {"tool.py"}
    assert strict_findings(root, pack) == []


def _attached(call: object) -> list[str]:
    attachments = getattr(call, "attachments", ())
    return [one.value for one in attachments if one.kind is AttachmentKind.LITERAL]


def _prompt(pack: Pack, index: int) -> str:
    prompt = pack.steps[index].calls[0].prompt
    assert prompt is not None
    return prompt.text


def _questions(pack: Pack) -> dict[str, str]:
    """Each question without its paths."""
    found = {}
    for index, step in enumerate(pack.steps):
        text = _prompt(pack, index).split("Question:\n")[1].split("\n\n")[0]
        found[step.meta.question_id or ""] = re.sub(r"\S*[/.]\S*", "PATH", text)
    return found
