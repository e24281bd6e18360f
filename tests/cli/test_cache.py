"""`cache list|show|explain|prune`."""

from pathlib import Path
from typing import Any

import pytest

from oraclepack.calls.cache import CacheEntry
from oraclepack.calls.file_cache import FileAnswerCache
from oraclepack.calls.file_store import project_cache
from oraclepack.journal import events as j
from oraclepack.journal.journal_file import JournalFile
from oraclepack.system.digests import sha256_bytes
from tests.cli.answers import answer
from tests.clocks import SteppingClock
from tests.e2e.program import tree
from tests.events import created, started

RUN = "2026-03-01__abc1234__55555555"
KEYS = {"a" * 64: {"prompt": "1", "model": "m"}, "b" * 64: {"prompt": "2", "model": "m"}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def fill(project: Path) -> FileAnswerCache:
    cache = project_cache(project)
    for day, (key, parts) in enumerate(KEYS.items(), start=1):
        data = f"answer {key[0]}\n".encode()
        cache.put(
            CacheEntry(
                key=key,
                parts=parts,
                sha256=sha256_bytes(data),
                bytes=len(data),
                stored_at=f"2026-03-0{day}T10:00:00.000Z",
                step="07",
                output_path="out/x.md",
                model="m",
            ),
            data,
        )
    return cache


def run_with_calls(project: Path) -> None:
    folder = project / ".oraclepack/runs" / RUN
    folder.mkdir(parents=True)
    made: dict[str, Any] = {"step": "07", "attempt": 1, "tool": "oracle"}
    with JournalFile(folder / "journal.jsonl", SteppingClock()) as journal:
        journal.append(created("07"))
        journal.append(started("07"))
        parts = {"prompt": "3", "model": "m"}
        journal.append(j.InvocationIntent(call=1, key="c" * 64, key_parts=parts, **made))
        journal.append(j.InvocationOutcome(call=1, ok=False, key="c" * 64, **made))
        journal.append(j.InvocationOutcome(call=2, ok=True, key="a" * 64, **made))
        journal.append(j.InvocationOutcome(call=3, ok=True, **made))
        journal.append(j.InvocationOutcome(call=4, ok=True, step="07", attempt=1, tool="codex"))


def test_list(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = fill(project)
    (cache.directory / f"{'a' * 64}.md").write_text("edited")

    said = answer(capsys, "cache", "list")

    assert said.code == 0
    rows = [line.split() for line in said.out.splitlines()]
    assert [(row[0], row[-2]) for row in rows[1:]] == [("b" * 12, "good"), ("a" * 12, "changed")]


def test_an_empty_cache(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = answer(capsys, "cache", "list")

    assert (said.code, said.out) == (0, "")
    assert f"the cache of {project} is empty" in said.err
    assert answer(capsys, "cache", "prune", "--max-size", "0").code == 0


def test_show(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(project)

    said = answer(capsys, "cache", "show", "bb")

    assert said.code == 0
    assert "prompt: 2" in said.out
    assert said.out.endswith("answer b\n")
    assert answer(capsys, "cache", "show", "c").code == 2


def test_explain(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fill(project)
    run_with_calls(project)

    said = answer(capsys, "cache", "explain", "7")

    assert said.code == 0
    assert f"call 1: {'c' * 12}, failed; the cache has no answer" in said.out
    assert "prompt changed from 1 to 3" in said.out
    assert f"call 2: {'a' * 12}, asked; the cache has its answer" in said.out
    assert "call 3: no key, asked; the cache has no answer" in said.out
    assert "call 4" not in said.out


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param(("explain", "01"), "step 01 was not run", id="a step that did not run"),
        pytest.param(("explain", "01", "--run-id", "x"), "no run x", id="an unknown run"),
        pytest.param(("prune",), "nothing to go by", id="no bound"),
        pytest.param(("prune", "--older-than", "soon"), "--older-than", id="no duration"),
        pytest.param(("prune", "--max-size", "much"), "--max-size", id="no size"),
    ],
)
def test_mistakes(
    project: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], said: str
) -> None:
    run_with_calls(project)

    found = answer(capsys, "cache", *args)

    assert found.code == 2
    assert said in found.err


def test_no_run_at_all(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del project

    assert "no run in this project" in answer(capsys, "cache", "explain", "01").err


@pytest.mark.parametrize(
    ("args", "kept"),
    [
        pytest.param(("--older-than", "1d"), "", id="everything is older than that"),
        pytest.param(("--older-than", "9999d"), "ab", id="nothing is"),
        pytest.param(("--max-size", "9"), "b", id="the newest fits"),
        pytest.param(("--max-size", "1kB"), "ab", id="both fit"),
    ],
)
def test_prune(
    project: Path, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], kept: str
) -> None:
    cache = fill(project)

    said = answer(capsys, "cache", "prune", "--json", *args)

    assert said.code == 0
    assert said.envelope["data"]["kept"] == len(kept)
    assert "".join(key[0] for key in cache.find("")) == kept


def test_a_dry_run_of_prune_changes_nothing(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = fill(project)
    before = tree(project)

    result = answer(capsys, "cache", "prune", "--max-size", "9", "--dry-run")
    said = answer(capsys, "cache", "prune", "--max-size", "9", "--dry-run", "--json")

    gone = [key for key in cache.find("") if key.startswith("a")]
    assert result.out == f"{gone[0]}\nwould remove 1 answer, 9 B; would keep 1\n"
    assert said.envelope["data"]["removed"] == gone
    assert tree(project) == before
