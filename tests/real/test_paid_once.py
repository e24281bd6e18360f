"""Paid once on the routes that people use: the provider's log is the judge."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.run.project import GIT, asking
from tests.packs import pack_text
from tests.provider import Provider, Rule, answer_to
from tests.real.oracles import RealOracle

pytestmark = pytest.mark.slow


class Desk:
    """A project with a pack, and commands in it."""

    def __init__(self, oracle: RealOracle, *steps: str) -> None:
        self.oracle, self.root = oracle, oracle.cwd
        self.env = {**oracle.env, "AZURE_OPENAI_API_KEY": "sk-azure"}
        if steps:
            self.root.joinpath("pack.md").write_text(pack_text("mkdir -p out\n" + "".join(steps)))
            self.git("init", "-q", "-b", "main", "--template=")
            self.commit()

    def git(self, *words: str) -> None:
        own = {**os.environ, "HOME": str(self.oracle.home)}
        subprocess.run([*GIT, *words], cwd=self.root, check=True, env=own)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "work")

    def start(self, *words: str) -> "subprocess.Popen[str]":
        argv = [sys.executable, "-m", "oraclepack", "run", "pack.md", "--json", *words]
        return subprocess.Popen(
            argv,
            cwd=self.root,
            env=self.env,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, *words: str) -> tuple[int, dict[str, Any]]:
        """One command to its end: its exit code and its reply."""
        process = self.start(*words)
        out, err = process.communicate(timeout=180)
        assert out, err
        loaded: dict[str, Any] = json.loads(out)
        return process.returncode, loaded

    def kill_everything(self, process: "subprocess.Popen[str]") -> None:
        """The command, its steps and its tools."""
        mark = f"ORACLE_HOME_DIR={self.env['ORACLE_HOME_DIR']}".encode()
        process.kill()
        for place in Path("/proc").iterdir():
            try:
                if place.name.isdigit() and mark in (place / "environ").read_bytes().split(b"\0"):
                    os.kill(int(place.name), signal.SIGKILL)
            except OSError:
                continue
        process.communicate()

    def answer(self, number: int) -> str:
        return (self.root / f"out/{number:02}-topic-{number}.md").read_text()


def background(provider: Provider, number: int, *more: str) -> str:
    """A step that asks a Pro model over Azure, which computes in the background."""
    words = (
        *("--engine", "api", "--provider", "azure", "-m", "gpt-5.5-pro"),
        *("--azure-endpoint", f"http://127.0.0.1:{provider.port}"),
        *("--azure-deployment", "gpt-5.5-pro", *more),
    )
    return asking(number).replace("oracle ", f"oracle {' '.join(words)} ", 1)


def chat(provider: Provider, number: int, model: str = "-m gpt-5.2") -> str:
    words = f"oracle --engine api --base-url {provider.base_url} {model} "
    return asking(number).replace("oracle ", words, 1)


def until_polled(provider: Provider) -> None:
    """The id of the response is printed before oracle first asks for it."""
    with provider.arrived:
        assert provider.arrived.wait_for(lambda: bool(provider.polls), timeout=60)


@pytest.fixture
def thinking(provider: Provider) -> Iterator[Provider]:
    provider.rules.append(Rule("Question", "thinking"))
    yield provider
    provider.release.set()


def test_killed_while_the_provider_thinks(real_oracle: RealOracle, thinking: Provider) -> None:
    desk = Desk(real_oracle, background(thinking, 1))
    process = desk.start()
    until_polled(thinking)
    desk.kill_everything(process)
    thinking.release.set()

    code, reply = desk.run()

    assert code == 0, reply
    assert len(thinking.requests) == 1
    assert desk.answer(1) == answer_to(thinking.requests[0].prompt)
    cost = reply["data"]["cost"]
    assert (cost["calls"], cost["unknown_calls"]) == (1, 0)


def test_slower_than_the_time_out_of_oracle(real_oracle: RealOracle, provider: Provider) -> None:
    provider.background_seconds = 8.0
    desk = Desk(real_oracle, background(provider, 1, "--timeout", "3"))

    code, reply = desk.run()

    assert code == 0, reply
    assert len(provider.requests) == 1
    assert desk.answer(1) == answer_to(provider.requests[0].prompt)


def test_still_thinking_at_the_end_of_the_time(real_oracle: RealOracle, thinking: Provider) -> None:
    desk = Desk(real_oracle, background(thinking, 1, "--timeout", "2"))

    code, reply = desk.run("--call-timeout", "4s")
    assert (code, reply["data"]["awaited_steps"]) == (8, ["01"])
    code, reply = desk.run("--call-timeout", "4s")
    assert (code, reply["data"]["awaited_steps"]) == (8, ["01"])
    thinking.release.set()
    code, reply = desk.run()

    assert code == 0, reply
    assert len(thinking.requests) == 1


def test_one_of_two_models_fails(real_oracle: RealOracle, provider: Provider) -> None:
    desk = Desk(real_oracle, chat(provider, 1, "--models gpt-5.2,gpt-5.1"))
    provider.refused_models.add("gpt-5.1")

    code, reply = desk.run()
    assert code == 3, reply
    provider.refused_models.clear()
    again, reply = desk.run()

    assert again == 0, reply
    asked = [one.model for one in provider.requests if one.answered]
    assert sorted(asked) == ["gpt-5.1", "gpt-5.2"]
    names = sorted(path.name for path in (desk.root / "out").glob("*.*"))
    base = "01-topic-1"
    assert names == [f"{base}.gpt-5.1.md", f"{base}.gpt-5.2.md", f"{base}.oracle.json"]


def test_answers_that_exist_already(
    real_oracle: RealOracle, provider: Provider, tmp_path: Path
) -> None:
    desk = Desk(real_oracle, chat(provider, 1), chat(provider, 2))
    assert desk.run()[0] == 0
    desk.commit()
    desk.git("clone", "-q", str(desk.root), str(tmp_path / "clone"))
    before = {path.name: path.read_bytes() for path in (desk.root / "out").iterdir()}
    shutil.rmtree(real_oracle.home / "sessions")
    shutil.rmtree(real_oracle.home / ".local", ignore_errors=True)
    desk.root = tmp_path / "clone"
    shutil.rmtree(desk.root / ".oraclepack", ignore_errors=True)

    refused, reply = desk.run()
    assert (refused, reply["error"]["code"]) == (2, "EXISTING_ANSWERS")
    adopted, reply = desk.run("--existing", "adopt")

    assert adopted == 0, reply
    assert len(provider.requests) == 2
    assert {path.name: path.read_bytes() for path in (desk.root / "out").iterdir()} == before


def test_an_answer_that_misses_its_contract_in_the_next_job(
    real_oracle: RealOracle, provider: Provider, tmp_path: Path
) -> None:
    desk = Desk(real_oracle, chat(provider, 1), chat(provider, 2))
    provider.rules.append(Rule("Question 2?", "short"))

    first, _ = desk.run("--keep-going")
    for number in (1, 2):
        clone = tmp_path / f"job-{number}"
        desk.git("clone", "-q", str(desk.root), str(clone))
        shutil.copytree(desk.root / ".oraclepack/cache", clone / ".oraclepack/cache")
        job = Desk(RealOracle(real_oracle.programs, real_oracle.home, clone, provider))
        code, reply = job.run("--keep-going")
        assert code == first, reply

    assert first != 0
    assert len(provider.requests) == 2


def test_the_records_are_removed(real_oracle: RealOracle, provider: Provider) -> None:
    desk = Desk(real_oracle, chat(provider, 1), chat(provider, 2))
    assert desk.run()[0] == 0
    shutil.rmtree(desk.root / ".oraclepack")
    shutil.rmtree(real_oracle.home / "sessions")

    code, reply = desk.run()

    assert code == 0, reply
    assert len(provider.requests) == 2


def test_stop_now_cancels_at_the_provider(real_oracle: RealOracle, thinking: Provider) -> None:
    desk = Desk(real_oracle, background(thinking, 1))
    process = desk.start()
    until_polled(thinking)
    argv = [sys.executable, "-m", "oraclepack", "runs", "stop", "latest", "--now"]
    subprocess.run(argv, cwd=desk.root, env=desk.env, check=True, capture_output=True)
    process.communicate(timeout=60)

    assert len(thinking.cancelled) == 1
    thinking.release.set()
    code, reply = desk.run()  # it was cancelled, so it is asked again

    assert code == 0, reply
    assert len(thinking.requests) == 2


def test_a_reply_that_is_lost_is_sent_again_by_the_library_inside_oracle(
    real_oracle: RealOracle, provider: Provider
) -> None:
    """Nobody is killed, and the question is paid for twice: not ours to prevent."""
    provider.rules.append(Rule("Question", "lost", first=1))
    desk = Desk(real_oracle, background(provider, 1))

    code, _ = desk.run()

    assert code == 0
    assert [one.retry for one in provider.requests] == [0, 1]
