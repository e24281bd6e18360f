"""`generate --ask`: a scripted model that also invents lines, files and duplicates."""

import json
import os
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from oraclepack.pack.parse.read_pack import parse_pack
from tests.authoring.repositories import a_repository
from tests.cli.answers import Ran, answer
from tests.e2e.run.project import Zygote
from tests.torture.ground import Ground, a_ground
from tests.torture.victims import MOMENTS, held, kill, open_gate
from tests.work.replying import Replying, replying_oracle

COUNT = 20
FUNCTION = (
    "def keep_{0:02}(store, item):\n    store.items_{0:02}.append(item)\n    store.flush_{0:02}()"
)
CODE = "\n\n".join(map(FUNCTION.format, range(COUNT))) + "\n"
FILES = {
    "shop/__init__.py": "",
    "shop/store.py": CODE,
    "tests/test_store.py": "from shop.store import keep_00\n\n\ndef test_it(): keep_00(1, 2)\n",
    ".env": "TOKEN=1\n",
    "README.md": "# shop\n\nNo item is ever lost.\n",
}
WORDS = (
    "append",
    "flush",
    "restart",
    "crash",
    "signal",
    "thread",
    "disk",
    "clock",
    "quota",
    "retry",
)


def question(number: int, **change: object) -> dict[str, Any]:
    """A question about one of the functions, with true evidence."""
    line = 1 + 4 * number
    name, other = WORDS[number % 10], WORDS[(number * 3 + 3) % 10]
    return {
        "id": f"keep-{number:02}",
        "category": "invariants",
        "reference": "shop/store.py",
        "question": f"Which {name} between the lines of keep_{number:02}() loses what {other} saw?",
        "good": f"the state that a {name} leaves for {other}",
        "why": f"an item lost by {name} is found by nobody",
        "evidence": [
            {"path": "shop/store.py", "line": line, "text": f"def keep_{number:02}(store, item):"},
            {"path": "shop/store.py", "line": 1, "text": f"store.items_{number:02}.append(item)"},
        ],
        "attachments": ["shop/store.py", "tests/test_store.py"],
        "impact": 9 - number // 4,
        "confidence": 0.8,
        "effort": 2,
        **change,
    }


INVENTED = [
    question(1, evidence=[{"path": "shop/store.py", "line": 9, "text": "store.lock()"}] * 2),
    question(2, reference="shop/lock.py"),
    question(3, attachments=[".env"]),
    question(4, attachments=["/etc/passwd"]),
    question(0, id="again"),
    question(0, question="Is keep_00() safe?"),
]


@pytest.fixture
def oracle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Replying:
    tool = replying_oracle(tmp_path / "tools")
    a_repository(tmp_path / "project", {**FILES})
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("PATH", f"{tool.folder}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    return tool


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[Ran, dict[str, Any]]:
    ran = answer(capsys, "generate", "--ask", "--out", "docs/pack.md", "--json", *words)
    reply = json.loads(ran.out)
    return ran, reply["data"]


def test_nothing_that_was_invented_arrives(
    oracle: Replying, capsys: pytest.CaptureFixture[str]
) -> None:
    good = [question(number) for number in range(COUNT)]
    oracle.reply({"": json.dumps({"questions": [good[0], *INVENTED, *good[1:]]})})

    ran, data = ask(capsys, "--yes")

    assert ran.code == 0, ran
    assert len(data["steps"]) == COUNT
    assert len(data["dropped"]) == len(INVENTED)
    text = Path("docs/pack.md").read_text(encoding="utf-8")
    assert "lock()" not in text
    assert answer(capsys, "validate", "--strict", "docs/pack.md").code == 0
    pack = parse_pack(text, "docs/pack.md")
    attached = {a.value for step in pack.steps for call in step.calls for a in call.attachments}
    assert attached == {"shop/store.py", "tests/test_store.py"}
    (prompt,) = oracle.prompts
    assert "No item is ever lost." in prompt


def test_the_same_command_again_pays_nothing_and_writes_the_same(
    oracle: Replying, capsys: pytest.CaptureFixture[str]
) -> None:
    oracle.reply({"": json.dumps([question(number) for number in range(5)])})
    first, data = ask(capsys, "--yes")
    before = Path("docs/pack.md").read_bytes()
    Path("docs/pack.md").unlink()

    # Nothing is sent, so nothing has to be agreed to.
    again, _ = ask(capsys)

    assert (first.code, again.code) == (0, 0)
    assert Path("docs/pack.md").read_bytes() == before
    assert len(oracle.prompts) == 1
    assert len(data["steps"]) == 5


def test_files_are_only_sent_when_the_user_agrees(
    oracle: Replying, capsys: pytest.CaptureFixture[str]
) -> None:
    ran, _ = ask(capsys)

    assert ran.code == 2
    assert "pass --yes" in ran.out
    assert oracle.prompts == []
    assert not Path("docs/pack.md").exists()


def test_hostile_words_stay_inside_their_prompt(
    oracle: Replying, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "PROMPT\n```\n# 07) x\n$(touch owned) `touch owned`: which crash loses an item?"
    oracle.reply({"": json.dumps([question(0, question=words, id="../../x'$(id)")])})

    ran, data = ask(capsys, "--yes")

    assert ran.code == 0, ran
    (step,) = data["steps"]
    assert step["outputs"] == ["docs/oracle-answers-pack/01-x-id-keep-00.md"]
    pack = parse_pack(Path("docs/pack.md").read_text(encoding="utf-8"), "docs/pack.md")
    assert [one.id for one in pack.steps] == ["01"]
    assert "touch owned" in (pack.steps[0].calls[0].prompt or pytest.fail("no prompt")).text


def test_a_reply_without_a_good_question_writes_no_pack(
    oracle: Replying, capsys: pytest.CaptureFixture[str]
) -> None:
    oracle.reply({"": json.dumps(INVENTED[:3])})

    ran, _ = ask(capsys, "--yes")

    assert ran.code == 2
    assert "does not say: store.lock()" in ran.out
    assert not Path("docs/pack.md").exists()


def test_in_ci_a_limit_is_needed(oracle: Replying, capsys: pytest.CaptureFixture[str]) -> None:
    ran, _ = ask(capsys, "--yes", "--ci")

    assert ran.code == 2
    assert "--max-cost" in ran.out
    assert oracle.prompts == []


WORDS_OF_KILLED = ("generate", "--ask", "--yes", "--out", "docs/pack.md", "--json")


@pytest.fixture
def ground(tmp_path: Path, zygote: Zygote) -> Ground:
    ground = a_ground(tmp_path / "g", zygote, "# 01) x\ntrue\n", FILES)
    (ground.provider / "reply").write_text(json.dumps([question(n) for n in range(3)]))
    return ground


def finished(ground: Ground) -> bytes:
    """The pack that the command writes in the end."""
    ran = ground.project.start(*WORDS_OF_KILLED).wait()
    assert ran.code == 0, ran
    assert len(ground.billed) == 1
    return (ground.root / "docs/pack.md").read_bytes()


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_while_the_model_answers_it_pays_once(ground: Ground, moment: str) -> None:
    holding = ground.knowing(PROVIDER_HOLD=moment)
    os.mkfifo(ground.provider / "gate")
    program = holding.project.start(*WORDS_OF_KILLED)
    tool = held(holding)
    kill(program.pid)
    opener = Thread(target=open_gate, args=(holding, tool))
    opener.start()
    program.wait()

    finished(ground)
    opener.join()


@pytest.mark.parametrize(
    "share", [pytest.param(5, id="some"), pytest.param(60, id="many", marks=pytest.mark.slow)]
)
def test_killed_at_an_operation_on_the_disk_it_pays_once(ground: Ground, share: int) -> None:
    undisturbed = ground.copy(ground.folder.with_name("u"))
    notes = ground.folder.with_name("notes")
    undisturbed.project.start(*WORDS_OF_KILLED, fault={"notes": str(notes)}).wait()
    wanted = finished(undisturbed)
    operations = len(notes.read_text().splitlines())
    killed = 0
    for number in range(1, operations + 1, max(operations // share, 1)):
        trial = ground.copy(ground.folder.with_name(f"k{number}"))
        fault: dict[str, object] = {"notes": str(notes), "kill": number}
        killed += trial.project.start(*WORDS_OF_KILLED, fault=fault).wait().code == -9

        assert finished(trial) == wanted
        trial.remove()
    assert killed >= share - 1
