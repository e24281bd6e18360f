"""`mcp`: the server for coding agents, and its entry in the files of clients."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import click

from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply
from oraclepack.errors import MachineError, UsageError
from oraclepack.settings.loading import own_variables
from oraclepack.settings.registry import Settings

_NO_SERVER = (
    "the package mcp is not installed, so clients cannot start the server;"
    ' pip install "oraclepack[mcp]"'
)
_AT_A_TERMINAL = (
    "waiting for a client on standard input; `oraclepack mcp install CLIENT` sets one up,"
    " Ctrl-C stops this"
)
CLIENTS = ("claude-code", "claude-desktop", "codex", "gemini-cli", "cursor", "vscode")


@command(
    "mcp",
    data="mcp-install",
    changes="what the tools change that clients call; with install the file of the client",
    effect="execute",
    starts="with --allow-run the runs that clients ask for and users approve",
    examples=(
        "oraclepack mcp --root .",
        "oraclepack mcp --allow-run --root . --root ../other",
        "oraclepack mcp --transport http --port 8765",
        "oraclepack mcp install claude-code --print",
    ),
)
@click.argument("action", type=click.Choice(("serve", "install")), default="serve")
@click.argument("client", type=click.Choice(CLIENTS), required=False)
@click.option(
    "--transport",
    type=click.Choice(("stdio", "http", "streamable-http")),
    default="stdio",
    show_default=True,
    help="How to connect.",
)
@click.option(
    "--root",
    "roots",
    metavar="DIR",
    multiple=True,
    help="A project that clients may use (default: the current directory). May be repeated.",
)
@click.option("--allow-run", is_flag=True, help="Let clients run packs, each after approval.")
@click.option("--host", default="127.0.0.1", show_default=True, help="With http: where to listen.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=8765,
    show_default=True,
    help="With http: the port.",
)
@click.option("--print", "prints", is_flag=True, help="With install: only print the entry.")
def mcp(
    action: str,
    client: str | None,
    *,
    roots: tuple[str, ...],
    settings: Settings,
    **options: object,
) -> Reply:
    """Serve coding agents by the Model Context Protocol.

    Clients may use the projects below --root and nothing outside. They validate, plan, read
    answers and work; they run packs only with --allow-run (or ORACLEPACK_ENABLE_EXEC=1), and each
    run needs the user's approval in the client, or the token of a plan. Runs outlive the server.
    Over http clients must send a bearer token: that of ORACLEPACK_MCP_TOKEN, else one that is made
    once, kept in your state directory and printed on stderr. Beyond this machine the server listens
    only with a token of that variable. `mcp install CLIENT` puts the server into the configuration
    of a client.
    """
    if action == "install":
        return _install(client, Path(roots[0] if roots else settings.root), options)
    try:
        from oraclepack.mcp import services, transports
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in {"mcp", "mcp_types", "anyio", "uvicorn"}:
            raise
        raise MachineError(
            "the package mcp is not installed", hint='pip install "oraclepack[mcp]"'
        ) from None
    variables = own_variables()
    made = services.services_of(roots, allow_run=bool(options["allow_run"]), variables=variables)
    if options["transport"] == "stdio":
        if sys.stdin is not None and sys.stdin.isatty():
            click.echo(_AT_A_TERMINAL, err=True)
        transports.serve_stdio(made)
    else:
        given = variables.get(transports.BEARER_VARIABLE, "")
        host, port = str(options["host"]), options["port"]
        assert isinstance(port, int)
        token, notice = transports.bearer_token(host, given)
        listener = transports.listen(host, port)
        name = f"[{host}]" if ":" in host else host
        click.echo(f"listening at http://{name}:{port}/mcp; Ctrl-C stops it", err=True)
        click.echo(notice, err=True)
        transports.serve_http(made, listener, host, token)
    return Reply(bare="")


def _install(client: str | None, root: Path, options: dict[str, object]) -> Reply:
    if client is None:
        raise UsageError("install needs the name of a client", hint=", ".join(CLIENTS))
    from oraclepack.mcp.clients import install

    missing = () if find_spec("mcp") else (_NO_SERVER,)
    prints = bool(options["prints"])
    done = install(client, root.absolute(), allow_run=bool(options["allow_run"]), prints=prints)
    if prints:
        talk = f"# belongs in {done.path}\n"
        return Reply(done, done.entry, talk=talk, warnings=missing)
    word = "written" if done.changed else "unchanged"
    return Reply(done, f"{done.path} {word}\n", warnings=missing)
