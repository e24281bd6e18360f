"""Commands that describe the program: `completion`, `manifest`, `explain`, `schema`."""

from __future__ import annotations

from importlib.resources import files

import click
import msgspec

from oraclepack import api
from oraclepack.cli.command import command
from oraclepack.cli.command_manifest import CommandManifest, describe
from oraclepack.cli.reply import Reply
from oraclepack.cli.root import root
from oraclepack.cli.run_options import paged
from oraclepack.cli.text import columns
from oraclepack.cli.value_completion import rule_ids

SHELLS = ("bash", "zsh", "fish")


@command(
    "completion",
    data="completion",
    reads_config=False,
    examples=(
        'eval "$(oraclepack completion bash)"   # in ~/.bashrc',
        'eval "$(oraclepack completion zsh)"    # in ~/.zshrc',
        "oraclepack completion fish > ~/.config/fish/completions/oraclepack.fish",
    ),
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> Reply:
    """Print a shell completion script."""
    from click.shell_completion import get_completion_class

    completion_class = get_completion_class(shell)
    assert completion_class is not None, f"click has no completion for {shell}"
    # Not source(): for bash it would start bash to check its version.
    program = click.Command("oraclepack")
    completer = completion_class(program, {}, "oraclepack", api.COMPLETION_VARIABLE)
    script = completion_class.source_template % completer.source_vars()
    return Reply(data={"shell": shell, "script": script}, text=script)


@command(
    "manifest",
    data="manifest",
    reads_config=False,
    examples=(
        "oraclepack manifest",
        "oraclepack manifest run --json",
        "oraclepack manifest --etag 0123456789abcdef --json",
    ),
)
@click.argument("command", nargs=-1, metavar="[COMMAND]")
@click.option("--etag", metavar="E", help="Only say whether the manifest still has this etag.")
def manifest(command: tuple[str, ...], etag: str | None) -> Reply:
    """Describe every command for programs.

    Arguments and options with types, defaults and help, the effect of a command, what it changes
    and starts, its exit codes and the schema of its data. Options of several commands are
    described once, and fields with their default value are left out. Always JSON; with --json
    inside the envelope. With COMMAND, that command or group in full, with its help and all
    examples.
    """
    whole = _whole_manifest() if not command else describe(root(), " ".join(command))
    if etag is not None and etag == whole.etag:
        whole = CommandManifest(
            program=whole.program,
            version=whole.version,
            schema_version=whole.schema_version,
            etag=etag,
            unchanged=True,
        )
    return Reply(data=whole, text=api.canonical_reply(whole).decode())


def _whole_manifest() -> CommandManifest:
    # Written by `make docs`, since describing the commands means importing all of them.
    text = files("oraclepack.cli").joinpath("manifest.json").read_bytes()
    return msgspec.json.decode(text, type=CommandManifest)


@command(
    "explain",
    data="rule-explanation",
    examples=("oraclepack explain OP201", "oraclepack explain orphaned-flag --json"),
)
@click.argument("rule", required=False, shell_complete=rule_ids)
@paged
def explain(rule: str | None, limit: int | None, cursor: str | None) -> Reply:
    """Explain RULE (an id or a name), with a bad and a good example.

    Without RULE, list all rules with their severity by default and under --strict.
    """
    rules = api.page(api.explain_rules(rule), "rules", lambda doc: doc.rule, limit, cursor)
    docs = rules.rules
    if rule is not None:
        return Reply(data=rules, text=docs[0].text)
    rows = [(doc.rule, doc.name, doc.severity, doc.strict_severity, doc.summary) for doc in docs]
    head = ("rule", "name", "default", "strict", "requires")
    return Reply(data=rules, text=columns(head, rows))


@command(
    "schema",
    data="schema",
    reads_config=False,
    examples=("oraclepack schema", "oraclepack schema envelope > envelope.schema.json"),
)
@click.argument("name", required=False)
def schema(name: str | None) -> Reply:
    """Print the JSON Schema of a published shape.

    Without NAME, list the names. With --json the schema is the `data` of the envelope.
    """
    if name is None:
        names = api.schema_names()
        return Reply(data=names, text=columns(("name", "id"), names.items()))

    document = api.schema_of(name)
    return Reply(data=document, text=api.canonical_file(document).decode())
