"""What a shell is offered when it completes packs, steps, runs and rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from oraclepack.errors import OraclePackError
from oraclepack.settings.loading import load_settings

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from oraclepack.lint.rule_docs import RuleDoc
    from oraclepack.run.project_records import ProjectRuns


Offer = Callable[[click.Context, click.Parameter, str], "list[CompletionItem[str]]"]

_LATEST = "latest"


def step_list(*words: str) -> Offer:
    """A list of steps such as `01,03-07`, the last of which is being typed, or one of the words."""

    def offer(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        at = max(incomplete.rfind(","), incomplete.rfind("-")) + 1
        named = [] if at else _items((word, "") for word in words if word.startswith(incomplete))
        steps = (
            (incomplete[:at] + number, title)
            for number, title in _steps(ctx)
            if number.startswith(incomplete[at:])
        )
        return named + _items(steps)

    return offer


def pack_files(
    ctx: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Packs are files: the shell completes their names, and knows how to quote them."""
    return click.Path().shell_complete(ctx, parameter, incomplete)


def step_id(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """One step of the pack that is before it on the command line."""
    return _items(pair for pair in _steps(ctx) if pair[0].startswith(incomplete))


def run_ids(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The runs of the project, the newest name first."""
    try:
        names = reversed(_runs(ctx, _pack(ctx)).ids())
    except OraclePackError:
        return []
    return _items((name, "") for name in names if name.startswith(incomplete))


def step_of_run(
    ctx: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """One step of the run on the command line, or of the latest one."""
    name = ctx.params.get("run") or ctx.params.get("run_id") or _LATEST
    try:
        steps = _runs(ctx, None).status(name).steps
    except OraclePackError:
        return []
    return _items(
        (step.step_id, step.state) for step in steps if step.step_id.startswith(incomplete)
    )


def rule_ids(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The ids of the rules, with what each demands."""
    rules = _rules()
    return _items((one.rule, one.summary) for one in rules if one.rule.startswith(incomplete))


def rule_list(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """Rules with commas between them, the last of which is being typed."""
    at = incomplete.rfind(",") + 1
    rules = _rules()
    return _items(
        (incomplete[:at] + one.rule, one.summary)
        for one in rules
        if one.rule.startswith(incomplete[at:])
    )


def _rules() -> tuple[RuleDoc, ...]:
    # What completes a word is loaded when a shell asks for it, not with every command.
    from oraclepack.lint.rule_docs import explain_rules

    return explain_rules().rules


def _runs(ctx: click.Context, pack: str | None) -> ProjectRuns:
    from oraclepack.run.project_records import ProjectRuns

    values = {"cwd": ctx.params["cwd"]} if ctx.params.get("cwd") else {}
    return ProjectRuns(load_settings(pack, values).root)


def _steps(ctx: click.Context) -> list[tuple[str, str]]:
    """The steps of the pack, with their titles; none where there is no readable pack."""
    from oraclepack.view.step_listing import list_steps

    pack = _pack(ctx)
    try:
        listing = list_steps(pack) if pack else None
    except OraclePackError:
        return []
    return [(step.step_id, step.title) for step in listing.steps] if listing else []


def _pack(ctx: click.Context) -> str | None:
    """The pack on the command line.

    Before an option that still lacks its value, click leaves the arguments where they are.
    """
    given: str | None = ctx.params.get("pack")
    return given or next((word for word in ctx.args if not word.startswith("-")), None)


def _items(pairs: Iterable[tuple[str, str]]) -> list[CompletionItem[str]]:
    from click.shell_completion import CompletionItem as Item

    return [Item(value, help=help_text or None) for value, help_text in pairs]
