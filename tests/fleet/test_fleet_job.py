"""Jobs of fleets: what a manifest means, what is submitted, how a fleet stands."""

import subprocess
import sys
from collections.abc import Iterable
from decimal import Decimal
from itertools import permutations
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from oraclepack.errors import ExitCode, InputError, Refusal, UsageError
from oraclepack.fleet.combined_backlog import SharedTask, combined_page, merge_across
from oraclepack.fleet.dask_cluster import check_dask, check_scheduler
from oraclepack.fleet.fleet_job import (
    FleetJob,
    FleetPolicy,
    JobSource,
    JobState,
    JobSummary,
    check_name,
    make_job,
    read_manifest,
    to_submit,
    totals,
)
from oraclepack.fleet.fleet_run import jobs_of
from oraclepack.fleet.job_store import FileJobStore, JobReport
from oraclepack.fleet.job_worker import end_state, workspace
from oraclepack.fleet.run_archive import pack_directory, unpack_directory
from oraclepack.work.backlog import Record
from tests.cli.answers import answer

COMMIT = "a" * 40


def a_job(pack: str = "p.md", state: JobState = JobState.QUEUED) -> FleetJob:
    return replace(make_job("f", JobSource(repo="r", pack=pack), COMMIT), state=state)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"repo": "r", "pack": "p.md"}', 1, id="one job"),
        pytest.param('# weekly\n\n{"repo": "r", "generate": {}}\n', 1, id="comment, empty line"),
        pytest.param("", "names no job", id="nothing"),
        pytest.param('{"repo": "r"}', "m:1: a job has either `pack` or `generate`", id="neither"),
        pytest.param(
            '{"repo": "r", "pack": "p.md"}\n{"repo": "r", "pack": "../p.md"}',
            "m:2: `pack` '../p.md' is not a path inside the repository",
            id="a pack outside",
        ),
        pytest.param('{"repo": "--upload-pack=x", "pack": "p"}', "m:1: `repo`", id="an option"),
        pytest.param(
            '{"repo": "r", "generate": {"count": 4, "focus": ["a.py"]}}', 1, id="generated"
        ),
        pytest.param(
            '{"repo": "r", "generate": {"root": "/"}}',
            "m:1: `generate`: Object contains unknown field `root`; its options are count,",
            id="no option of generate",
        ),
        pytest.param(
            '{"repo": "r", "generate": {"count": "4"}}',
            "m:1: `generate`: Expected `int`, got `str` - at `$.count`",
            id="an option of the wrong kind",
        ),
        pytest.param(
            '{"repo": "r", "pack": "p.md", "rref": "v1"}',
            "m:1: Object contains unknown field `rref`",
            id="a misspelled field",
        ),
        pytest.param(
            '{"repo": "r", "pack": "p.md", "settings": {"max_paralel": 2}}',
            "m:1: `settings`: max_paralel: unknown setting; did you mean max_parallel",
            id="a misspelled setting",
        ),
        pytest.param(
            '{"repo": "r", "pack": "p.md", "settings": {"max_parallel": "x"}}',
            "m:1: `settings`: max_parallel: must be a whole number, or auto, not 'x'",
            id="a setting of the wrong kind",
        ),
        pytest.param(
            '{"repo": "r", "pack": "p.md", "settings": {"store": "postgresql:///x"}}',
            "m:1: `settings`: store: store cannot be set here",
            id="a setting that no command line has",
        ),
        pytest.param("[1]", "m:1: Expected `object`", id="no object"),
        pytest.param("{", "m:1:", id="no JSON"),
    ],
)
def test_manifest(text: str, expected: int | str) -> None:
    sources = read_manifest(text.encode(), "m")
    if isinstance(sources, Refusal):
        assert isinstance(expected, str)
        assert expected in sources.reason
    else:
        assert len(sources) == expected


def test_the_id_of_a_job_is_what_it_runs() -> None:
    assert a_job().id == a_job().id
    assert a_job().id != a_job("q.md").id
    other = make_job("f", JobSource(repo="r", pack="p.md"), "b" * 40)
    assert a_job().id != other.id


def test_jobs_of_one_commit_have_workspaces_of_their_own() -> None:
    sources = [
        JobSource(repo="r", generate={"focus": ["a.py"]}),
        JobSource(repo="r", generate={"focus": ["b.py"]}),
        JobSource(repo="r", pack="p.md"),
        JobSource(repo="r", pack="p.md", settings={"engine": "api"}),
    ]
    places = [workspace(Path("/w"), make_job("f", source, COMMIT)) for source in sources]
    assert len({*places}) == len(sources)
    assert places[0] == workspace(Path("/w"), make_job("g", sources[0], COMMIT)), "as elsewhere"


@pytest.mark.parametrize(
    ("state", "submitted"),
    [
        (None, True),
        (JobState.QUEUED, True),
        (JobState.FAILED, True),
        (JobState.STOPPED, True),
        (JobState.UNDECIDED, True),
        (JobState.DONE, False),
    ],
)
def test_only_what_is_missing_is_submitted(state: JobState | None, submitted: bool) -> None:
    known = {} if state is None else {a_job().id: a_job(state=state)}
    due = to_submit([a_job(), a_job()], known)
    assert len(due) == int(submitted)


@pytest.mark.parametrize(
    ("code", "undecided", "expected"),
    [
        (ExitCode.DONE, 0, JobState.DONE),
        (ExitCode.STEP_FAILED, 0, JobState.FAILED),
        (ExitCode.STEP_FAILED, 1, JobState.UNDECIDED),
        (ExitCode.TERMINATED, 0, JobState.STOPPED),
        (ExitCode.INTERRUPTED, 0, JobState.STOPPED),
    ],
)
def test_end_state(code: int, undecided: int, expected: JobState) -> None:
    assert end_state(code, JobSummary(undecided=undecided)) is expected


def test_totals() -> None:
    one = replace(a_job(), state=JobState.DONE, summary=JobSummary(steps=2, ok=2, cost="1.20"))
    two = replace(a_job("q.md"), summary=JobSummary(steps=3, failed=1, cost="0.05"))
    three = a_job("r.md")
    result = totals([one, two, three])
    assert (result.jobs, result.steps, result.ok, result.failed) == (3, 5, 2, 1)
    assert result.by_state == {"queued": 2, "done": 1}
    assert result.cost == "1.25"
    assert totals([three]).cost is None, "unknown is never 0"


@pytest.mark.parametrize("name", ["", "../x", "A", "a/b", "-a", "x" * 64])
def test_names_of_fleets(name: str) -> None:
    with pytest.raises(UsageError):
        check_name(name)


@pytest.mark.parametrize(
    ("address", "insecure", "is_refused"),
    [
        ("tcp://127.0.0.1:8786", False, False),
        ("tcp://localhost:8786", False, False),
        ("tcp://[::1]:8786", False, False),
        ("tls://head.example.org:8786", False, False),
        ("tcp://head.example.org:8786", False, True),
        ("tcp://10.0.0.1:8786", False, True),
        ("tcp://127.0.0.1.example.org:8786", False, True),
        ("tcp://0.0.0.0:8786", False, True),
        ("tcp://10.0.0.1:8786", True, False),
    ],
)
def test_an_open_scheduler_beyond_this_machine_is_refused(
    address: str, insecure: bool, is_refused: bool
) -> None:
    if is_refused:
        with pytest.raises(UsageError, match="runs the code of everyone"):
            check_scheduler(address, insecure=insecure)
    else:
        check_scheduler(address, insecure=insecure)


def test_an_archive_brings_a_directory_back(tmp_path: Path) -> None:
    source = tmp_path / "run"
    (source / "outputs").mkdir(parents=True)
    (source / "journal.jsonl").write_text("{}\n")
    (source / "outputs/01.md").write_text("answer\n")
    (source / "lock").write_text("pid")
    (source / "link").symlink_to("/etc/passwd")
    data = pack_directory(source)
    assert data is not None
    assert data == pack_directory(source)
    unpack_directory(data, tmp_path / "copy")
    copied = sorted(
        p.relative_to(tmp_path / "copy").as_posix() for p in (tmp_path / "copy").rglob("*.*")
    )
    assert copied == ["journal.jsonl", "outputs/01.md"]


def a_record(title: str, task_id: str = "OP3-1", priority: str = "high", **more: object) -> Record:
    fields = {
        "pack_id": None,
        "pack_hash": "h",
        "step_id": "01",
        "task_id": task_id,
        "title": title,
        "status": "actionable",
        "kind": "change",
        "category": "invariants",
        "reference": None,
        "expected_artifacts": [],
        "actions": [],
        "evidence": {"paths": [], "symbols": [], "commands": [], "citations": []},
        "notes": [],
        "missing_inputs": [],
        "sources": ["01"],
        "priority": priority,
        "score": 1,
        "roi": None,
        "effort": None,
        **more,
    }
    return msgspec.convert(fields, Record)


def grouped(tasks: Iterable[SharedTask]) -> list[list[str]]:
    return [[one.record.task_id for one in task.members] for task in merge_across(tasks)]


def test_the_same_work_in_several_repositories_is_listed_once() -> None:
    tasks = [
        SharedTask("shop", a_record("Close the file in `load`", "A", "low")),
        SharedTask("api", a_record("Close the file in load.", "B", "medium")),
        SharedTask("api-1", a_record("Log the <b>retry</b>", "C", "critical"), "api"),
        SharedTask("api-2", a_record("log the <b>retry</b>", "F", "critical"), "api"),
        SharedTask("api", a_record("Log the retry", "D", kind="finding")),
        SharedTask("api", a_record("Nothing to do", "E", status="noop", kind=None)),
    ]
    merged = merge_across(tasks)
    assert grouped(tasks) == [["B", "A"], ["C", "F"], ["D"]]
    page = combined_page("weekly", merged, [])
    assert "Tasks: 3, of 0 runs; 1 of them in several repositories." in page
    assert "- [ ] Close the file in load. — medium, change; api B, shop A\n" in page
    assert "critical, change; api-1 C, api-2 F\n" in page
    assert "<b>" not in page


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Add a timeout to the HTTP client", "Add a timeout to the HTTP client."),
        ("Never log passwords", "never log **passwords**"),
        ("Support C++ sources", "Support `C++` sources"),
        ("修复登录错误", "修复登录错误。"),
    ],
)
def test_titles_with_the_same_words_are_the_same_work(first: str, second: str) -> None:
    tasks = [SharedTask("shop", a_record(first, "A")), SharedTask("api", a_record(second, "B"))]
    assert grouped(tasks) == [["B", "A"]]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Pin every GitHub action to a commit", "Pin all GitHub actions to commits"),
        ("Add a timeout to the HTTP client", "Add a retry to the HTTP client"),
        ("Log failed logins of users", "Do not log failed logins of users"),
        ("Keep error logs for 7 days", "Keep error logs for 30 days"),
        ("Close the file after reading in `load`", "Close the file after reading in `save`"),
        ("Add a lock file for npm in `web/`", "Add a lock file for npm in `ui/app/`"),
        ("Lock the cache while reading entries", "Lock the cache while writing entries"),
        ("Upgrade Django from 3 to 4", "Upgrade Django from 4 to 3"),
        ("Validate the id before the payment", "Validate the id after the payment"),
        ("Support C++ sources", "Support C# sources"),
        ("修复登录错误", "删除旧缓存"),
    ],
)
def test_titles_that_differ_in_a_word_stay_apart(first: str, second: str) -> None:
    tasks = [SharedTask("shop", a_record(first, "A")), SharedTask("api", a_record(second, "B"))]
    assert len(merge_across(tasks)) == 2


def test_the_order_of_jobs_does_not_change_the_groups() -> None:
    title = "Pin every GitHub action to a commit"
    tasks = [
        SharedTask("a", a_record(title, "A", "low")),
        SharedTask("b", a_record(title.upper(), "B", "critical")),
        SharedTask("c", a_record("Pin all GitHub actions", "C")),
    ]
    for order in permutations(tasks):
        (merged, alone) = merge_across(order)
        assert [member.record.task_id for member in merged.members] == ["A", "B"]
        assert (merged.record.priority, merged.record.title) == ("critical", title.upper())
        assert [member.record.task_id for member in alone.members] == ["C"]


def test_jobs_in_files(tmp_path: Path) -> None:
    store = FileJobStore(tmp_path)
    first, second = a_job("a.md"), a_job("b.md")
    store.add([first])
    store.add([second, first])
    (tmp_path / "f/order").write_text(f"{first.id}\nlost-on-the-way\n{second.id}\n{first.id}\n")
    assert [job.id for job in store.jobs("f")] == [first.id, second.id]
    (tmp_path / "f" / second.id / "job.json").write_bytes(b"")  # a power cut
    assert [job.id for job in store.jobs("f")] == [first.id]
    store.add([first, second])
    assert [job.id for job in store.jobs("f")] == [first.id, second.id]
    taken = store.take("f", first.id)
    assert taken is not None
    assert store.take("f", first.id) is None
    assert store.jobs("f")[0].state is JobState.RUNNING
    taken.report(JobReport(summary=JobSummary(steps=1, ok=1), state=JobState.DONE, exit_code=0))
    assert store.jobs("f")[0].state is JobState.DONE
    assert store.policy("f") == FleetPolicy()
    store.set_policy("f", FleetPolicy(max_cost=Decimal("2.50"), unknown_after=60.0))
    assert store.policy("f") == FleetPolicy(max_cost=Decimal("2.50"), unknown_after=60.0)


def test_the_status_tells_generated_packs_of_a_repository_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    manifest = (
        b'{"repo": "r", "generate": {"exclude": ["web"], "count": 12}}\n'
        b'{"repo": "r", "generate": {"focus": ["src/a", "src/b"]}}\n'
        b'{"repo": "r", "generate": {}}\n{"repo": "r", "pack": "docs/p.md"}\n'
    )
    sources = read_manifest(manifest, "m")
    assert not isinstance(sources, Refusal)
    FileJobStore().add(make_job("f", one, COMMIT) for one in sources)

    rows = answer(capsys, "fleet", "status", "--name", "f").out.splitlines()[1:5]

    assert [row.partition("r@aaaaaaaa")[2].strip() for row in rows] == [
        "generated count=12 exclude=web",
        "generated focus=src/a,src/b",
        "generated",
        "docs/p.md",
    ]


def test_calls_in_flight_are_those_of_running_jobs() -> None:
    busy = JobSummary(in_flight={"openai": 2, "browser": 1})
    jobs = [
        replace(a_job("a.md", JobState.RUNNING), summary=busy),
        replace(a_job("b.md", JobState.RUNNING), summary=JobSummary(in_flight={"openai": 1})),
        replace(a_job("c.md", JobState.QUEUED), summary=busy),
    ]
    assert totals(jobs).in_flight == {"browser": 1, "openai": 3}


@pytest.mark.parametrize(
    ("scheduler", "refusal"),
    [
        ("tcp://head.example.org:8786", "without TLS"),
        ("kubernetes", "has no TLS"),
        ("carrier-pigeon", "no such scheduler"),
    ],
)
def test_schedulers_that_are_refused(scheduler: str, refusal: str) -> None:
    with pytest.raises(UsageError, match=refusal):
        check_dask(scheduler, insecure=False)


@pytest.mark.parametrize("scheduler", ["tcp://head.example.org:8786", "kubernetes"])
def test_a_closed_network_needs_no_tls(scheduler: str) -> None:
    check_dask(scheduler, insecure=True)


def test_a_worker_does_not_load_what_only_other_commands_need() -> None:
    """Every job starts a process; these would take it longer to load than the engine."""
    loads = "import sys, oraclepack.fleet.fleets; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", loads], capture_output=True, check=True, text=True
    ).stdout.split()
    assert "oraclepack.run.run" in loaded
    assert {"oraclepack.authoring.generate", "oraclepack.work.compare", "distributed"}.isdisjoint(
        loaded
    )


def test_every_repository_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    places = [JobSource(repo=str(tmp_path / f"r{n}"), pack="p.md") for n in range(12)]
    with pytest.raises(InputError, match="12 repositories cannot be used") as caught:
        jobs_of("default", places)
    lines = (caught.value.detail or "").splitlines()
    assert [line.split(": ")[0] for line in lines] == [place.repo for place in places]
