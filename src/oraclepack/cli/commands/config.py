"""`explain` and `config`: rules, settings, prices, schemas, the manifest and completion."""

from __future__ import annotations

import click
import msgspec

from oraclepack.cli.command import Group, agree, command, option, paged
from oraclepack.cli.command_manifest import CommandManifest, describe
from oraclepack.cli.reply import Reply
from oraclepack.cli.root import root
from oraclepack.cli.text import columns
from oraclepack.cli.value_completion import rule_ids
from oraclepack.lint.rule_docs import explain_rules
from oraclepack.settings import call_settings
from oraclepack.settings.loading import COMPLETION_VARIABLE, find_untrusted, trust_settings
from oraclepack.settings.registry import (
    Settings,
    config_report,
)
from oraclepack.system.digests import canonical_file, canonical_reply
from oraclepack.system.paging import page
from oraclepack.system.printable import single_lines
from oraclepack.tools.prices import ModelPrice, PriceReport, list_prices, show_price
from oraclepack.view.report.schemas import schema_names, schema_of

config = Group("config", "Show settings, prices, schemas; completion.")

_MEANS = "These count from then on, until one of them changes; they are less strict than yours.\n"


@command(
    "show",
    group=config,
    data="config",
    examples=("oraclepack config show", "oraclepack config show --json"),
)
def show(settings: Settings) -> Reply:
    """Show every setting, its value and its origin.

    Stronger first: flag, ORACLEPACK_* variable, .env, oraclepack.toml or [tool.oraclepack],
    your own config file, default. A project may set what is free; of what is tighten-only it may
    only choose a stricter value than yours; what is user-only is yours alone. What a project set
    and may not set is ignored, and listed below the table. A .env that git does not track is your
    own: it may also be less strict, and so may what `config trust` trusts.
    """
    config = config_report(settings)
    rows = [(row.name, _spelled(row.value), row.scope, row.where) for row in config.settings]
    text = f"project root: {config.root}\n\n"
    text += columns(("setting", "value", "project", "origin"), rows)
    notes = [f"{one.where}: {one.reason}" for one in config.ignored]
    text += "".join(("\nignored:\n", *(f"  {note}\n" for note in notes))) if notes else ""
    return Reply(data=config, text=text)


@command(
    "trust",
    group=config,
    data="config-trust",
    changes="the record of trusted settings in your state directory",
    examples=("oraclepack config trust", "oraclepack config trust --yes"),
)
@option("-y --yes", "Do not ask.")
def trust(*, yes: bool, settings: Settings) -> Reply:
    """Let this project be less strict than you.

    What its oraclepack.toml, its [tool.oraclepack] or a .env that git tracks sets less strictly
    than you counts from now on, until one of its settings changes. What is user-only (programs,
    hosts, keys) never comes from a project.
    """
    found = find_untrusted(settings)
    lines = "".join(f"{one.path}: {', '.join(one.settings)}\n" for one in found.files)
    if not found.files:
        return Reply(found, "no settings of this project are less strict than yours\n")
    agree(f"{lines}{_MEANS}", "Trust them?", is_agreed=yes)
    trust_settings(found)
    return Reply(found, f"trusted:\n{lines}")


def _spelled(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return str(value).lower()
        case tuple():
            return ", ".join(map(str, value)) or "-"
        case dict():
            return ", ".join(f"{name}={part}" for name, part in value.items()) or "-"
        case _:
            return str(value) or "-"


@command(
    "prices",
    group=config,
    data="prices",
    examples=("oraclepack config prices", "oraclepack config prices gpt-5.5-pro --json"),
)
@click.argument("model", required=False)
@paged
def prices(model: str | None, limit: int | None, cursor: str | None, settings: Settings) -> Reply:
    """Show the prices of models and their source.

    Prices are US dollars for a million tokens. They come from a dated table in the program; a
    table [prices."MODEL"] with `input` and `output` in your own config file wins. MODEL is a name
    as oracle takes it; the name that oracle makes of it, and the one that is billed, are shown too.
    """
    own = settings[call_settings.PRICES]
    if model is not None:
        price = show_price(model, own)
        return Reply(price, _price_text(single_lines(price)))
    report = page(list_prices(own), "models", lambda one: one.model, limit, cursor)
    heads = ("model", "input", "output", "source", "date")
    return Reply(report, columns(heads, map(_price_row, single_lines(report).models)))


def _price_row(price: ModelPrice) -> tuple[str, ...]:
    rates = price.price
    return (price.model, str(rates.input), str(rates.output), price.source, price.date or "-")


def _price_text(report: PriceReport) -> str:
    if report.resolved is None:
        return f"{report.model}: oracle refuses this name over the API\n"
    meaning = f", for oracle {report.resolved}" if report.resolved != report.model else ""
    if report.price is None:
        return (
            f"{report.model}{meaning}: the price is unknown\n"
            f'  set it in your own config file: [prices."{report.resolved}"] with input = and '
            "output =, in dollars for a million tokens\n"
        )
    price, rates = report.price, report.price.price
    billed = f", billed as {price.billed_as}" if price.billed_as != report.resolved else ""
    since = f", {price.date}" if price.date else ""
    tiers = "".join(
        f"  above {tier.above:,} input tokens: ${tier.input} and ${tier.output}\n"
        for tier in rates.tiers
    )
    return (
        f"{report.model}{meaning}{billed}\n"
        f"  ${rates.input} for a million input tokens, ${rates.output} for a million output "
        f"tokens\n{tiers}"
        f"  source: {price.source}{since}\n"
        f"  oracle sends at most {report.input_limit or 0:,} input tokens\n"
    )


SHELLS = ("bash", "zsh", "fish")


@command(
    "completion",
    group=config,
    data="completion",
    reads_config=False,
    examples=(
        'eval "$(oraclepack config completion bash)"   # in ~/.bashrc',
        'eval "$(oraclepack config completion zsh)"    # in ~/.zshrc',
        "oraclepack config completion fish > ~/.config/fish/completions/oraclepack.fish",
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
    completer = completion_class(program, {}, "oraclepack", COMPLETION_VARIABLE)
    script = completion_class.source_template % completer.source_vars()
    return Reply(data={"shell": shell, "script": script}, text=script)


@command(
    "manifest",
    group=config,
    data="manifest",
    reads_config=False,
    examples=(
        "oraclepack config manifest",
        "oraclepack config manifest run --json",
        "oraclepack config manifest --etag 0123456789abcdef --json",
    ),
)
@click.argument("command", nargs=-1, metavar="[COMMAND]")
@option("--etag E", "Only say whether the manifest still has this etag.")
def manifest(command: tuple[str, ...], etag: str) -> Reply:
    """Describe every command for programs.

    Arguments and options with types, defaults and help, the effect of a command, what it changes
    and starts, its exit codes and the schema of its data. Options of several commands are
    described once, and fields with their default value are left out. Always JSON; with --json
    inside the envelope. With COMMAND, that command or group in full, with its help and all
    examples.
    """
    whole = _whole_manifest() if not command else describe(root(), " ".join(command))
    if etag == whole.etag:
        whole = CommandManifest(
            program=whole.program,
            version=whole.version,
            schema_version=whole.schema_version,
            etag=etag,
            unchanged=True,
        )
    return Reply(data=whole, text=canonical_reply(whole).decode())


def _whole_manifest() -> CommandManifest:
    from importlib.resources import files

    # Written by `make docs`, since describing the commands means importing all of them.
    text = files("oraclepack.cli").joinpath("manifest.json").read_bytes()
    return msgspec.json.decode(text, type=CommandManifest)


@command(
    "schema",
    group=config,
    data="schema",
    reads_config=False,
    examples=(
        "oraclepack config schema",
        "oraclepack config schema envelope > envelope.schema.json",
    ),
)
@click.argument("name", required=False)
def schema(name: str | None) -> Reply:
    """Print the JSON Schema of a published shape.

    Without NAME, list the names. With --json the schema is the `data` of the envelope.
    """
    if name is None:
        names = schema_names()
        return Reply(data=names, text=columns(("name", "id"), names.items()))

    document = schema_of(name)
    return Reply(data=document, text=canonical_file(document).decode())


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
