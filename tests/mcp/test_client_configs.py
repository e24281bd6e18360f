"""The entries of clients: what is written, and what stays."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from oraclepack.errors import OraclePackError
from oraclepack.mcp.clients import CLIENTS, install


@pytest.mark.parametrize("client", sorted(CLIENTS))
def test_an_entry_is_written_once_and_the_rest_stays(
    client: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "project"
    root.mkdir()
    shown = install(client, root, allow_run=False, prints=True)
    path = Path(shown.path)
    assert not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    is_toml = path.suffix == ".toml"
    path.write_text(
        '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "o"\n'
        if is_toml
        else '{"theme": "dark", "mcpServers": {"other": {"command": "o"}}}'
    )

    first = install(client, root, allow_run=False, prints=False)
    again = install(client, root, allow_run=False, prints=False)
    changed = install(client, root, allow_run=True, prints=False)

    assert (first.changed, again.changed, changed.changed) == (True, False, True)
    text = path.read_text()
    config = tomllib.loads(text) if is_toml else json.loads(text)
    servers = config[CLIENTS[client].table]
    assert servers["oraclepack"]["args"] == ["mcp", "--root", str(root), "--allow-run"]
    if is_toml:
        assert text.startswith("# mine\n")
        assert servers["other"] == {"command": "o"}
    else:
        assert config["theme"] == "dark"
        assert config["mcpServers"]["other"] == {"command": "o"}


@pytest.mark.parametrize("text", ["{// a comment\n}", "[]", '{"mcpServers": 3}'])
def test_a_file_that_cannot_be_kept_is_left_alone(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcp.json").write_text(text)

    with pytest.raises(OraclePackError):
        install("claude-code", tmp_path, allow_run=False, prints=False)

    assert (tmp_path / ".mcp.json").read_text() == text


@pytest.mark.parametrize(
    ("client", "on_path", "expected"),
    [
        pytest.param("claude-code", True, "oraclepack", id="a file of the project"),
        pytest.param("claude-code", False, "path", id="a project, not on PATH"),
        pytest.param("codex", True, "path", id="a file of the user"),
        pytest.param("claude-desktop", True, "path", id="a client without a terminal"),
    ],
)
def test_the_client_finds_the_program(
    client: str, on_path: object, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path(sys.executable).parent / "oraclepack"
    monkeypatch.setenv("PATH", str(own.parent) if on_path else str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))

    shown = install(client, tmp_path, allow_run=False, prints=True).entry

    entry = tomllib.loads(shown) if client == "codex" else json.loads(shown)
    (server,) = entry[CLIENTS[client].table].values()
    assert server["command"] == (str(own) if expected == "path" else expected)
