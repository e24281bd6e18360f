"""From a run directory to the files of the actionizer."""

from pathlib import Path

import msgspec
import pytest

from oraclepack.errors import InputError, LockedError, UsageError
from oraclepack.journal import events as j
from oraclepack.journal.run_state import fold
from oraclepack.journal.statuses import Move, Status
from oraclepack.system import locks
from oraclepack.system.digests import canonical_file, sha256_text
from oraclepack.view.manifests import run_manifest, steps_manifest
from oraclepack.view.run import RunView
from oraclepack.work.actionize import ActionizeRequest, actionize_request
from oraclepack.work.backlog import Export, WorkStatus
from tests.events import finished, numbered, started
from tests.work.answers import direct
from tests.work.project import FIX, RUN_ID, SOURCE, Project, a_question, called


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, "".join(map(a_question, (1, 2, 3))))


def test_a_run_becomes_work_in_its_own_directory(project: Project) -> None:
    project.answer("01", FIX, called("01", a=sha256_text(SOURCE)))
    project.answer("02", direct("No action required."))
    project.events += [started("03"), finished("03", Status.FAILED)]

    done = project.actionize(Export.GITHUB)

    assert done.report.out_dir == f"{project.run.as_posix()}/actionizer"
    assert done.report.pack_id == RUN_ID
    assert [(r.task_id[-5:], r.status.value) for r in done.work.records] == [
        ("01-01", "actionable"),
        ("02-01", "noop"),
        ("03-01", "blocked"),
    ]
    assert "it ended with 1" in done.work.records[2].remarks[0]
    assert (done.report.answered, done.report.action_yield) == (2, 0.5)
    names = {path.name for path in (project.run / "actionizer").iterdir()}
    assert names == {"normalized.jsonl", "backlog.md", "change-plan.md", "github-issues.json"}


def test_a_second_time_writes_nothing_and_keeps_exports_fresh(project: Project) -> None:
    project.answer("01", FIX)
    project.actionize(Export.TASKMASTER)
    stamps = {p: p.stat().st_mtime_ns for p in (project.run / "actionizer").iterdir()}

    again = project.actionize()

    assert {p: p.stat().st_mtime_ns for p in (project.run / "actionizer").iterdir()} == stamps
    assert [artifact.changed for artifact in again.report.artifacts] == [False] * 4


@pytest.mark.parametrize(
    ("sha", "now", "state"),
    [
        pytest.param(sha256_text(SOURCE), SOURCE, "verified", id="as it was"),
        pytest.param(sha256_text(SOURCE), SOURCE + "more\n", "stale", id="changed since"),
        pytest.param(sha256_text(SOURCE), None, "stale", id="gone since"),
        pytest.param(sha256_text("x\n"), "x\n", "out_of_range", id="too short"),
    ],
)
def test_citations_are_judged_by_the_recorded_hash(
    project: Project, sha: str, now: str | None, state: str
) -> None:
    source = project.root / "src/a.py"
    source.unlink() if now is None else source.write_text(now)
    project.answer("01", FIX, called("01", a=sha))

    task = project.records()["01-01"]

    assert task.evidence.citations[0].state == state
    assert task.status is WorkStatus.ACTIONABLE
    assert bool(task.remarks) is (state != "verified")


def test_a_file_that_the_calls_did_not_attach_is_not_attached(project: Project) -> None:
    project.answer("01", FIX, called("01", b="0"))

    assert project.records()["01-01"].evidence.citations[0].state == "not_attached"


def test_patterns_leave_open_what_was_attached(tmp_path: Path) -> None:
    project = Project(tmp_path, a_question(1, attach="-f 'src/*.py'"))
    project.answer("01", FIX)

    assert project.records()["01-01"].evidence.citations[0].state == "unknown"


def test_outputs_that_are_no_words_are_no_answer(project: Project) -> None:
    project.answer("01", '{"a": 1}', declared="out/report.json")

    assert project.records()["01-01"].status is WorkStatus.NOOP


def test_an_answer_that_is_gone_or_changed_is_reported(project: Project) -> None:
    project.answer("01", FIX)
    project.answer("02", FIX)
    (project.run / "outputs/01-q.md").unlink()
    (project.run / "outputs/02-q.md").write_text(direct("Add a lock."))

    done = project.actionize()

    assert [w.split(" is ")[0] for w in done.warnings] == ["outputs/01-q.md", "outputs/02-q.md"]
    assert done.work.records[0].status is WorkStatus.BLOCKED
    assert done.work.records[1].title == "Add a lock"


def test_without_its_pack_a_run_is_what_it_recorded(project: Project) -> None:
    project.answer("01", FIX)
    state = fold(numbered(*project.events))
    view = RunView(state=state, pack=project.pack)
    (project.run / "steps.json").write_bytes(canonical_file(steps_manifest(view)))
    (project.root / "pack.md").write_text("other")

    done = project.actionize()

    assert "edited since" in done.warnings[0]
    assert (done.work.records[0].category, done.work.records[0].roi) == ("invariants", 4.0)


def test_without_its_journal_a_run_is_its_manifests(project: Project) -> None:
    project.answer("01", FIX)
    state = fold(numbered(*project.events))
    (project.run / "run.json").write_bytes(canonical_file(run_manifest(RunView(state=state))))
    view = RunView(state=state, pack=project.pack)
    (project.run / "steps.json").write_bytes(canonical_file(steps_manifest(view)))
    request = ActionizeRequest(run_dir=str(project.run))

    done = actionize_request(request, project.root)

    assert [r.status.value for r in done.work.records] == ["actionable", "blocked", "blocked"]


def test_a_run_in_use_is_left_alone(project: Project) -> None:
    held = locks.acquire(project.run, locks.Holder(pid=1, command="run"))
    assert isinstance(held, locks.RunLock)

    with held, pytest.raises(LockedError, match="process 1"):
        project.actionize()

    assert not (project.run / "actionizer").exists()


def test_a_backlog_that_cannot_be_carried_over_stops_everything(project: Project) -> None:
    project.answer("01", FIX)
    project.actionize()
    backlog = project.run / "actionizer/backlog.md"
    backlog.write_text(backlog.read_text().replace("\n<!-- /keep -->\n", "\n", 1))
    before = {p: p.read_bytes() for p in (project.run / "actionizer").iterdir()}
    project.answer("02", FIX)

    with pytest.raises(InputError, match="has no end"):
        project.actionize()

    assert {p: p.read_bytes() for p in (project.run / "actionizer").iterdir()} == before


@pytest.mark.parametrize(
    ("request_", "word"),
    [
        pytest.param(ActionizeRequest(), "--run-dir", id="nothing given"),
        pytest.param(
            ActionizeRequest(run_dir="a", answers="b", pack="c"), "--run-dir", id="both given"
        ),
        pytest.param(ActionizeRequest(answers="b"), "belong together", id="answers without a pack"),
        pytest.param(ActionizeRequest(run_dir="nowhere"), "no such directory", id="no directory"),
    ],
)
def test_a_wrong_request_is_refused(request_: ActionizeRequest, word: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=word):
        actionize_request(request_, tmp_path)


def test_a_directory_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a run directory"):
        actionize_request(ActionizeRequest(run_dir=str(tmp_path)), tmp_path)


@pytest.mark.parametrize("left", [b"{}", b'{"pack_id":"\xec"}'], ids=["no field", "no UTF-8"])
def test_a_damaged_manifest_is_reported(tmp_path: Path, left: bytes) -> None:
    (tmp_path / "run.json").write_bytes(left)

    with pytest.raises(InputError, match="cannot be read"):
        actionize_request(ActionizeRequest(run_dir=str(tmp_path)), tmp_path)


def test_a_damaged_journal_is_reported(project: Project) -> None:
    project.answer("01", FIX)
    project.actionize()
    journal = project.run / "journal.jsonl"
    journal.write_bytes(
        journal.read_bytes().replace(b"src/", b"scr/", 1).replace(b"pack.md", b"x", 1)
    )

    with pytest.raises(InputError, match="damaged"):
        actionize_request(ActionizeRequest(run_dir=str(project.run)), project.root)


CUT = direct("Fix the loop in `src/a.py:12`.", "Close the pool when the")


REFUSED = j.InvocationOutcome(
    step="01",
    attempt=1,
    call=1,
    tool="oracle",
    ok=False,
    output_path="out/01-q.md",
    unmet_sha256=sha256_text(CUT),
)


@pytest.mark.parametrize(
    "place",
    [
        pytest.param("out/01-q.md", id="at its path"),
        pytest.param(".oraclepack/_failed/step-01/01-q.md", id="in quarantine"),
    ],
)
def test_what_is_whole_in_a_refused_answer_is_used(project: Project, place: str) -> None:
    moved = j.Quarantined(step="01", attempt=1, moves=(Move(source="out/01-q.md", target=place),))
    (project.root / place).parent.mkdir(parents=True)
    (project.root / place).write_text(CUT)
    project.events += [
        started("01"),
        called("01", a=sha256_text(SOURCE)),
        REFUSED,
        finished("01", Status.FAILED),
        moved,
    ]

    task = project.records()["01-01"]

    assert (task.title, task.status) == ("Fix the loop in src/a.py:12", WorkStatus.ACTIONABLE)
    assert task.partial
    assert task.remarks[0].startswith("the step failed")


def test_a_file_that_is_not_the_refused_answer_is_not_read(project: Project) -> None:
    (project.root / "out").mkdir()
    (project.root / "out/01-q.md").write_text(FIX)
    project.events += [started("01"), called("01", a="0"), REFUSED, finished("01", Status.FAILED)]

    assert project.records()["01-01"].status is WorkStatus.BLOCKED


def test_every_way_to_have_no_answer_is_reported(project: Project) -> None:
    skipped = msgspec.structs.replace(finished("02", Status.SKIPPED), skip_reason="SKIP: no codex")
    project.events += [started("01"), started("02"), skipped]
    (project.root / "pack.md").unlink()

    found = project.records()

    assert "has not run to its end" in found["01-01"].remarks[0]
    assert "SKIP: no codex" in found["02-01"].remarks[0]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("steps.json", "number of a step", id="a step"),
        pytest.param("run.json", "hash is none", id="the hash of the pack"),
    ],
)
def test_manifests_with_forged_names_are_refused(project: Project, name: str, said: str) -> None:
    project.answer("01", FIX)
    state = fold(numbered(*project.events))
    run, steps = (
        run_manifest(RunView(state=state)),
        steps_manifest(RunView(state=state, pack=project.pack)),
    )
    assert run is not None
    texts = {
        "run.json": (canonical_file(run), run.pack_hash.encode()),
        "steps.json": (canonical_file(steps), b'"step_id": "01'),
    }
    for file, (text, mark) in texts.items():
        forged = text.replace(mark, mark + b" --> <img src=x>") if file == name else text
        (project.run / file).write_bytes(forged)

    with pytest.raises(InputError, match=said):
        actionize_request(ActionizeRequest(run_dir=str(project.run)), project.root)
