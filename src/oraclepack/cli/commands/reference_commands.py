"""`schema`: the JSON Schemas of everything we publish."""

from __future__ import annotations

from importlib.resources import files

import click
import msgspec

from oraclepack import api
from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply
from oraclepack.cli.text import columns

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

    kind = get_completion_class(shell)
    assert kind is not None, f"click does not complete in {shell}"
    # Not source(): for bash that would start a bash only to look at its version.
    speaker = kind(click.Command("oraclepack"), {}, "oraclepack", api.COMPLETION_VARIABLE)
    script = kind.source_template % speaker.source_vars()
    return Reply(data={"shell": shell, "script": script}, text=script)


@command(
    "manifest",
    data="manifest",
    reads_config=False,
    examples=("oraclepack manifest", "oraclepack manifest --json"),
)
def manifest() -> Reply:
    """Describe every command for programs.

    Parameters with types, defaults and variables, what a command changes, its exit codes and
    the schema of its data. Always JSON; with --json inside the envelope.
    """
    # Written by `make docs`: describing the commands takes loading every one of them.
    text = files("oraclepack.cli").joinpath("manifest.json").read_bytes()
    return Reply(data=msgspec.json.decode(text), text=text.decode())


@command(
    "explain",
    data="rule-explanation",
    examples=("oraclepack explain OP201", "oraclepack explain orphaned-flag --json"),
)
@click.argument("rule", required=False)
def explain(rule: str | None) -> Reply:
    """Tell what RULE (an id or a name) means, with a bad and a good example.

    Without RULE, list all rules with their weight by default and under --strict.
    """
    rules = api.explain_rules(rule)
    docs = rules.rules
    if rule is not None:
        return Reply(data=rules, text=docs[0].text)
    rows = [(doc.rule, doc.name, doc.severity, doc.strict_severity, doc.summary) for doc in docs]
    head = ("rule", "name", "default", "strict", "demands")
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
