"""A project with an answered pack, and clients that talk to a server about it."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp_types as types

from mcp import Client
from oraclepack.mcp.server import OraclepackServer
from oraclepack.mcp.services import Services, services_of
from tests.authoring.repositories import a_repository
from tests.e2e.program import oraclepack
from tests.packs import pack_text
from tests.scripted import Scripted, scripted_tool

QUESTION = (
    "Answer format: direct answer, risks/unknowns, next smallest concrete experiment, "
    "missing evidence."
)
PACK = pack_text(
    "mkdir -p out\n"
    f'# 01) ROI=2 impact=2 confidence=1 effort=1 First\noracle -p "One? {QUESTION}" '
    "-f stock.py --write-output out/01.md\n"
    f'# 02) ROI=1 impact=1 confidence=1 effort=1 Second\noracle -p "Two? {QUESTION}" '
    "-f stock.py --write-output out/02.md\n"
)
BROKEN = pack_text('# 01) Broken\noracle -f stock.py\n  -p "Why?" --write-output out/01.md\n')

THREE_CALLS = pack_text(
    "mkdir -p out\n"
    + "".join(
        f'# {n:02}) Step {n}\noracle -e api -m gpt-5.2 -p "Question {n}? {QUESTION}" '
        f"-f stock.py --write-output out/{n:02}.md\n"
        for n in (1, 2, 3)
    )
)

LIBRARY = Path(__file__).parent.parent / "data/repositories/library/ledger"

Call = Callable[..., Awaitable[types.CallToolResult]]
Play = Callable[[Client], Awaitable[Any]]


def a_project(place: Path) -> Path:
    return a_repository(
        place / "project",
        {
            "stock.py": "quantity = 1\n",
            "pack.md": PACK,
            "broken.md": BROKEN,
            **{f"src/{path.name}": path.read_bytes() for path in sorted(LIBRARY.glob("*.py"))},
            ".gitignore": ".oraclepack/\nout/\n*.json\n",
        },
    )


def tools_for(place: Path) -> Scripted:
    return scripted_tool(place / "tools")


def environment_with(oracle: Scripted, **more: str) -> dict[str, str]:
    return {"PATH": f"{oracle.folder}:{os.environ['PATH']}", **more}


def answered(place: Path, oracle: Scripted, **variables: str) -> Path:
    """A project whose pack was run."""
    project = a_project(place)
    done = oraclepack(project, "run", "pack.md", **environment_with(oracle, **variables))
    assert done.code == 0, done.err
    return project


def copied(project: Path, name: str) -> Path:
    target = project.parent / name
    odd = shutil.ignore_patterns("pipe", "large.txt")
    shutil.copytree(project, target, symlinks=True, ignore=odd)
    return target


def services(project: Path, *, allow_run: bool = False, **variables: str) -> Services:
    return services_of((str(project),), allow_run=allow_run, variables=variables)


def in_memory(
    made: Services,
    play: Play,
    *,
    mode: str = "auto",
    kind: type[OraclepackServer] = OraclepackServer,
    **client: Any,
) -> Any:
    """Play with a server in this process."""

    async def main() -> Any:
        server = kind(made).low_level()
        async with Client(server, mode=mode, **client) as connected:
            return await play(connected)

    before = Path.cwd()
    os.chdir(made.roots.first)
    try:
        return asyncio.run(main())
    finally:
        os.chdir(before)


def called(made: Services, name: str, **arguments: Any) -> types.CallToolResult:
    """The result of one tool."""

    async def play(client: Client) -> types.CallToolResult:
        return await client.call_tool(name, arguments)

    result: types.CallToolResult = in_memory(made, play)
    return result


def error_of(result: types.CallToolResult) -> str:
    assert result.is_error, result.structured_content
    code: str = result.structured_content["error"]["code"]
    return code
