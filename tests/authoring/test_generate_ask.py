"""`generate --ask`: a scripted model that also invents lines, files and duplicates."""

import json
import os
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from oraclepack.pack.parse.read_pack import parse_pack
from tests.e2e.program import Ran
from tests.e2e.run.project import Zygote
from tests.torture.ground import Ground, a_ground
from tests.torture.victims import MOMENTS, held, kill, open_gate

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


COMMAND = ("generate", "--ask", "--out", "docs/pack.md", "--json")


@pytest.fixture
def ground(tmp_path: Path, zygote: Zygote) -> Ground:
    return a_ground(tmp_path / "g", zygote, "# 01) x\ntrue\n", FILES)


def ask(ground: Ground, reply: object, *words: str) -> tuple[Ran, Any]:
    """The command, and the data of its answer; `reply` is what the model says."""
    text = reply if isinstance(reply, str) else json.dumps(reply)
    (ground.provider / "reply").write_text(text)
    ran = ground.project.start(*COMMAND, *words).wait()
    return ran, json.loads(ran.out)["data"]


def pack_of(ground: Ground) -> str:
    return (ground.root / "docs/pack.md").read_text(encoding="utf-8")


def test_nothing_that_was_invented_arrives(ground: Ground) -> None:
    good = [question(number) for number in range(COUNT)]

    ran, data = ask(ground, {"questions": [good[0], *INVENTED, *good[1:]]}, "--yes")

    assert ran.code == 0, ran
    assert len(data["steps"]) == COUNT
    assert len(data["dropped"]) == len(INVENTED)
    text = pack_of(ground)
    assert "lock()" not in text
    assert ground.project.start("validate", "--strict", "docs/pack.md").wait().code == 0
    steps = parse_pack(text, "docs/pack.md").steps
    attached = {one.value for step in steps for call in step.calls for one in call.attachments}
    assert attached == {"shop/store.py", "tests/test_store.py"}
    (asked,) = ground.asked
    assert "No item is ever lost." in asked["prompt"]


def test_the_same_command_again_pays_nothing_and_writes_the_same(ground: Ground) -> None:
    first, data = ask(ground, [question(number) for number in range(5)], "--yes")
    before = pack_of(ground)
    (ground.root / "docs/pack.md").unlink()

    # Nothing is sent, so nothing has to be agreed to.
    again, _ = ask(ground, "another reply")

    assert (first.code, again.code) == (0, 0)
    assert pack_of(ground) == before
    assert len(ground.billed) == 1
    assert len(data["steps"]) == 5


def test_files_are_only_sent_when_the_user_agrees(ground: Ground) -> None:
    ran, _ = ask(ground, [question(0)])

    assert ran.code == 2
    assert "pass --yes" in ran.out
    assert ground.asked == []
    assert not (ground.root / "docs").exists()


def test_hostile_words_stay_inside_their_prompt(ground: Ground) -> None:
    words = "PROMPT\n```\n# 07) x\n$(touch owned) `touch owned`: which crash loses an item?"

    ran, data = ask(ground, [question(0, question=words, id="../../x'$(id)")], "--yes")

    assert ran.code == 0, ran
    (step,) = data["steps"]
    assert step["outputs"] == ["docs/oracle-answers-pack/01-x-id-keep-00.md"]
    (only,) = parse_pack(pack_of(ground), "docs/pack.md").steps
    assert only.calls[0].prompt is not None
    assert "touch owned" in only.calls[0].prompt.text


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(INVENTED[:3], "does not say: store.lock()", id="invented questions"),
        pytest.param("I cannot do that.", "the reply is no JSON with questions", id="no questions"),
    ],
)
def test_without_a_good_question_no_pack_is_written(
    ground: Ground, reply: object, reason: str
) -> None:
    ran, _ = ask(ground, reply, "--yes")

    assert ran.code == 2
    assert reason in ran.out
    assert not (ground.root / "docs").exists()


def test_in_ci_a_limit_is_needed(ground: Ground) -> None:
    ran, _ = ask(ground, [question(0)], "--yes", "--ci")

    assert ran.code == 2
    assert "--max-cost" in ran.out
    assert ground.asked == []


def test_a_model_that_fails_ends_the_command(ground: Ground) -> None:
    ran, data = ask(ground.knowing(PROVIDER_FAULTS="1 1 quota"), [question(0)], "--yes")

    assert ran.code == 3, ran
    assert data["steps"] == []


def answering(ground: Ground) -> Ground:
    (ground.provider / "reply").write_text(json.dumps([question(n) for n in range(3)]))
    return ground


def finished(ground: Ground) -> bytes:
    """The pack that the command writes in the end."""
    ran = ground.project.start(*COMMAND, "--yes").wait()
    assert ran.code == 0, ran
    assert len(ground.billed) == 1
    return (ground.root / "docs/pack.md").read_bytes()


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_while_the_model_answers_it_pays_once(ground: Ground, moment: str) -> None:
    holding = answering(ground).knowing(PROVIDER_HOLD=moment)
    os.mkfifo(ground.provider / "gate")
    program = holding.project.start(*COMMAND, "--yes")
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
    undisturbed = answering(ground).copy(ground.folder.with_name("u"))
    notes = ground.folder.with_name("notes")
    undisturbed.project.start(*COMMAND, "--yes", fault={"notes": str(notes)}).wait()
    wanted = finished(undisturbed)
    operations = len(notes.read_text().splitlines())
    killed = 0
    for number in range(1, operations + 1, max(operations // share, 1)):
        trial = ground.copy(ground.folder.with_name(f"k{number}"))
        fault: dict[str, object] = {"notes": str(notes), "kill": number}
        killed += trial.project.start(*COMMAND, "--yes", fault=fault).wait().code == -9

        assert finished(trial) == wanted
        trial.remove()
    assert killed >= share - 1
