"""oraclepack is killed while the real oracle is asked: nothing that was paid for is lost."""

import os
import signal
import threading
from pathlib import Path
from shlex import join

from tests.killable import await_end
from tests.provider import Provider, answer_to
from tests.real.oracles import RealOracle
from tests.real_answers.desk import killed_at_work, sitting

PROMPT = "Why is it so at all? [[fault=hold]]"


def asking(oracle: RealOracle, *more: str, model: str = "gpt-5.2") -> str:
    argv = oracle.argv(PROMPT, "--write-output", "x.md", *more, model=model)
    return join(["oracle", *argv[1:]])


def test_answered_while_we_were_dead(
    real_oracle: RealOracle, provider: Provider, tmp_path: Path
) -> None:
    ask = asking(real_oracle)
    with killed_at_work(tmp_path, real_oracle.env, ask) as kill:
        provider.await_requests(1)
        tool = kill()
    provider.release.set()
    await_end(tool)

    with sitting(tmp_path, real_oracle.env) as desk:
        assert desk.run(ask)[0] == 0
        assert desk.outcomes[-1].adopted
    assert len(provider.requests) == 1
    kept = tmp_path.joinpath("x.md").read_text().strip()
    assert kept == answer_to(provider.requests[0].prompt).strip()


def test_the_answer_is_in_the_log_where_the_file_is_gone(
    real_oracle: RealOracle, provider: Provider, tmp_path: Path
) -> None:
    ask = asking(real_oracle)
    with killed_at_work(tmp_path, real_oracle.env, ask) as kill:
        provider.await_requests(1)
        tool = kill()
    provider.release.set()
    await_end(tool)
    written = tmp_path.joinpath("x.md").read_bytes()
    tmp_path.joinpath("x.md").unlink()

    with sitting(tmp_path, real_oracle.env) as desk:
        assert desk.run(ask)[0] == 0
    assert len(provider.requests) == 1
    assert tmp_path.joinpath("x.md").read_bytes() == written


def test_its_process_still_lives(
    real_oracle: RealOracle, provider: Provider, tmp_path: Path
) -> None:
    ask = asking(real_oracle)
    with killed_at_work(tmp_path, real_oracle.env, ask) as kill:
        provider.await_requests(1)
        kill()
    with sitting(tmp_path, real_oracle.env) as desk:
        threading.Timer(1.0, provider.release.set).start()
        exit_code, said = desk.run(ask)

        assert exit_code == 0, said
        assert "waiting for it" in said
        assert desk.outcomes[-1].adopted
    assert len(provider.requests) == 1


def test_it_died_but_is_still_marked_running(
    real_oracle: RealOracle, provider: Provider, tmp_path: Path
) -> None:
    ask = asking(real_oracle)
    with killed_at_work(tmp_path, real_oracle.env, ask) as kill:
        provider.await_requests(1)
        tool = kill()
    os.kill(tool, signal.SIGKILL)
    await_end(tool)
    provider.release.set()

    with sitting(tmp_path, real_oracle.env) as desk:
        exit_code, said = desk.run(ask)

        assert exit_code == 0, said
        assert not desk.outcomes[-1].adopted
    assert len(provider.answered) == 1
    assert len(provider.requests) == 2


def test_a_worker_still_lives(real_oracle: RealOracle, provider: Provider, tmp_path: Path) -> None:
    ask = asking(real_oracle, "--no-wait", model="gpt-5.5-pro")
    with killed_at_work(tmp_path, real_oracle.env, ask) as kill:
        provider.await_requests(1)
        kill()
    with sitting(tmp_path, real_oracle.env) as desk:
        threading.Timer(1.0, provider.release.set).start()
        exit_code, said = desk.run(ask)

        assert exit_code == 0, said
        assert "still works on it" in said
        assert desk.outcomes[-1].adopted
    assert len(provider.requests) == 1
