"""Configurations of MCP clients: the file of each, and our entry in it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from oraclepack.errors import InputError
from oraclepack.system import files, programs
from oraclepack.system.environment import refuse_to_write_out

_LARGEST_CONFIG = 1024 * 1024
NAME = "oraclepack"


class ClientConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What `mcp install` wrote, or with `--print` would write."""

    client: str
    path: str
    """The file of the client."""
    entry: str
    """The text of our part of it."""
    changed: bool
    """The file was written; false with `--print`, or where it said the same."""


class _Client(msgspec.Struct, frozen=True):
    path: str
    """From the project root, or from the home directory where it begins with `~`."""
    table: str
    """The key that holds servers."""
    form: str = "json"
    extra: Mapping[str, str] = {}


_MAC = "~/Library/Application Support/Claude/claude_desktop_config.json"
_LINUX = "~/.config/Claude/claude_desktop_config.json"

CLIENTS = {
    "claude-code": _Client(".mcp.json", "mcpServers", extra={"type": "stdio"}),
    "claude-desktop": _Client(_MAC if sys.platform == "darwin" else _LINUX, "mcpServers"),
    "codex": _Client("~/.codex/config.toml", "mcp_servers", "toml"),
    "gemini-cli": _Client(".gemini/settings.json", "mcpServers"),
    "cursor": _Client(".cursor/mcp.json", "mcpServers"),
    "vscode": _Client(".vscode/mcp.json", "servers", extra={"type": "stdio"}),
}


def install(client: str, root: Path, *, allow_run: bool, prints: bool) -> ClientConfig:
    """Put our entry into the file of a client; everything else in it stays."""
    known = CLIENTS[client]
    is_personal = known.path.startswith("~")
    path = Path(known.path).expanduser() if is_personal else root / known.path
    words = ["mcp", "--root", str(root), *(["--allow-run"] if allow_run else [])]
    # A file of the project may be shared, so it has the name where PATH has the program; a client
    # with a file in the home directory is often started without the PATH of a terminal.
    is_on_path = programs.find_program("oraclepack") is not None
    program = programs.own_program() if is_personal or not is_on_path else "oraclepack"
    server = {**known.extra, "command": program, "args": words}
    before = files.read(path, _LARGEST_CONFIG)
    text, entry = (
        _toml(before, known.table, server)
        if known.form == "toml"
        else _json(before, known.table, server, path)
    )
    changed = not prints and text.encode() != before
    if changed:
        refuse_to_write_out(path.parent)
        files.make_directories(path.parent)
        files.write_atomic(path, text.encode())
    return ClientConfig(client=client, path=str(path), entry=entry, changed=changed)


def _json(before: bytes | None, table: str, server: dict[str, Any], path: Path) -> tuple[str, str]:
    try:
        config = msgspec.json.decode(before) if before and before.strip() else {}
    except msgspec.DecodeError as trouble:
        raise InputError(
            f"{path} is no JSON that can be kept: {trouble}",
            hint="add what --print says by hand",
        ) from None
    servers = config.get(table, {}) if isinstance(config, dict) else None
    if not isinstance(servers, dict):
        raise InputError(f"{path}: {table} is no object", hint="see --print")
    config[table] = servers | {NAME: server}
    entry = msgspec.json.format(msgspec.json.encode({table: {NAME: server}})).decode()
    return msgspec.json.format(msgspec.json.encode(config)).decode() + "\n", entry + "\n"


def _toml(before: bytes | None, table: str, server: dict[str, Any]) -> tuple[str, str]:
    """Our own table is replaced as a whole; other lines stay as they are."""
    head = f"[{table}.{NAME}]"
    args = ", ".join(msgspec.json.encode(word).decode() for word in server["args"])
    command = msgspec.json.encode(server["command"]).decode()
    entry = f"{head}\ncommand = {command}\nargs = [{args}]\n"
    lines = (before or b"").decode("utf-8", "surrogateescape").splitlines(keepends=True)
    kept: list[str] = []
    is_ours = False
    for line in lines:
        if line.lstrip().startswith("["):
            is_ours = line.strip() == head
        if not is_ours:
            kept.append(line)
    text = "".join(kept).rstrip("\n")
    return (f"{text}\n\n" if text else "") + entry, entry
