"""An idle step is noticed once, by the sizes of its logs alone."""

from pathlib import Path

from oraclepack.shell.bash import IdleWatch
from tests.clocks import SteppingClock


def test_without_a_timeout_nothing_is_reported(tmp_path: Path) -> None:
    silence = IdleWatch([str(tmp_path / "log")], None, SteppingClock())

    assert (silence.rest(), silence.notice()) == (None, None)


def test_each_silence_is_reported_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    silence = IdleWatch([str(log), str(tmp_path / "none")], 2.5, SteppingClock())

    notices = [bool(silence.notice()) for _ in range(5)]
    log.write_text("a word")
    notices += [bool(silence.notice()) for _ in range(5)]

    assert notices.count(True) == 2
    assert notices[-1] is False


def test_it_is_worth_looking_again_after_the_limit(tmp_path: Path) -> None:
    silence = IdleWatch([str(tmp_path / "log")], 10.0, SteppingClock())

    assert silence.rest() == 9.0
