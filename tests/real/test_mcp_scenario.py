"""The whole way over every transport and both protocol eras, with the real oracle."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client.streamable_http import streamable_http_client

from mcp import Client, StdioServerParameters
from oraclepack.mcp.server import OraclepackServer
from oraclepack.mcp.services import services_of
from tests.packs import pack_text
from tests.provider import Provider, Rule
from tests.real.oracles import RealOracle

pytestmark = pytest.mark.heavy

SERVE = [sys.executable, "-m", "oraclepack", "mcp", "--allow-run"]
TOKEN = "0123456789abcdef0123"
Play = Callable[[Client], Awaitable[Any]]


@dataclass(frozen=True)
class Scene:
    """A project, and the server's environment."""

    project: Path
    env: dict[str, str]
    transport: str
    mode: str

    def play(self, play: Play, *, kill: bool = False) -> Any:
        """Talk to a server that was just started; in the end it is killed, or left to end."""
        if self.transport == "memory":
            return asyncio.run(self._talk(self._in_memory(), play))
        if self.transport == "http":
            with self._listening() as (url, process):
                result = asyncio.run(self._talk_over_http(url, play))
                if kill:
                    os.kill(process.pid, signal.SIGKILL)
                return result
        return self._over_stdio(play, kill=kill)

    async def _talk(self, server: Any, play: Play) -> Any:
        async with Client(server, mode=self.mode, elicitation_callback=_approve) as client:
            return await play(client)

    async def _talk_over_http(self, url: str, play: Play) -> Any:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            return await self._talk(streamable_http_client(url, http_client=http), play)

    def _in_memory(self) -> Any:
        made = services_of((str(self.project),), allow_run=True, variables={})
        os.chdir(self.project)
        return OraclepackServer(made).low_level()

    def _over_stdio(self, play: Play, *, kill: bool) -> Any:
        pid = self.project.parent / "server.pid"
        script = f'echo $$ > {pid}; exec "$0" "$@"'
        server = StdioServerParameters(
            command="sh",
            args=["-c", script, *SERVE, "--root", str(self.project)],
            env=self.env,
        )
        results: list[Any] = []

        async def ending(client: Client) -> None:
            results.append(await play(client))
            if kill:
                os.kill(int(pid.read_text()), signal.SIGKILL)

        with suppress(Exception) if kill else nullcontext():
            asyncio.run(self._talk(server, ending))
        return results[0]

    @contextmanager
    def _listening(self) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        words = [*SERVE, "--root", str(self.project), "--transport", "http", "--port", str(port)]
        env = self.env | {"ORACLEPACK_MCP_TOKEN": TOKEN}
        with subprocess.Popen(words, env=env, stderr=subprocess.PIPE) as process:
            try:
                _await_port(port, process)
                yield f"http://127.0.0.1:{port}/mcp", process
            finally:
                process.terminate()


def _await_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    for _ in range(600):
        assert process.poll() is None, process.stderr and process.stderr.read()
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.1):
            return
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    pytest.fail("the server does not listen")


async def _approve(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"approve": True})


async def result_of(client: Client, name: str, **arguments: Any) -> Any:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, (name, result.structured_content)
    return result.structured_content


def a_scene(oracle: RealOracle, transport: str, mode: str) -> Scene:
    project = oracle.cwd
    (project / ".git").mkdir()
    (project / "stock.py").write_text("quantity = 1\n")
    parts = "direct answer, risks/unknowns, next experiment, missing evidence"
    format_words = f"Answer format: {parts}."
    asks = f"oracle {' '.join(oracle.flags)} -m gpt-5.2 -f stock.py"
    (project / "pack.md").write_text(
        pack_text(
            "mkdir -p out\n"
            f'# 01) First\n{asks} -p "Is one right? {format_words}" --write-output out/01.md\n'
            f'# 02) Second\n{asks}\n  -p "Is two right? {format_words}" --write-output out/02.md\n'
        )
    )
    env = {**os.environ, **oracle.env}
    return Scene(project, env, transport, mode)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http", "memory"])
def test_the_whole_way(
    real_oracle: RealOracle,
    provider: Provider,
    transport: str,
    mode: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scene = a_scene(real_oracle, transport, mode)
    for name, value in real_oracle.env.items():
        monkeypatch.setenv(name, value)
    provider.rules.append(Rule("two", "hold"))
    reports: list[str] = []

    async def begin(client: Client) -> str:
        checked = await result_of(client, "validate_pack", packs=["pack.md"])
        assert not checked["ok"]
        fixed = await result_of(client, "fix_pack", packs=["pack.md"])
        assert fixed["ok"]
        plan = await result_of(client, "plan_run", pack="pack.md")
        assert [step["decision"] for step in plan["plan"]["steps"]] == ["run", "run"]
        started = await result_of(client, "start_run", pack="pack.md", token=plan["token"])
        again = await client.call_tool("start_run", {"pack": "pack.md", "token": plan["token"]})
        assert again.structured_content["error"]["code"] == "APPROVAL"
        waited = await result_of(client, "wait_run", run=started["run_id"], seconds=0.5)
        assert waited["alive"]
        return str(started["run_id"])

    run = scene.play(begin, kill=True)
    provider.await_requests(2)

    async def finish(client: Client) -> dict[str, Any]:
        async def progress(progress: float, total: float | None, message: str | None) -> None:
            reports.append(message or "")

        held = await result_of(client, "run_status", run=run)
        assert (held["alive"], held["steps"][0]["state"]) == (True, "ok")
        provider.release.set()
        while True:
            waited = await client.call_tool("wait_run", {"run": run}, progress_callback=progress)
            if not waited.structured_content["alive"]:
                break
        answer = await result_of(
            client, "read_answer", run=run, step="02", section="next-experiment"
        )
        done = await result_of(client, "actionize", run=run)
        work = await result_of(client, "list_work", run=run, limit=1)
        report = await result_of(client, "read_report", run=run, limit=200)
        status: dict[str, Any] = waited.structured_content
        return status | {"answer": answer, "done": done, "work": work, "report": report}

    end = scene.play(finish)

    assert end["state"] == "ok", end
    assert end["answer"]["text"] == "- Write one failing test."
    assert end["work"]["records"]
    assert reports
    assert reports[-1] == "ok: 2 of 2 steps"
    assert sorted(prompt.split("?")[0] for prompt in provider.answered) == [
        "Is one right",
        "Is two right",
    ]
    assert len(provider.requests) == 2, "one request per question"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_run_that_the_user_approves(
    real_oracle: RealOracle, provider: Provider, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = a_scene(real_oracle, "stdio", mode)

    async def play(client: Client) -> Any:
        await result_of(client, "fix_pack", packs=["pack.md"])
        started = await result_of(client, "start_run", pack="pack.md")
        paused = await result_of(client, "stop_run", run=started["run_id"], now=True)
        waited = await result_of(client, "wait_run", run=started["run_id"])
        return paused, waited

    stopped, waited = scene.play(play)

    assert stopped["ok"]
    assert not waited["alive"]


def test_http_has_a_door(real_oracle: RealOracle) -> None:
    scene = a_scene(real_oracle, "http", "auto")
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    plain = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    def status(url: str, data: bytes = ping, **headers: str) -> int:
        given = plain | {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data, given)) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as refused:
            return refused.code

    with scene._listening() as (url, _):
        assert status(url) == 401
        assert status(url, Authorization="Bearer wrong") == 401
        plain["Authorization"] = f"Bearer {TOKEN}"
        assert status(url) not in {401, 403, 421}
        assert status(url, Host="evil.example:80") == 421
        assert status(url, Origin="http://evil.example") == 403
        assert status(url, b"x" * (1024 * 1024 + 1)) == 413
    for host, more in (("0.0.0.0", {}), ("127.0.0.1", {"ORACLEPACK_MCP_TOKEN": "short"})):
        refused = subprocess.run(
            [*SERVE, "--transport", "http", "--host", host],
            env=scene.env | more,
            capture_output=True,
            check=False,
        )
        assert refused.returncode == 2
