"""Who keeps the manifests ends with the command, whenever that comes."""

import threading
from pathlib import Path

from oraclepack.journal import events as j
from oraclepack.pack.pack_files import read_pack
from oraclepack.run.open_run import RunSelector, find_run, opened
from oraclepack.system.clock import SystemClock
from tests.events import created
from tests.packs import pack_text


class _EndsJustThen(threading.Event):
    """The end comes right after the keeper has looked whether it has come."""

    def __init__(self) -> None:
        super().__init__()
        self.has_looked = threading.Event()
        self.wake = threading.Event()

    def wait(self, _timeout: float | None = None) -> bool:
        seen = self.is_set()
        self.wake.clear()
        self.has_looked.set()
        super().wait(10)
        self.wake.wait(10)  # `close` sets it last
        return seen


def test_closing_never_waits_for_a_keeper_that_sleeps(tmp_path: Path) -> None:
    (tmp_path / "pack.md").write_text(pack_text("# 01) one\ntrue\n"))
    pack, clock, wish = read_pack(tmp_path / "pack.md"), SystemClock(), RunSelector()
    over = _EndsJustThen()

    def one_run() -> None:
        with opened(find_run(tmp_path, pack, wish, clock), pack, wish, clock, "run") as record:
            record._over, record._wake = over, over.wake
            record.append(created("01"))
            record.append(
                j.StepStarted(
                    step="01",
                    attempt=1,
                    command_hash="0",
                    reason="",
                    stdout_log="o",
                    stderr_log="e",
                    token="t",
                )
            )
            assert over.has_looked.wait(10)

    at_work = threading.Thread(target=one_run, daemon=True)
    at_work.start()
    at_work.join(20)
    assert not at_work.is_alive()
