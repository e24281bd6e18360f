"""`schema`: the JSON Schemas of everything we publish."""

import click
import msgspec

from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply
from oraclepack.cli.schemas import schema_names, schema_of
from oraclepack.cli.text import columns
from oraclepack.lint.rule_docs import RuleExplanation, doc_text, explained
from oraclepack.system.files import shipped

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
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - only here

    from oraclepack.settings.loading import COMPLETION_VARIABLE  # noqa: PLC0415

    kind = get_completion_class(shell)
    assert kind is not None, f"click does not complete in {shell}"
    # Not source(): for bash that would start a bash only to look at its version.
    speaker = kind(click.Command("oraclepack"), {}, "oraclepack", COMPLETION_VARIABLE)
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
    text = shipped("oraclepack.cli", "manifest.json")
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
    docs = explained(rule)
    if rule is not None:
        return Reply(data=RuleExplanation(docs), text=doc_text(docs[0]))
    rows = [(doc.rule, doc.name, doc.severity, doc.strict_severity, doc.summary) for doc in docs]
    head = ("rule", "name", "default", "strict", "demands")
    return Reply(data=RuleExplanation(docs), text=columns(head, rows))


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
        names = schema_names()
        return Reply(data=names, text=columns(("name", "id"), names.items()))
    from oraclepack.system.digests import canonical_file  # noqa: PLC0415 - the list needs no JSON

    found = schema_of(name)
    return Reply(data=found, text=canonical_file(found).decode())
