"""Steps that call the real oracle through the gateway."""

import threading
from collections.abc import Iterator
from pathlib import Path
from shlex import join

import pytest

from oraclepack.shell.attempt import StopLevel
from tests.callers import Stage, stage
from tests.killable import await_end, start_runner
from tests.provider import Provider, answer_to
from tests.real.oracles import RealOracle


@pytest.fixture
def here(real_oracle: RealOracle, tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path, env=real_oracle.env) as made:
        yield made


def _call(oracle: RealOracle, prompt: str, *more: str) -> str:
    return join(["oracle", *oracle.argv(prompt, *more)[1:]])


def test_a_call_ends_as_it_would_alone(
    here: Stage, real_oracle: RealOracle, provider: Provider
) -> None:
    outcome, said = here.run(_call(real_oracle, "What is it?", "--write-output", "x.md"))

    assert outcome.exit_code == 0
    assert "Saved assistant output to" in said
    kept = (here.bench.root / "x.md").read_text().strip()
    assert kept == answer_to(provider.requests[0].prompt).strip()


def test_a_reader_that_leaves_early_costs_no_answer(here: Stage, real_oracle: RealOracle) -> None:
    # On its own oracle dies of the closed pipe and writes nothing.
    here.run(_call(real_oracle, "What is it?", "--write-output", "x.md") + " | head -1")

    assert here.ends[0].exit_code == 0
    assert (here.bench.root / "x.md").exists()


def test_stopping_the_run_cancels_the_call(
    here: Stage, real_oracle: RealOracle, provider: Provider
) -> None:
    def stop() -> None:
        provider.await_requests(1)
        here.bench.stop.ask(StopLevel.POLITE)

    threading.Thread(target=stop).start()
    here.run(_call(real_oracle, "Why? [[fault=hang]]", "--write-output", "x.md"))

    (end,) = here.ends
    assert (end.exit_code, end.stopped) == (130, True)
    assert "Cancelled." in end.out


def test_the_answer_survives_our_death(
    real_oracle: RealOracle, provider: Provider, tmp_path: Path
) -> None:
    step = _call(real_oracle, "Why? [[fault=hold]]", "--write-output", "x.md")
    runner = start_runner(tmp_path, step, real_oracle.env)
    provider.await_requests(1)
    with runner.process as process:
        process.kill()
        await_end(runner.shell)
        provider.release.set()
        await_end(runner.tool)

    (session,) = real_oracle.sessions
    assert session["status"] == "completed"
    assert len(provider.requests) == 1
    kept = (tmp_path / "x.md").read_text().strip()
    assert kept == answer_to(provider.requests[0].prompt).strip()
