"""Publishing answers: whole files, two runs and two calls at one path."""

import threading
from pathlib import Path

from oraclepack.calls.answers import is_of_another_run
from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.journal import events as j
from oraclepack.journal.blobs import read_blob
from oraclepack.journal.journal_file import load
from tests.calls.office import ANSWER, OUT, Office, ScriptedShim, answering, failing

OLD = b"what was there before\n"


def asking(prompt: str) -> tuple[str, ...]:
    return ("-p", prompt, "-e", "api", "-m", "gpt-5.2", "--write-output", OUT)


def test_the_file_is_untouched_until_a_whole_answer_replaces_it(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.put(OUT, OLD)
    during: list[bytes | None] = []

    def answer(order: ToolRun) -> ToolEnd:
        during.append(office.out())
        return answering()(order)

    assert office.call(ScriptedShim(failing("Something nobody has seen")), *asking("One?")) == 1
    assert office.out() == OLD
    assert office.call(ScriptedShim(answer), *asking("One?")) == 0
    assert (during, office.out()) == ([OLD], ANSWER)


def test_a_cut_answer_is_kept_and_not_published(tmp_path: Path) -> None:
    office = Office(tmp_path)
    office.put(OUT, OLD)

    def cut(order: ToolRun) -> ToolEnd:
        end = answering(b"half an ans")(order)
        return ToolEnd(1, f"{end.out}ERROR: terminated\n")

    office.call(ScriptedShim(cut, failing("Something nobody has seen")), *asking("One?"))

    events = load(office.run_dir / "journal.jsonl").events
    left = [one.left_sha256 for one in events if isinstance(one, j.TryFinished) and one.left_sha256]
    assert office.out() == OLD
    assert [read_blob(office.run_dir, sha256) for sha256 in left] == [b"half an ans"]


def test_calls_at_once_for_one_path_do_not_mix(tmp_path: Path) -> None:
    office = Office(tmp_path)
    meeting = threading.Barrier(6)

    def answer(order: ToolRun) -> ToolEnd:
        prompt = order.argv[order.argv.index("-p") + 1]
        meeting.wait()
        return answering(f"## Direct answer\nto {prompt}\n".encode())(order)

    prompts = [f"Question {number}?" for number in range(6)]
    threads = [
        threading.Thread(target=office.call, args=(ScriptedShim(answer), *asking(prompt)))
        for prompt in prompts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    again = ScriptedShim(failing("nothing is asked"))
    for prompt in prompts:
        assert office.call(again, *asking(prompt)) == 0
        assert office.out() == f"## Direct answer\nto {prompt}\n".encode()
    assert again.orders == []
    warnings = [
        one.message
        for one in load(office.run_dir / "journal.jsonl").events
        if isinstance(one, j.WarningRecorded) and "replaces the answer of call" in one.message
    ]
    assert len(warnings) >= 5


def test_a_file_of_another_run_is_known_as_that(tmp_path: Path) -> None:
    first, second = Office(tmp_path, run="r1"), Office(tmp_path, run="r2")
    place = (first.root / OUT).resolve()
    first.call(ScriptedShim(answering()), *asking("One?"))
    assert not is_of_another_run(first.root, "r1", place, first.out())

    second.call(ScriptedShim(answering(b"## Direct answer\nno\n")), *asking("Two?"))

    assert is_of_another_run(first.root, "r1", place, first.out())
    assert not is_of_another_run(first.root, "r1", place, b"edited since")
    assert not is_of_another_run(first.root, "r2", place, second.out())
