"""`explain`: the documentation of rules."""

from __future__ import annotations

import click

from oraclepack.cli.command import command, paged
from oraclepack.cli.reply import Reply
from oraclepack.cli.text import columns
from oraclepack.cli.value_completion import rule_ids
from oraclepack.lint.rule_docs import explain_rules
from oraclepack.system.paging import page


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
    rules = page(explain_rules(rule), "rules", lambda doc: doc.rule, limit, cursor)
    docs = rules.rules
    if rule is not None:
        return Reply(data=rules, text=docs[0].text)
    rows = [(doc.rule, doc.name, doc.severity, doc.strict_severity, doc.summary) for doc in docs]
    head = ("rule", "name", "default", "strict", "requires")
    return Reply(data=rules, text=columns(head, rows))
