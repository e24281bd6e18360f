"""`schema`: the JSON Schemas of everything we publish."""

import click

from oraclepack.cli.columns import columns
from oraclepack.cli.frame import command
from oraclepack.cli.reply import Reply
from oraclepack.core.schemas import schema_names, schema_of


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
