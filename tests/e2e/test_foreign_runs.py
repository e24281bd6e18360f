"""What a repository brings in `.oraclepack` is shown, and never acted upon.

Each attack was carried out against oraclepack 0.1.0 and succeeded.
"""

import json
import os
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from oraclepack.journal import events as j
from oraclepack.journal.statuses import Move, Status
from oraclepack.system.digests import canonical_file, canonical_line, sha256_text
from tests.e2e.program import Ran, oraclepack
from tests.packs import pack_text
from tests.scripted import Scripted, scripted_tool

RUN_ID = "2026-03-01__abc1234__"
AGENT = '# 01) work\ncodex exec "do it" --full-auto\n'
"""Its steps may commit, so the newest unfinished run of the pack goes on at any commit."""
QUESTIONS = "mkdir -p out\n" + "".join(
    f"# {number:02}) ask\n"
    f'oracle -p "Question {number}?" -f src/a.py --write-output out/{number:02}.md\n'
    for number in (1, 2, 3)
)
EVIL = "[core]\n\tfsmonitor = false\n"
KEY = "0123456789abcdef0123456789abcdef"


def git(root: Path, *words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *who, *words], cwd=root, check=True, capture_output=True)


class Repository:
    """A foreign repository, with a pack that the user wants to run."""

    def __init__(self, place: Path, bash: str) -> None:
        self.root = place / "theirs"
        (self.root / "src").mkdir(parents=True)
        (self.root / "src/a.py").write_text("a = 1\n")
        (self.root / "README.md").write_text("read me\n")
        text = pack_text(bash)
        (self.root / "pack.md").write_text(text)
        self.pack_hash = sha256_text(text)
        self.run_id = f"{RUN_ID}{self.pack_hash[:8]}"
        self.engine = "pack"
        self.run = self.root / ".oraclepack/runs" / self.run_id

    def forge(self, *events: j.Event) -> None:
        """A journal with the right checksums, which are no secret."""
        created = j.RunCreated(
            schema_version=1,
            pack_id=self.run_id,
            pack_path="pack.md",
            pack_hash=self.pack_hash,
            engine=self.engine,
            steps=("01",),
            mutating=True,
        )
        self.run.mkdir(parents=True)
        crc, lines = 0, []
        for number, event in enumerate((created, *events), start=1):
            at = f"2026-03-01T10:00:{number:02}.000Z"
            payload = canonical_line(msgspec.structs.replace(event, seq=number, at=at))
            crc = zlib.crc32(payload, crc)
            lines.append(b'{"crc":"%08x","e":%s}\n' % (crc, payload))
        (self.run / "journal.jsonl").write_bytes(b"".join(lines))

    def clone(self) -> Path:
        """What the user gets."""
        git(self.root, "init", "-q")
        git(self.root, "add", "--force", ".")
        git(self.root, "commit", "-q", "-m", "all of it")
        root = self.root.with_name("clone")
        git(self.root.parent, "clone", "-q", str(self.root), str(root))
        return root

    def unpack(self) -> Path:
        """The same as an archive without git."""
        root = self.root.with_name("clone")
        shutil.copytree(self.root, root, symlinks=True)
        return root


def contents(root: Path) -> dict[str, bytes]:
    """Every file below a directory, and every link as a link."""
    return {
        path.relative_to(root).as_posix(): (
            os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        )
        for path in sorted(root.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


@pytest.fixture
def oracle(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    tools = tmp_path / "tools"
    scripted_tool(tools, "codex")
    monkeypatch.setenv("TOOLS", str(tools))
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    (home / ".bash_profile").write_text("PATH=$TOOLS:$PATH\n")
    return scripted_tool(tools)


def run_agent(root: Path, *words: str) -> Ran:
    """Run the pack whose step lets a scripted agent work."""
    return oraclepack(root, "run", "pack.md", "--json", *words)


OPEN = (
    j.SessionStarted(pid=1, host="theirs"),
    j.StepStarted(step="01", attempt=1),
)


def asides(link: str) -> tuple[j.Event, ...]:
    """The rollback puts a link in the place of git's configuration."""
    return (
        *OPEN,
        j.OutputBackedUp(
            step="01",
            attempt=1,
            path=".git/config",
            backup="backups/01.1/config",
            sha256=sha256_text(EVIL),
            bytes=1,
            link=link,
        ),
        j.RollbackStarted(steps=("01",)),
    )


def secret_over_readme() -> tuple[j.Event, ...]:
    """The rollback copies a private key over a file that a step attaches."""
    stolen = j.OutputRecorded(
        step="01",
        attempt=1,
        path="outputs/01.md",
        declared_path="README.md",
        sha256="0" * 64,
        bytes=1,
        created=False,
        backup="../../../../home/.ssh/id_rsa",
    )
    return (*OPEN, stolen, j.RollbackStarted(steps=("01",)))


def option_as_tree(victim: Path) -> tuple[j.Event, ...]:
    """The recovery gives git an option where a tree belongs."""
    return (*OPEN, j.TreeRecorded(step="01", attempt=1, tree=f"--output={victim}"))


def moves_away() -> tuple[j.Event, ...]:
    """The rollback moves a file of the user to quarantine."""
    made = j.OutputRecorded(
        step="01", attempt=1, path="o", declared_path="src/a.py", sha256="0" * 64, bytes=1
    )
    return (*OPEN, made, j.RollbackStarted(steps=("01",)))


ATTACKS = ["git's configuration", "a private key", "an option for git", "a file of the user"]


def attack(name: str, place: Path) -> tuple[j.Event, ...]:
    return {
        "git's configuration": lambda: asides("../evil-config"),
        "a private key": secret_over_readme,
        "an option for git": lambda: option_as_tree(place / "outside/notes.txt"),
        "a file of the user": moves_away,
    }[name]()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Files of the user that are no business of the repository."""
    for path, text in {"outside/notes.txt": "mine\n", "home/.ssh/id_rsa": "S3CRET\n"}.items():
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(text)
    return tmp_path


@pytest.mark.parametrize("name", ATTACKS)
def test_a_run_that_came_with_a_clone_is_left_alone(
    outside: Path, oracle: Scripted, name: str
) -> None:
    theirs = Repository(outside, AGENT)
    theirs.forge(*attack(name, outside))
    (theirs.root / "evil-config").write_text(EVIL)
    root = theirs.clone()
    before, config = contents(root), (root / ".git/config").read_bytes()

    ran = run_agent(root)

    assert ran.code == 0, ran.err
    assert ran.data["run_id"] != theirs.run_id
    assert f"run {theirs.run_id} is foreign and left alone: git tracks" in ran.out + ran.err
    assert (root / ".git/config").read_bytes() == config
    assert not (root / ".git/config").is_symlink()
    now = contents(root)
    changed = {path for path in before if now.get(path) != before[path]}
    assert not {path for path in changed if not path.startswith(".git/")}
    assert (outside / "outside/notes.txt").read_text() == "mine\n"
    assert oracle.calls == []


@pytest.mark.parametrize("name", ATTACKS)
def test_one_that_git_does_not_know_stops_the_run_and_changes_nothing(
    outside: Path, oracle: Scripted, name: str
) -> None:
    theirs = Repository(outside, AGENT)
    theirs.forge(*attack(name, outside))
    root = theirs.unpack()
    before = contents(outside)

    ran = run_agent(root)

    assert ran.code == 2
    assert ran.envelope["error"]["code"] == "FOREIGN"
    assert f"oraclepack runs trust {theirs.run_id}" in ran.envelope["error"]["suggestion"]
    assert contents(outside) == before
    assert oracle.calls == []


@pytest.mark.parametrize("is_cloned", [True, False], ids=["cloned", "unpacked"])
@pytest.mark.parametrize("name", ATTACKS)
def test_nor_does_a_rehearsal_continue_a_foreign_one(
    outside: Path, oracle: Scripted, name: str, *, is_cloned: bool
) -> None:
    theirs = Repository(outside, AGENT)
    theirs.run = theirs.root / ".oraclepack/rehearsals" / theirs.run_id
    theirs.engine = "rehearsal"
    theirs.forge(*attack(name, outside))
    (theirs.root / "evil-config").write_text(EVIL)
    root = theirs.clone() if is_cloned else theirs.unpack()
    before = contents(root)

    ran = run_agent(root, "--engine", "rehearsal")

    assert ran.code == 0, ran.err
    now = contents(root)
    changed = {path for path in before if now.get(path) != before[path]}
    assert not {path for path in changed if path == ".git/config" or not path.startswith(".git/")}
    assert (outside / "outside/notes.txt").read_text() == "mine\n"
    assert oracle.calls == []


@pytest.mark.parametrize("name", [name for name in ATTACKS if name != "a file of the user"])
def test_nor_is_a_signed_record_believed_about_such_paths(
    outside: Path, oracle: Scripted, name: str
) -> None:
    theirs = Repository(outside, AGENT)
    theirs.forge(*attack(name, outside))
    (theirs.root / "evil-config").write_text(EVIL)
    root = theirs.unpack()
    git(root, "init", "-q")
    git(root, "add", "pack.md", "README.md", "src", "evil-config")
    git(root, "commit", "-q", "-m", "all but the run")
    assert oraclepack(root, "trust", theirs.run_id, "--yes").code == 0
    kept = ("src/a.py", ".git/config")
    before = {path: contents(root)[path] for path in kept}

    run_agent(root)

    now = contents(root)
    assert {path: now.get(path) for path in kept} == before
    assert [path for path, data in now.items() if b"S3CRET" in data] == []
    assert not (root / ".git/config").is_symlink()
    assert (outside / "outside/notes.txt").read_text() == "mine\n"
    assert oracle.calls == []


@pytest.mark.parametrize("is_cloned", [True, False], ids=["cloned", "unpacked"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["runs", "list"], 0, id="runs list"),
        pytest.param(["runs", "show", "2026"], 0, id="runs show"),
        pytest.param(["runs", "prune", "--older-than", "0s"], 0, id="runs prune"),
        pytest.param(["list", "pack.md"], 0, id="list"),
        pytest.param(["run", "pack.md", "--run-id", "{run}"], 2, id="run --run-id"),
        pytest.param(["undo", "pack.md", "01"], 2, id="undo"),
        pytest.param(["undo", "pack.md", "01", "--run-id", "{run}"], 2, id="undo --run-id"),
        pytest.param(["quarantine", "list"], 0, id="quarantine list"),
        pytest.param(["quarantine", "restore", "out/_failed"], 2, id="quarantine restore"),
        pytest.param(["doctor", "--rebuild"], 2, id="doctor --rebuild"),
        pytest.param(["actionize", "--run-dir", "{dir}"], 2, id="actionize"),
        pytest.param(["verify-outputs", "pack.md"], 0, id="verify-outputs"),
        pytest.param(["cache", "list"], 0, id="cache list"),
        pytest.param(["cache", "prune", "--max-size", "0"], 0, id="cache prune"),
        pytest.param(["cache", "explain", "01"], 2, id="cache explain"),
        pytest.param(["trust", "{run}"], 2, id="trust, without a word"),
    ],
)
def test_no_command_acts_on_a_foreign_run(
    outside: Path, oracle: Scripted, words: list[str], code: int, *, is_cloned: bool
) -> None:
    theirs = Repository(outside, AGENT)
    moves = (Move(source="src/new.py", target="out/_failed/r/step-01/1/src/new.py"),)
    theirs.forge(*asides("../evil"), j.Quarantined(step="01", attempt=1, moves=moves))
    for path in (f"out/_failed/{theirs.run_id}/step-01/1/src/new.py", "out/01.md"):
        (theirs.root / path).parent.mkdir(parents=True, exist_ok=True)
        (theirs.root / path).write_text("theirs\n")
    patch = theirs.run / "steps/01/changes.patch"
    (patch.parent / "changes.patch.undo/after").mkdir(parents=True)
    patch.write_text("")
    (patch.parent / "changes.patch.undo/after/new.txt").write_text("theirs\n")
    cache = theirs.root / ".oraclepack/cache"
    cache.mkdir(parents=True)
    (cache / f"{'a' * 64}.md").write_text("theirs\n")
    (cache / f"{'a' * 64}.asking").write_text("{}\n")
    root = theirs.clone() if is_cloned else theirs.unpack()
    known = {"run": theirs.run_id, "dir": f".oraclepack/runs/{theirs.run_id}"}
    kept = {path: data for path, data in contents(root).items() if not path.startswith(".git/")}

    ran = oraclepack(root, *(word.format(**known) for word in words), "--json")

    assert ran.code == code, ran.out + ran.err
    now = contents(root)
    stray = f".oraclepack/cache/{'a' * 64}.md"  # a name of ours, and git does not know it
    gone = {path for path in kept if now.get(path) != kept[path]}
    assert gone <= (set() if is_cloned or words[1] != "prune" else {stray})
    assert oracle.calls == []


@pytest.mark.usefixtures("oracle")
def test_a_foreign_undo_is_not_finished(tmp_path: Path) -> None:
    """In an archive, since git keeps nothing of this name."""
    theirs = Repository(tmp_path, AGENT)
    change = j.TreeChanged(
        step="01", attempt=1, files=("x",), patch="steps/01/changes.patch", allowed=True
    )
    ended = j.StepFinished(step="01", attempt=1, status=Status.FAILED, exit_code=1)
    theirs.forge(*OPEN, change, ended, j.SessionFinished(exit_code=3))
    place = theirs.run / "steps/01/changes.patch.undo/after/.git/hooks/post-commit"
    place.parent.mkdir(parents=True)
    place.write_text("#!/bin/sh\ntouch /tmp/owned\n")
    place.chmod(0o755)
    (theirs.run / "steps/01/changes.patch").write_text("")
    root = theirs.unpack()
    git(root, "init", "-q")

    ran = oraclepack(root, "undo", "pack.md", "01", "--json")

    assert ran.code == 2
    assert ran.envelope["error"]["code"] == "FOREIGN"
    assert not (root / ".git/hooks/post-commit").exists()


@pytest.mark.usefixtures("oracle")
def test_not_even_in_a_run_of_ones_own(tmp_path: Path) -> None:
    theirs = Repository(tmp_path, f"{AGENT}echo edited > src/a.py\nexit 1\n")
    root = theirs.unpack()
    git(root, "init", "-q")
    git(root, "add", "src", "pack.md", "README.md")
    git(root, "commit", "-q", "-m", "all of it")
    assert oraclepack(root, "run", "pack.md", "--json").code == 3
    (patch,) = (root / ".oraclepack/runs").glob("*/steps/01/changes.patch")
    planted = patch.with_name("changes.patch.undo") / "after/.git/hooks/post-commit"
    planted.parent.mkdir(parents=True)
    planted.write_text("#!/bin/sh\ntouch /tmp/owned\n")

    ran = oraclepack(root, "undo", "pack.md", "01", "--json")

    assert ran.code == 2
    assert "was not prepared by your oraclepack" in ran.envelope["error"]["message"]
    assert not (root / ".git/hooks/post-commit").exists()
    assert (root / "src/a.py").read_text() == "edited\n"

    shutil.rmtree(patch.with_name("changes.patch.undo"))
    patch.write_text(patch.read_text().replace("+edited", "+other"))
    changed = oraclepack(root, "undo", "pack.md", "01", "--json")

    assert "not what was recorded" in changed.envelope["error"]["message"]


def run(root: Path, **variables: str) -> dict[str, Any]:
    ran = oraclepack(root, "run", "pack.md", "--no-output-verify", "--json", **variables)
    return {"code": ran.code, "out": ran.out + ran.err}


def unsigned(cache: Path) -> None:
    """As oraclepack 0.1.0 wrote its entries, or any other program could."""
    for path in cache.glob("*.json"):
        fields = json.loads(path.read_bytes())
        fields.pop("mac", None)
        path.write_bytes(canonical_file(fields | {"schema_version": 1}))


def answered(place: Path, oracle: Scripted, **variables: str) -> Repository:
    """A repository whose owner has asked its three questions, and keeps the answers in it alone."""
    theirs = Repository(place, QUESTIONS)
    assert run(theirs.root, ORACLEPACK_ANSWERS="project", **variables)["code"] == 0
    assert len(oracle.calls) == 3
    shutil.rmtree(theirs.root / ".oraclepack/runs")
    shutil.rmtree(theirs.root / "out")
    return theirs


def test_answers_that_came_with_a_clone_are_not_served(tmp_path: Path, oracle: Scripted) -> None:
    theirs = answered(tmp_path, oracle)
    unsigned(theirs.root / ".oraclepack/cache")
    root = theirs.clone()
    before = contents(root / ".oraclepack/cache")

    ran = run(root)

    assert ran["code"] == 0, ran["out"]
    assert len(oracle.calls) == 6
    now = contents(root / ".oraclepack/cache")
    assert {path: now.get(path) for path in before} == before
    assert run(root)["code"] == 0
    assert len(oracle.calls) == 6, "what was paid for is not paid for again"


def test_a_plan_says_why_answers_of_a_cache_do_not_count(tmp_path: Path, oracle: Scripted) -> None:
    theirs = answered(tmp_path, oracle, ORACLEPACK_TRUST_KEY=KEY)

    with_key = oraclepack(theirs.root, "plan", "pack.md", "--json", ORACLEPACK_TRUST_KEY=KEY)
    without = oraclepack(theirs.root, "plan", "pack.md", "--json")

    assert (with_key.data["to_ask"], with_key.data["cached"]) == (0, 3)
    assert "not used" not in with_key.err + with_key.out
    assert (without.data["to_ask"], without.data["cached"]) == (3, 0)
    assert "3 cached answers not used: it is not signed with your key" in without.err + without.out


def test_unsigned_answers_are_not_served_and_not_paid_for_again(
    tmp_path: Path, oracle: Scripted
) -> None:
    theirs = answered(tmp_path, oracle)
    unsigned(theirs.root / ".oraclepack/cache")
    root = theirs.unpack()

    ran = run(root)
    assert ran["code"] == 3
    assert "UNSIGNED_ANSWER" in ran["out"]
    assert len(oracle.calls) == 3

    taken = oraclepack(root, "trust", "--cache", "--yes", "--json")
    assert len(taken.data["answers"]) == 3
    assert run(root)["code"] == 0
    assert len(oracle.calls) == 3


def test_machines_with_one_key_serve_each_others_answers(tmp_path: Path, oracle: Scripted) -> None:
    theirs = answered(tmp_path, oracle, ORACLEPACK_TRUST_KEY=KEY)
    shared, alone = theirs.unpack(), tmp_path / "alone"
    shutil.copytree(theirs.root, alone)
    other = {"HOME": str(tmp_path / "other"), "XDG_STATE_HOME": str(tmp_path / "other/state")}
    shutil.copytree(os.environ["HOME"], tmp_path / "other")

    assert run(shared, ORACLEPACK_TRUST_KEY=KEY, **other)["code"] == 0
    assert len(oracle.calls) == 3
    assert run(alone, **other)["code"] == 0
    assert len(oracle.calls) == 6, "without the key they are foreign"


def test_a_projects_own_files_name_no_key(tmp_path: Path, oracle: Scripted) -> None:
    theirs = answered(tmp_path, oracle, ORACLEPACK_TRUST_KEY=KEY)
    (theirs.root / ".env").write_text(f"ORACLEPACK_TRUST_KEY={KEY}\n")
    (theirs.root / "key").write_text(KEY)
    (theirs.root / "key").chmod(0o600)
    root = theirs.unpack()
    (root / "oraclepack.toml").write_text(f'trust_key_file = "{root}/key"\n')

    ran = run(root)

    assert ran["code"] == 0
    assert len(oracle.calls) == 6
    assert KEY not in ran["out"]


def test_steps_and_records_never_see_the_key(tmp_path: Path, home: Path) -> None:
    theirs = Repository(tmp_path, "# 01) look\nenv > env.txt\nbash -c env >> env.txt\n")
    (home / ".bash_profile").write_text(f"export ORACLEPACK_TRUST_KEY={KEY}\n")

    ran = run(theirs.root, ORACLEPACK_TRUST_KEY=KEY)

    assert ran["code"] == 0
    assert KEY not in ran["out"]
    assert [path for path, data in contents(theirs.root).items() if KEY.encode() in data] == []


@pytest.mark.usefixtures("oracle")
@pytest.mark.parametrize("target", ["docs", "../outside"], ids=["inside", "out of the project"])
@pytest.mark.parametrize("link", [".oraclepack", ".oraclepack/runs"])
def test_no_run_is_kept_behind_a_link(outside: Path, link: str, target: str) -> None:
    theirs = Repository(outside, AGENT)
    (theirs.root / "docs").mkdir()
    (theirs.root / "docs/a.md").write_text("theirs\n")
    (theirs.root / link).parent.mkdir(parents=True, exist_ok=True)
    (theirs.root / link).symlink_to("../" * link.count("/") + target)
    root = theirs.clone()
    before = contents(outside)

    ran = run_agent(root)

    assert ran.code == 2
    assert "symbolic link" in ran.envelope["error"]["message"]
    assert contents(outside) == before


def test_a_cache_behind_a_link_is_neither_pruned_nor_used(tmp_path: Path, oracle: Scripted) -> None:
    theirs = Repository(tmp_path, QUESTIONS)
    (theirs.root / "docs").mkdir()
    (theirs.root / "docs/diary.md").write_text("mine\n")
    (theirs.root / f"docs/{'a' * 64}.md").write_text("mine\n")
    (theirs.root / ".oraclepack").mkdir()
    (theirs.root / ".oraclepack/cache").symlink_to("../docs")
    root = theirs.clone()
    before = contents(root / "docs")

    pruned = oraclepack(root, "cache", "prune", "--older-than", "0s", "--json")
    ran = run(root)

    assert (pruned.code, pruned.envelope["error"]["code"]) == (2, "FOREIGN")
    assert ran["code"] == 0, ran["out"]
    assert contents(root / "docs") == before
    assert run(root)["code"] == 0
    assert len(oracle.calls) == 3, "the run keeps its own answers instead"


def test_a_run_of_ones_own_goes_on_until_git_tracks_it(tmp_path: Path, oracle: Scripted) -> None:
    theirs = Repository(tmp_path, QUESTIONS + "# 04) last\n[[ -e go ]]\n")
    root = theirs.clone()
    assert run(root)["code"] == 3
    (root / "go").touch()

    git(root, "add", "--force", ".oraclepack/runs")
    tracked = oraclepack(root, "runs", "list", "--json").data["runs"]
    git(root, "rm", "-rq", "--cached", ".oraclepack")
    again = run(root)

    assert [one["status"] for one in tracked] == ["foreign"]
    assert again["code"] == 0, again["out"]
    assert len(oracle.calls) == 3
