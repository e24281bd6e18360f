"""Which questions are asked, and which were answered before."""

import threading
from pathlib import Path
from typing import Any

import pytest

from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.journal.statuses import Cache
from tests.calls.office import (
    ANSWER,
    ASK,
    COST,
    OUT,
    Act,
    Office,
    ScriptedShim,
    answering,
    failing,
    saying,
)

SECTIONS = """# 01) step
oracle -p "why?
Answer format:" --write-output out/x.md
"""
FORMAT = ("-p", "why?\nAnswer format:", *ASK[2:])
FULL = b"Direct answer: a\nRisks/unknowns: b\nNext experiment: c\nMissing evidence: d\n"


def test_the_same_question_is_not_asked_again(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    office.call(shim)

    assert office.call(shim, *ASK[:-1], "out/other.md") == 0
    assert len(shim.orders) == 1
    assert office.out("out/other.md") == ANSWER
    assert (office.last.cache, office.last.attempts) == (Cache.HIT, 0)
    assert "answered before" in shim.stderr


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        pytest.param({}, 1, id="with the cache"),
        pytest.param({"use_cache": False}, 1, id="without it the run still knows its own answers"),
        pytest.param({"refresh": True}, 1, id="refreshed once, not twice"),
    ],
)
def test_asked_once_per_run(tmp_path: Path, options: dict[str, Any], asked: int) -> None:
    office, shim = Office(tmp_path, **options), ScriptedShim(answering())
    office.call(shim)
    office.call(shim)

    assert len(shim.orders) == asked


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        pytest.param({}, 1, id="another command finds the answer"),
        pytest.param({"refresh": True}, 2, id="unless it asks afresh"),
    ],
)
def test_a_later_command(tmp_path: Path, options: dict[str, Any], asked: int) -> None:
    shim = ScriptedShim(answering())
    Office(tmp_path).call(shim)
    later = Office(tmp_path, **options)
    later.number = 9
    later.call(shim)

    assert len(shim.orders) == asked


def test_only_the_question_whose_file_changed_is_asked_again(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    office.put("a.py", b"one")
    with_file = (*ASK, "-f", "a.py")
    office.call(shim)
    office.call(shim, *with_file)
    assert office.calls.attached("01", 1).keys() == {"a.py"}
    office.put("a.py", b"two")
    office.call(shim)
    office.call(shim, *with_file)

    assert ["a.py" in order.argv for order in shim.orders] == [False, True, True]


def test_the_same_question_at_the_same_time_is_asked_once(tmp_path: Path) -> None:
    office = Office(tmp_path)
    begun, go_on = threading.Event(), threading.Event()

    def slowly(order: ToolRun) -> ToolEnd:
        begun.set()
        go_on.wait()
        return answering()(order)

    shims = [ScriptedShim(slowly) for _ in range(3)]
    first = threading.Thread(target=office.call, args=(shims[0],))
    first.start()
    begun.wait()
    others = [threading.Thread(target=office.call, args=(shim,)) for shim in shims[1:]]
    for thread in others:
        thread.start()
    go_on.set()
    for thread in (first, *others):
        thread.join()

    assert [len(shim.orders) for shim in shims] == [1, 0, 0]
    assert sorted(one.outcome.cache for one in office.invocations if one.outcome) == [
        *(Cache.HIT, Cache.HIT),
        Cache.MISS,
    ]


def test_who_waits_for_the_same_question_may_be_stopped(tmp_path: Path) -> None:
    office = Office(tmp_path)
    inner = ScriptedShim(answering(), patience=0)

    def meanwhile(order: ToolRun) -> ToolEnd:
        assert office.call(inner) == 130
        return answering()(order)

    assert office.call(ScriptedShim(meanwhile)) == 0
    assert inner.orders == []


def test_a_cached_answer_must_meet_the_contract_of_today(tmp_path: Path) -> None:
    office = Office(tmp_path, SECTIONS, verify=False)
    office.call(ScriptedShim(answering()), *FORMAT)
    later, shim = Office(tmp_path, SECTIONS), ScriptedShim(answering(FULL))
    later.number = 5

    assert later.call(shim, *FORMAT) == 0
    assert later.out() == FULL


@pytest.mark.parametrize("named", ["../key", "key", "linked/x.fallback.md"])
def test_no_other_file_is_taken_for_the_answer_since_a_line_names_it(
    tmp_path: Path, named: str
) -> None:
    """The line may be of the answer itself, which is printed as well."""
    office = Office(tmp_path / "project")
    office.put("key", b"S3CRET")
    (tmp_path / "key").write_bytes(b"S3CRET")
    (tmp_path / "x.fallback.md").write_bytes(b"S3CRET")
    (office.root / "linked").symlink_to("..")
    where = office.root / named
    said = f"{COST}write-output fallback to {where} (original failed: EACCES: no)\n"
    shim = ScriptedShim(saying(ToolEnd(0, said)))

    office.call(shim)
    office.call(shim)

    assert len(shim.orders) == 2


@pytest.mark.parametrize(
    "trouble",
    [
        "write-output failed (ENOSPC: no space); session completed anyway.",
        "write-output fallback to /no/such/place.md (original failed: EACCES: no)",
    ],
)
def test_an_answer_that_the_tool_could_not_write_is_taken_from_what_it_printed(
    tmp_path: Path, trouble: str
) -> None:
    office = Office(tmp_path)
    shim = ScriptedShim(saying(ToolEnd(0, f"x\n\nAnswer:\nyes\n\n{COST}{trouble}\n")))

    assert office.call(shim) == 0
    assert office.out() == b"yes\n"


def test_a_changed_cached_answer_is_not_used_but_that_of_the_run(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    office.call(shim)
    (path,) = office.cache.directory.glob("*.md")
    path.write_bytes(b"edited\n")
    (office.root / OUT).unlink()

    office.call(shim)

    assert (len(shim.orders), office.out()) == (1, ANSWER)
    assert "changed by hand" in shim.stderr


def test_the_tool_is_asked_which_files_a_pattern_means(tmp_path: Path) -> None:
    def render(order: ToolRun) -> ToolEnd:
        assert order.hidden
        files = "".join(f"### File: {name}\nLines: 1\n```\n1 | x\n```\n" for name in ("a.py",))
        return ToolEnd(0, f"🧿 x\n[SYSTEM]\nYou\n\n[USER]\nwhy?\n\n{files}")

    office = Office(tmp_path)
    office.put("a.py", b"one")
    shim = ScriptedShim(lambda order: (render if order.hidden else answering())(order))
    office.call(shim, *ASK, "-f", "*.py")

    intent = office.invocations[0].intent
    assert intent is not None
    assert "file:a.py" in intent.key_parts


@pytest.mark.parametrize(
    ("argv", "script"),
    [
        pytest.param((*ASK, "-f", "nope"), [failing("x")], id="a file that is not there"),
        pytest.param((*ASK, "-f", "*"), [failing("x"), answering()], id="the tool will not tell"),
        pytest.param(
            (*ASK, "-f", "*"),
            [saying(ToolEnd(0, "?")), answering()],
            id="the tool is not understood",
        ),
        pytest.param(
            (*ASK, "-f", "."),
            [saying(ToolEnd(0, "?", cut=True)), answering()],
            id="it says too much",
        ),
    ],
)
def test_without_a_key_nothing_is_cached(
    tmp_path: Path, argv: tuple[str, ...], script: list[Act]
) -> None:
    office = Office(tmp_path)
    office.call(ScriptedShim(*script), *argv)

    assert office.last.key is None
    assert office.last.cache is Cache.OFF
    assert list(office.context.store.cache.entries()) == []


def test_a_prompt_from_stdin(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    shim.stdin = b"why?\n"
    office.call(shim)
    office.call(shim, "-p", "-", *ASK[2:])

    assert len(shim.orders) == 1


def test_failing_to_cache_an_answer_is_no_error(tmp_path: Path) -> None:
    office, shim = Office(tmp_path), ScriptedShim(answering())
    office.put(".oraclepack/cache", b"a file in its place")

    assert office.call(shim) == 0
    assert office.last.ok
    assert "could not be cached" in shim.stderr


def test_a_call_that_answers_on_the_screen_only(tmp_path: Path) -> None:
    office = Office(tmp_path)
    shim = ScriptedShim(saying(ToolEnd(0, COST)))

    assert office.call(shim, "-p", "why?") == 0
    assert office.call(shim, "-p", "why?") == 0
    assert len(shim.orders) == 2
    assert office.last.key is None
