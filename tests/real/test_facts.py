"""What the real oracle does where oraclepack counts on it: pinned, so that a change is noticed."""

import os
import select
import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

import pytest

from tests.provider import Provider, answer_to, serving
from tests.real.conftest import an_oracle
from tests.real.oracles import RealOracle

pytestmark = pytest.mark.slow


def test_a_good_answer_is_written_and_recorded(real_oracle: RealOracle, provider: Provider) -> None:
    (real_oracle.cwd / "a.txt").write_text("alpha\n")
    done = real_oracle.ask("What is it?", "-f", "a.txt", "--write-output", "out/x.md", "--wait")

    (request,) = provider.requests
    (session,) = real_oracle.sessions
    answer = real_oracle.cwd / "out/x.md"
    assert (done.returncode, done.stderr, request.files) == (0, "", ("a.txt",))
    assert answer.read_text().strip() == answer_to(request.prompt).strip()
    assert session["status"] == "completed"
    assert session["options"]["prompt"] == "What is it?"
    assert session["options"]["writeOutputPath"] == str(answer)
    assert session["usage"]["outputTokens"] > 0


FAULTS = ("rate_limit", "quota", "unavailable", "auth", "context", "drop", "cut")


class Faulty(NamedTuple):
    """A call that met a fault: how it ended, what it left, and how often the provider was asked."""

    done: CompletedProcess[str]
    oracle: RealOracle
    requests: int


@pytest.fixture(scope="module")
def faulty(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Faulty]:
    """One call for each fault, side by side: most of the time they wait to try again."""
    places = {fault: tmp_path_factory.mktemp(fault) for fault in FAULTS}
    with serving() as provider, ThreadPoolExecutor(len(FAULTS)) as pool:
        oracles = {fault: an_oracle(programs, provider, place) for fault, place in places.items()}
        prompts = {fault: f"Why? [[fault={fault}]]" for fault in FAULTS}
        calls = {
            fault: pool.submit(oracle.ask, prompts[fault], "--write-output", "x.md")
            for fault, oracle in oracles.items()
        }
        ended = {fault: call.result() for fault, call in calls.items()}
        asked = Counter(request.prompt for request in provider.requests)
    return {fault: Faulty(ended[fault], oracles[fault], asked[prompts[fault]]) for fault in FAULTS}


@pytest.mark.parametrize(
    ("fault", "requests", "said", "reason"),
    [
        pytest.param("rate_limit", 3, "Please try again in 20s", "api-error", id="rate limit"),
        pytest.param("quota", 3, "exceeded your current quota", "api-error", id="quota"),
        pytest.param("unavailable", 3, "currently overloaded", "api-error", id="overloaded"),
        pytest.param("auth", 1, "Incorrect API key", "api-error", id="wrong key"),
        pytest.param("context", 1, "maximum context length", "api-error", id="too long"),
        pytest.param("drop", 3, "dropped before the response", "connection-lost", id="dropped"),
        pytest.param("cut", 1, "terminated", "unknown", id="reset in the stream"),
    ],
)
def test_a_fault_is_recognised_by_its_text_alone(
    fault: str, requests: int, said: str, reason: str, faulty: dict[str, Faulty]
) -> None:
    done, real_oracle, asked = faulty[fault]

    (session,) = real_oracle.sessions
    assert (done.returncode, done.stderr, asked) == (1, "", requests)
    assert said in done.stdout
    assert said in session["errorMessage"]
    assert (session["status"], session["transport"]["reason"]) == ("error", reason)
    assert not (real_oracle.cwd / "x.md").exists()


def test_an_empty_answer_exits_0_and_leaves_the_older_file(real_oracle: RealOracle) -> None:
    (real_oracle.cwd / "x.md").write_text("older")
    done = real_oracle.ask("Why? [[fault=empty]]", "--write-output", "x.md")

    assert done.returncode == 0
    assert "no assistant content to save" in done.stdout
    assert (real_oracle.cwd / "x.md").read_text() == "older"


def test_a_stream_that_ends_early_in_order_exits_0(
    real_oracle: RealOracle, provider: Provider
) -> None:
    done = real_oracle.ask("Why? [[fault=cut_clean]]", "--write-output", "x.md")

    whole = answer_to(provider.requests[0].prompt)
    kept = (real_oracle.cwd / "x.md").read_text().strip()
    assert done.returncode == 0
    assert whole.startswith(kept)
    assert len(kept) < len(whole) - 1
    assert real_oracle.sessions[0]["usage"]["outputTokens"] == 0


def test_a_failed_write_exits_0(real_oracle: RealOracle) -> None:
    (real_oracle.cwd / "x.md").mkdir()
    done = real_oracle.ask("Why is that so?", "--write-output", "x.md")

    assert done.returncode == 0
    assert "write-output failed (EISDIR" in done.stdout
    assert real_oracle.sessions[0]["status"] == "completed"


def test_the_same_prompt_is_refused_while_it_runs_and_after_its_death(
    real_oracle: RealOracle, provider: Provider
) -> None:
    running = real_oracle.begin("Why? [[fault=hold first=1]]")
    provider.await_requests(1)
    refused = real_oracle.ask("Why? [[fault=hold first=1]]")
    running.send_signal(signal.SIGKILL)
    running.wait()
    still = real_oracle.ask("Why? [[fault=hold first=1]]")
    forced = real_oracle.ask("Why? [[fault=hold first=1]]", "--force")

    codes = (refused.returncode, still.returncode, forced.returncode)
    assert codes == (1, 1, 0)
    assert "A session with the same prompt is already running" in refused.stdout
    assert len(provider.requests) == 2


def test_a_pro_model_detaches_unless_it_is_asked_to_wait(
    real_oracle: RealOracle, provider: Provider
) -> None:
    prompt = "A question that is long enough [[fault=hold]]"
    left = real_oracle.ask(prompt, "--write-output", "x.md", model="gpt-5.5-pro")
    provider.await_requests(1)
    (session,) = real_oracle.sessions
    worker = session["lifecycle"]["workerPid"]
    ended = os.pidfd_open(worker)

    assert left.returncode == 0
    assert not (real_oracle.cwd / "x.md").exists()
    assert os.getsid(worker) == worker
    provider.release.set()
    poll = select.poll()
    poll.register(ended, select.POLLIN)
    assert poll.poll(30_000)
    os.close(ended)
    assert (real_oracle.cwd / "x.md").exists()


def test_with_wait_a_pro_model_stays(real_oracle: RealOracle) -> None:
    more = ("--write-output", "x.md", "--wait")
    done = real_oracle.ask("A question that is long enough", *more, model="gpt-5.5-pro")

    assert done.returncode == 0
    assert (real_oracle.cwd / "x.md").exists()
