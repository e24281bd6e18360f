"""`explain`: what a rule means and how to mend what it finds."""

import click

from oraclepack.cli.columns import columns
from oraclepack.cli.frame import command
from oraclepack.cli.reply import Reply
from oraclepack.lint.rule_docs import Explained, doc_text, explained


@command(
    "explain",
    data="explained",
    examples=("oraclepack explain OP201", "oraclepack explain orphaned-flag --json"),
)
@click.argument("rule", required=False)
def explain(rule: str | None) -> Reply:
    """Tell what RULE (an id or a name) means, with a bad and a good example.

    Without RULE, list all rules with their weight by default and under --strict.
    """
    docs = explained(rule)
    if rule is not None:
        return Reply(data=Explained(docs), text=doc_text(docs[0]))
    rows = [(doc.rule, doc.name, doc.severity, doc.strict_severity, doc.summary) for doc in docs]
    head = ("rule", "name", "default", "strict", "demands")
    return Reply(data=Explained(docs), text=columns(head, rows))
