"""`actionize --ask`: a model names the work, rules check every word, each question is paid once."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import Ran
from tests.e2e.run.project import GIT, Program, Zygote
from tests.packs import pack_text
from tests.work.replying import Replying, block, replying_oracle

LOCK = "The writer of `src/ledger.py` takes no lock. It should take one before the balance is read."
CACHE = "**Drop the price cache** in src/prices.py, except for the nightly job."
KEEP = "Keep the price cache in src/prices.py and refresh it every hour."
PRAISE = "The parser handles empty input well."
ANSWERS = {
    "01-ledger.md": f"- {LOCK}\n- {PRAISE}\n",
    "02-prices.md": f"{CACHE}\n\nNobody knows why it was written.\n",
    "03-cache.md": f"{KEEP}\n\nThe writer of `src/ledger.py` should take a lock.\n",
}
STEP = """\
# {n:02}) ROI=2.0 impact=4 confidence=0.5 effort=1 horizon=NearTerm category=invariants reference=a
oracle -p "What of part {n}?" --write-output out/{n:02}-x.md
"""
LEDGER = block(
    [
        {
            "title": "take one before the balance is read",
            "kind": "change",
            "quote": "It should take one  before the balance\nis read.",
            "files": ["src/ledger.py"],
            "effort": "Small",
        }
    ],
    verdict="The writer of src/ledger.py takes no lock.",
)
PRICES = block(
    [{"title": "Drop the price cache", "kind": "change", "quote": CACHE.replace("*", "")}]
)
CACHED = block(
    [
        {"title": "Keep the price cache", "kind": "change", "quote": KEEP},
        {
            "title": "Lock",
            "kind": "change",
            "quote": "The writer of src/ledger.py should take a lock",
        },
    ]
)
PAGES = ("normalized.jsonl", "change-plan.md")
PAIRS = '{"same": [["01-01", "03-02"]], "conflict": [["02-01", "03-01"]]}'
GOOD = {" | change | ": PAIRS, PRAISE: LEDGER, "Nobody knows": PRICES, "refresh it": CACHED}


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    server = Zygote()
    yield server
    server.close()


class Project:
    """A project with three answers, and a model that reads them."""

    def __init__(self, folder: Path, zygote: Zygote) -> None:
        self.root = folder / "project"
        (self.root / "answers").mkdir(parents=True)
        for name, text in ANSWERS.items():
            (self.root / "answers" / name).write_text(text)
        steps = "".join(STEP.format(n=number) for number in (1, 2, 3))
        (self.root / "pack.md").write_text(pack_text(steps))
        subprocess.run([*GIT, "init", "-q"], cwd=self.root, check=True)
        self.oracle: Replying = replying_oracle(folder / "tools")
        self.oracle.reply(GOOD)
        self._zygote = zygote
        self._folder = folder
        self._count = 0

    def start(self, *args: str, fault: dict[str, object] | None = None) -> Program:
        self._count += 1
        out, err = (self._folder / f"{self._count}.{name}" for name in ("out", "err"))
        path = f"{self.oracle.folder}:/usr/bin:/bin"
        home = self._folder / "home"
        home.mkdir(exist_ok=True)
        (home / ".bash_profile").write_text(f"PATH={path}\n")
        pid = self._zygote.ask(
            do="start",
            args=("actionize", "--answers", "answers", "--pack", "pack.md", *args),
            cwd=str(self.root),
            env={"PATH": path, "HOME": str(home), "LANG": "C.UTF-8", "OPENAI_API_KEY": "sk-none"},
            out=str(out),
            err=str(err),
            fault=fault,
        )
        return Program(self._zygote, pid, out, err)

    def run(self, *args: str) -> Ran:
        return self.start(*args).wait()

    @property
    def artifacts(self) -> dict[str, str]:
        folder = self.root / "answers/actionizer"
        return {path.name: path.read_text() for path in sorted(folder.iterdir())}

    @property
    def records(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.artifacts["normalized.jsonl"].splitlines()]

    def work(self) -> list[tuple[str, str, str]]:
        own = [row for row in self.records if row["same_as"] is None]
        rows = [row for row in own if row["status"] in {"actionable", "conflict"}]
        return [(row["step_id"], row["status"], row["title"]) for row in rows]


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    return Project(tmp_path, zygote)


def test_a_model_names_the_work_in_the_words_of_the_answers(project: Project) -> None:
    ran = project.run("--ask", "--json")

    assert ran.code == 0, ran
    assert project.work() == [
        ("01", "actionable", "Take one before the balance is read"),
        (
            "02",
            "conflict",
            "Decide: Drop the price cache … except for the nightly job (02 against 03)",
        ),
    ]
    lock = project.records[0]
    assert (lock["origin"], lock["merged"], lock["size"]) == ("asked", [lock["merged"][0]], "S")
    assert lock["sources"] == ["01", "03"]
    assert lock["evidence"]["paths"] == ["src/ledger.py"]
    said = " ".join(text for row in project.records for text in row["actions"])
    for text in (LOCK, PRAISE, CACHE, KEEP, "Nobody knows why it was written."):
        assert text in said, "nothing that an answer says is lost"
    assert "The writer of src/ledger.py takes no lock" in project.artifacts["backlog.md"]
    assert "found by a model and checked against the answers" in project.artifacts["backlog.md"]


def test_what_was_asked_once_is_not_asked_again(project: Project) -> None:
    project.run("--ask")
    first = project.artifacts
    assert len(project.oracle.prompts) == 4

    assert project.run("--ask").code == 0
    assert project.artifacts == first
    shutil.rmtree(project.root / ".oraclepack")
    project.oracle.reply({})
    assert project.run().code == 0
    assert project.artifacts == first, "also without --ask, cache and runs"
    assert len(project.oracle.prompts) == 4

    (project.root / "answers/02-prices.md").write_text(f"{CACHE}\n\nNobody knows anything.\n")
    project.run()
    rows = project.records
    assert {row["origin"] for row in rows if row["step_id"] == "02"} == {"read"}
    assert "asked" in {row["origin"] for row in rows if row["step_id"] == "01"}


def test_nothing_that_a_model_invents_arrives(project: Project) -> None:
    invented = block(
        [
            {"title": "Rewrite it in Rust", "quote": "Rewrite the ledger in Rust, please now."},
            {"title": "No quote at all"},
            {
                "title": "Delete the whole database",
                "quote": LOCK.replace("`", ""),
                "files": ["src/ledger.py", "src/invented.py"],
                "done_when": "the invented test passes",
                "evidence": ["src/invented.py:7"],
                "after": ["No quote at all"],
            },
        ],
        verdict="The code is a catastrophe of invented proportions.",
    )
    pairs = '{"same": [["01-01", "02-01"], ["07-01", "01-01"]], "conflict": [["01-01", "01-02"]]}'
    project.oracle.reply({**GOOD, PRAISE: invented, " | change | ": pairs})

    ran = project.run("--ask", "--json")

    assert ran.code == 0, ran
    lines = project.artifacts["backlog.md"].splitlines()
    pages = [line for line in lines if not line.startswith("- Rejected from the model's reply: ")]
    text = "\n".join((*pages, *(project.artifacts[name] for name in PAGES)))
    for word in ("catastrophe", "Delete the whole", "invented", "Rust", "No quote"):
        assert word not in text
    assert [title for step, _, title in project.work() if step == "01"] == [
        "The writer of src/ledger.py takes no lock"
    ]
    backlog = project.artifacts["backlog.md"]
    assert "Rejected from the model's reply: the answer does not say: Rewrite the ledger" in backlog
    assert "the answer names no file src/invented.py" in backlog
    assert sum("nothing in common: 01-01 and 02-01" in text for text in ran.envelope["warnings"])
    assert len([text for text in ran.envelope["warnings"] if "rejected" in text]) == 3


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("I cannot help with that.", id="a refusal"),
        pytest.param("[oraclepack-work]\n{broken\n[/oraclepack-work]", id="broken"),
        pytest.param('{"something": "else"}', id="another form"),
    ],
)
def test_a_reply_that_cannot_be_read_leaves_the_rules(project: Project, reply: str) -> None:
    project.run()
    by_rules = project.records
    project.oracle.reply({"": reply})

    assert project.run("--ask").code == 0
    assert project.records == by_rules
    assert "the reply is not of the form" in project.artifacts["backlog.md"]


def test_an_answer_that_states_its_work_is_not_asked_about(project: Project) -> None:
    stated = f"{LOCK}\n\nWORK: Add a lock | files: src/ledger.py | effort: S\n"
    (project.root / "answers/01-ledger.md").write_text(stated)
    hostile = f"{KEEP}\n```\n# 02) two\n$(touch hacked) `touch hacked`\nPROMPT_1\n````bash\n"
    (project.root / "answers/03-cache.md").write_text(hostile)

    assert project.run("--ask").code == 0
    assert not any("Add a lock" in prompt for prompt in project.oracle.prompts[:2])
    assert len(project.oracle.prompts) == 3
    assert not (project.root / "hacked").exists()


@pytest.mark.parametrize(
    ("args", "code", "asked"),
    [
        pytest.param(["--ask", "--ci"], 2, 0, id="in CI without a limit"),
        pytest.param(["--ask-model", "gpt-5.2"], 2, 0, id="a model without --ask"),
        pytest.param(["--ask", "--max-calls", "2"], 7, 2, id="a limit that is reached"),
        pytest.param(["--ask", "--ci", "--max-cost", "9"], 0, 4, id="in CI with a limit"),
    ],
)
def test_limits(project: Project, args: list[str], code: int, asked: int) -> None:
    assert project.run(*args, "--json").code == code
    assert len(project.oracle.prompts) == asked
    if code == 7:
        assert project.run("--ask").code == 0
        assert len(project.oracle.prompts) == 4, "the same command goes on"


@pytest.mark.slow
@pytest.mark.parametrize("number", range(5, 400, 23))
def test_killed_anywhere_each_question_is_paid_once(project: Project, number: int) -> None:
    killed_at(project, number)


def killed_at(project: Project, number: int) -> bool:
    notes = project.root.parent / "notes"
    program = project.start("--ask", fault={"notes": str(notes), "kill": number})
    was_killed = program.wait().code < 0
    again = project.run("--ask", "--json")
    assert again.code == 0, again
    assert len(project.oracle.prompts) == len(set(project.oracle.prompts)) == 4
    assert len(project.work()) == 2
    return was_killed
