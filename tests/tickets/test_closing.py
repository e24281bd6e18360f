"""The end of a turn: audit, changes, close-out."""

from collections.abc import Mapping

import pytest

from oraclepack.tickets.build import compared, read_manifest
from oraclepack.tickets.closing import audit
from oraclepack.tickets.pages import TurnSummary, changes_page, close_out_page
from oraclepack.tickets.ticket import (
    TASKS,
    Acceptance,
    Audit,
    ChangedFile,
    Criterion,
    CriterionStatus,
    NextWork,
)
from tests.tickets.tickets import OPTIONS, TWO, built

OUT = OPTIONS.out_dir
MADE = built(TWO)
WORK = NextWork(
    ticket_id="T-1", ticket_path="x.md", title="Limit", action_ids=("T-1-A02",), reason="first"
)


def _audit(extra: Mapping[str, bytes | None]) -> Audit:
    found: dict[str, bytes | None] = {**MADE.files, **extra}
    inside = [path for path, data in found.items() if path.startswith(OUT) and data is not None]
    return audit(OUT, OPTIONS.prd_path, found, inside)


@pytest.mark.parametrize(
    ("path", "data", "problem"),
    [
        pytest.param(f"{OUT}/_actions.md", None, "missing", id="one of ours is gone"),
        pytest.param(OPTIONS.prd_path, None, "missing", id="the PRD is gone"),
        pytest.param(f"{OUT}/next.json", None, None, id="a step that has not run"),
        pytest.param(f"{OUT}/PR.md", b" \n", "empty", id="an empty file"),
        pytest.param(f"{OUT}/PR.md", b"\xff", "not UTF-8", id="no text"),
        pytest.param(f"{OUT}/PR.md", b"# PR\n", None, id="a good page"),
        pytest.param(f"{OUT}/next.json", b"{}", "wrong format", id="another shape"),
        pytest.param(f"{OUT}/tm-complexity.json", b"{", "not JSON", id="half a report"),
        pytest.param(TASKS, b"[]", "no list of tasks", id="no tasks file"),
        pytest.param(TASKS, b'{"tasks": []}', None, id="a tasks file"),
    ],
)
def test_audit(path: str, data: bytes | None, problem: str | None) -> None:
    result = _audit({path: data})

    found = next(file for file in result.files if file.path == path)
    assert result.ok is (problem is None)
    assert found.present is (data is not None)
    assert (problem or "") in (found.problem or "")


def test_strangers_are_named() -> None:
    assert _audit({f"{OUT}/mine.txt": b"x"}).strangers == (f"{OUT}/mine.txt",)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param([ChangedFile("M", "a_b.py")], "- `M` a_b.py", id="one"),
        pytest.param([], "Nothing differs", id="none"),
        pytest.param(None, "no git repository", id="no repository"),
    ],
)
def test_changes(changes: list[ChangedFile] | None, said: str) -> None:
    assert said in changes_page(changes, None)


def _turn(**parts: object) -> TurnSummary:
    made: dict[str, object] = {
        "index": MADE.index,
        "actions": MADE.actions,
        "work": None,
        "acceptance": None,
        "audit": None,
        "tasks": None,
    }
    return TurnSummary(**(made | parts))  # type: ignore[arg-type]


VERDICT = Acceptance(
    ticket_id="T-1",
    criteria=(Criterion(action_id="T-1-A03", met=CriterionStatus.NO, evidence="a:1"),),
)


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        pytest.param(_turn(), "Nothing was selected.", id="nothing selected"),
        pytest.param(_turn(), "not judged", id="nothing judged"),
        pytest.param(_turn(), "- T-1: Limit is ready", id="what is ready"),
        pytest.param(_turn(work=WORK), "- `T-1-A02` count", id="the work"),
        pytest.param(_turn(work=WORK, acceptance=VERDICT), "0 of 1 criteria", id="the verdict"),
        pytest.param(_turn(tasks=b"{"), "cannot be read", id="broken tasks"),
        pytest.param(
            _turn(tasks=b'{"tasks": [{"id": 1, "status": "done"}]}'),
            "1 task, 1 done, 1 problem.",
            id="tasks",
        ),
        pytest.param(_turn(audit=_audit({})), "0 with a problem", id="a clean audit"),
        pytest.param(
            _turn(audit=_audit({f"{OUT}/PR.md": b""})), f"- `{OUT}/PR.md`: empty", id="a fault"
        ),
        pytest.param(
            _turn(actions=built({"a.md": "- [x] b\n"}).actions),
            "Nothing: every action is done.",
            id="all done",
        ),
    ],
)
def test_close_out(turn: TurnSummary, said: str) -> None:
    assert said in close_out_page(turn, OUT)


@pytest.mark.parametrize("data", [None, b"{", b'{"version": 1}'])
def test_what_is_no_manifest(data: bytes | None) -> None:
    assert read_manifest(data) is None


def test_an_unreadable_manifest_is_reported_as_such() -> None:
    path = f"{OUT}/manifest.json"

    (checked,) = compared({path: b"a"}, {path: b"{"}, None)

    assert checked.state == "unreadable"
