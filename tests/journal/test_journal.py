"""The journal file."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from threading import Thread

import msgspec
import pytest

from oraclepack.errors import InputError, MachineError
from oraclepack.journal import events as j
from oraclepack.journal.journal_file import NAME, JournalFile, load
from oraclepack.journal.run_state import fold
from oraclepack.journal.statuses import Move, Status
from oraclepack.system.secrets import BLOT, Redactor
from oraclepack.system.trust_key import make_key
from tests import events as e
from tests.clocks import SteppingClock
from tests.faults import failing, short_write, watched

STORY = (e.created("01"), e.session(), *e.a_step("01"))


def a_journal(path: Path, *events: j.KnownEvent) -> JournalFile:
    journal = JournalFile(path / NAME, SteppingClock())
    for event in events:
        journal.append(event)
    return journal


def messages(path: Path) -> list[str]:
    return [
        event.action for event in load(path / NAME).events if isinstance(event, j.ControlRequested)
    ]


def test_what_was_appended_is_there(tmp_path: Path) -> None:
    with a_journal(tmp_path, *STORY) as journal:
        state = journal.state

    reading = load(tmp_path / NAME)
    assert [event.seq for event in reading.events] == [1, 2, 3, 4, 5]
    assert reading.events[0].at == "2026-03-01T10:00:01.000Z"
    assert fold(reading.events) == state
    assert stat.S_IMODE((tmp_path / NAME).stat().st_mode) == 0o600


def test_a_missing_journal_is_an_empty_one(tmp_path: Path) -> None:
    assert load(tmp_path / NAME).events == ()


def test_an_event_is_one_write_and_one_sync(tmp_path: Path) -> None:
    with a_journal(tmp_path) as journal, watched() as operations:
        journal.append(j.ControlRequested(action="m"))

    assert operations == ["write", "sync"]


def test_what_a_power_cut_may_forget_is_synced_together(tmp_path: Path) -> None:
    with a_journal(tmp_path) as journal, watched() as operations:
        journal.append(j.WarningRecorded(message="m"))
        journal.append(j.WarningRecorded(message="n"))
        journal.sync()
        journal.sync()

    assert operations == ["write", "write", "sync"]


def test_a_new_journal_is_known_to_its_directory(tmp_path: Path) -> None:
    make_key()
    with watched() as operations:
        a_journal(tmp_path).close()

    assert operations == ["open", "sync_directory"]


def test_a_journal_is_continued(tmp_path: Path) -> None:
    a_journal(tmp_path, *STORY).close()
    a_journal(tmp_path, j.ControlRequested(action="later")).close()

    assert load(tmp_path / NAME).events[-1].seq == 6


def test_a_torn_line_is_saved_before_the_next_append(tmp_path: Path) -> None:
    a_journal(tmp_path, *STORY).close()
    whole = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(whole + b'{"crc":"00')

    journal = a_journal(tmp_path)
    assert (tmp_path / NAME).read_bytes() == whole + b'{"crc":"00'
    journal.append(j.ControlRequested(action="again"))
    journal.close()

    assert (tmp_path / f"{NAME}.torn-1").read_bytes() == b'{"crc":"00'
    assert messages(tmp_path) == ["again"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"x\n" + e.in_file(e.numbered(*STORY)), "line 1", id="damaged"),
        pytest.param(
            e.in_file(e.numbered(e.created("01", schema_version=9))), "format 9", id="newer"
        ),
    ],
)
def test_a_journal_that_cannot_be_continued_is_left_alone(
    tmp_path: Path, content: bytes, words: str
) -> None:
    (tmp_path / NAME).write_bytes(content)

    with pytest.raises(InputError, match=words):
        a_journal(tmp_path)
    assert (tmp_path / NAME).read_bytes() == content


@pytest.mark.parametrize("taken", [0, 1, 30])
def test_a_full_disk_leaves_no_half_line(tmp_path: Path, taken: int) -> None:
    journal = a_journal(tmp_path, *STORY)
    before = (tmp_path / NAME).read_bytes()

    with short_write(taken), pytest.raises(MachineError, match="No space left") as caught:
        journal.append(j.ControlRequested(action="lost"))

    assert "free some space" in caught.value.hint
    assert (tmp_path / NAME).read_bytes() == before
    journal.append(j.ControlRequested(action="kept"))
    assert messages(tmp_path) == ["kept"]


def test_a_tail_that_could_not_be_cut_is_cut_later(tmp_path: Path) -> None:
    journal = a_journal(tmp_path, *STORY)

    with failing(1, errno.EIO, only="sync"), pytest.raises(MachineError):
        journal.append(j.ControlRequested(action="lost"))
    with failing(2, errno.EIO), pytest.raises(MachineError):  # the write passes, nothing after it
        journal.append(j.ControlRequested(action="lost too"))
    assert messages(tmp_path) == ["lost too"]

    journal.append(j.ControlRequested(action="kept"))
    assert messages(tmp_path) == ["kept"]


def test_a_read_only_place_is_reported(tmp_path: Path) -> None:
    with failing(1, errno.EROFS), pytest.raises(MachineError, match="Read-only") as caught:
        a_journal(tmp_path)

    assert caught.value.hint


def test_a_journal_cut_by_others_is_not_written_to(tmp_path: Path) -> None:
    journal = a_journal(tmp_path, *STORY)
    os.truncate(tmp_path / NAME, 10)

    with pytest.raises(InputError, match="shorter"):
        journal.append(j.ControlRequested(action="m"))


def test_a_link_in_place_of_the_journal_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"")
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(MachineError):
        a_journal(tmp_path)


def test_secrets_stay_out(tmp_path: Path) -> None:
    journal = JournalFile(tmp_path / NAME, SteppingClock(), Redactor(['s3cr"et\n!', "warning"]))
    kept = journal.append(j.ControlRequested(action='warning: key s3cr"et\n! refused'))

    assert kept == j.ControlRequested(seq=1, at=kept.at, action=f"{BLOT}: key {BLOT} refused")
    assert messages(tmp_path) == [f"{BLOT}: key {BLOT} refused"]


def test_bytes_that_are_no_text_are_spelled_out(tmp_path: Path) -> None:
    name, escaped_name = os.fsdecode(b"\xff.md"), r"\udcff.md"
    move = Move(source="a.md", target=f"_failed/{name}")
    events = (
        j.ControlRequested(action=f"{name} stays"),
        j.TreeChanged(step="01", attempt=1, files=("a.md", name)),
        j.Quarantined(step="01", attempt=1, moves=(move,)),
        j.StepFinished(step="01", attempt=1, status=Status.OK, attached={name: "0"}),
        j.SessionStarted(pid=1, host="box", argv=("run", name), settings={"a": [name], "b": 2}),
    )
    with a_journal(tmp_path, *STORY) as journal:
        kept = [journal.append(event) for event in events]
        state = journal.state

    reading = load(tmp_path / NAME)
    assert list(reading.events[len(STORY) :]) == kept
    assert fold(reading.events) == state
    for before, after in zip(events, kept, strict=True):
        expected = msgspec.structs.replace(before, seq=after.seq, at=after.at)
        assert repr(after) == repr(expected).replace(r"\udcff", r"\\udcff")
    assert escaped_name in messages(tmp_path)[0]


def test_threads_take_turns(tmp_path: Path) -> None:
    journal = a_journal(tmp_path)
    threads = [
        Thread(target=lambda: [journal.append(j.ControlRequested(action="m")) for _ in range(20)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert load(tmp_path / NAME).damage is None
    assert journal.state.last_seq == 80


WRITER = """
import sys
from pathlib import Path
from tests.clocks import SteppingClock
from tests.faults import die_at
from oraclepack.journal.journal_file import JournalFile
from oraclepack.journal.events import ControlRequested
die_at(int(sys.argv[2]), torn=int(sys.argv[3]))
journal = JournalFile(Path(sys.argv[1]), SteppingClock())
for number in range(1, 6):
    journal.append(ControlRequested(action=str(number)))
    print("acknowledged", number, flush=True)
"""


@pytest.mark.parametrize("torn", [0, 60])
def test_a_writer_killed_at_any_operation_loses_nothing_it_acknowledged(
    tmp_path: Path, torn: int
) -> None:
    known = 0
    for moment in range(1, 30):
        ran = subprocess.run(
            [sys.executable, "-c", WRITER, str(tmp_path / NAME), str(moment), str(torn)],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
        reading = load(tmp_path / NAME)

        assert reading.damage is None
        assert len(reading.events) >= known + ran.stdout.count("acknowledged")
        known = len(reading.events)
        if ran.returncode == 0:
            break
    assert ran.returncode == 0
    assert moment > 10
