"""MCP clients that want out of the roots, runs without approval, and more than is allowed."""

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from tests.mcp.clients import a_project, called, services
from tests.torture.tally import Attack, Broken, Promise, Scene, Tally

OUTSIDE = "text from outside"
PATHS = (
    "../outside.txt",
    "link.txt",
    "folder/outside.txt",
    "folder/project/../outside.txt",
    "src/../../outside.txt",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
    "/etc/passwd",
    "//etc/passwd",
    "link.txt/.",
    "a\0b",
    "~/.ssh/id_rsa",
    "%2e%2e/outside.txt",
    "..\\outside.txt",
    "x" * 5000,
    "",
)
TAKES_A_PATH = (
    ("read_file", "path"),
    ("list_steps", "pack"),
    ("plan_run", "pack"),
    ("why", "pack"),
    ("verify_outputs", "pack"),
    ("list_packs", "folder"),
    ("list_runs", "root"),
    ("generate_pack", "out"),
    ("ticketify", "tickets_dir"),
)
RUNS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("start_run", {"pack": "pack.md"}),
    ("start_run", {"pack": "pack.md", "token": "9999999999.00.00"}),
    ("oraclepack_run_pack", {"pack": "pack.md"}),
    ("oraclepack_taskify_run_action_pack", {"pack": "pack.md"}),
    ("forecast_cost", {"pack": "pack.md"}),
)
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1.5,
    "",
    "a" * 100_000,
    [],
    {},
    [[]],
    {"a": {"b": 1}},
)


def hostile_arguments(scene: Scene) -> Tally:
    """An MCP client gives paths that lead out by links, `..`, absolute or odd names, asks for runs
    without approval, and gives values of wrong kinds and sizes to every tool."""
    project = a_project(scene.folder)
    (project.parent / "outside.txt").write_text(OUTSIDE)
    (project / "link.txt").symlink_to("../outside.txt")
    (project / "folder").symlink_to("..")
    before = _tree(project.parent, project)
    trials = [*_paths(), *_runs(), *_odd(scene)]
    broken = [one for trial in trials for one in _played(project, *trial)]
    if _tree(project.parent, project) != before:
        broken.append(Broken(Promise.TOUCHED, "something outside of the root"))
    if (project / ".oraclepack/runs").exists():
        broken.append(Broken(Promise.PAID_TWICE, "a run began without approval"))
    return Tally(len(trials), broken=tuple(broken))


def _paths() -> Iterator[tuple[str, dict[str, Any]]]:
    for tool, name in TAKES_A_PATH:
        for path in PATHS:
            more = {"step": "01"} if tool == "why" else {}
            yield tool, {name: path, **more}


def _runs() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from RUNS


def _odd(scene: Scene) -> Iterator[tuple[str, dict[str, Any]]]:
    chance = Random(scene.seed)
    for tool, name in TAKES_A_PATH:
        for value in chance.sample(ODD, scene.some(len(ODD))):
            yield tool, {name: value}
            yield tool, {name: "pack.md", "limit": value}


def _played(project: Path, tool: str, arguments: dict[str, Any]) -> Iterator[Broken]:
    result = called(services(project, allow_run=tool == "start_run"), tool, **arguments)
    text = json.dumps(result.structured_content)
    if OUTSIDE in text or "root:x:" in text or "PATH=" in text:
        yield Broken(Promise.DISCLOSED, f"{tool} {str(arguments)[:80]} disclosed what lies outside")
    if not result.is_error and tool in {name for name, _ in RUNS}:
        yield Broken(Promise.CAP, f"{tool} {str(arguments)[:80]} ran")
    if result.is_error and not result.structured_content["error"]["code"]:
        yield Broken(Promise.ENDING, f"{tool} {str(arguments)[:80]} gave no reason")


def _tree(folder: Path, project: Path) -> dict[str, bytes]:
    """Everything beside the project."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path != project and path.is_file()
    }


ATTACKS: dict[str, Attack] = {"mcp-client": hostile_arguments}
