"""`validate` and `list`: what is in a pack."""

from __future__ import annotations

from shlex import quote

import click

from oraclepack.cli.command import command, option, paged
from oraclepack.cli.finding_text import as_text, fixed_line
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.cli.text import columns
from oraclepack.cli.value_completion import pack_files
from oraclepack.errors import ExitCode, InputError
from oraclepack.lint.validate import ValidateResult, validate_packs
from oraclepack.settings.registry import LINT_IGNORE, LINT_SELECT, OUTPUT, STRICT, Settings
from oraclepack.system.paging import page
from oraclepack.view import step_listing
from oraclepack.view.step_listing import ListedStep

FORMATS = ("text", "json", "sarif", "github")


@command(
    "validate",
    data="validation",
    changes="nothing; with --fix the packs that it names as changed",
    settings=(STRICT, LINT_SELECT, LINT_IGNORE),
    examples=(
        "oraclepack validate docs/oracle-pack-2026-01-09.md",
        "oraclepack validate --strict --json docs/",
        "oraclepack validate --fix pack.md",
        "oraclepack validate --format sarif docs/ > packs.sarif",
    ),
)
@click.argument("packs", nargs=-1, required=True, metavar="PACK|DIR...", shell_complete=pack_files)
@option("--format", "How to print the findings.", name="form", type=click.Choice(FORMATS))
@option("--fix", "Fix what can be fixed without changing the meaning.")
def validate(packs: tuple[str, ...], form: str | None, *, fix: bool, settings: Settings) -> Reply:
    """Check packs against every rule, without running them.

    Errors end with exit code 2; warnings and advice do not. `oraclepack explain RULE` explains a
    rule. `--format github` prints one annotation per finding, and nothing where there is none.

    With --fix the exit code is 0 when no error remains, and 2 when one does; the fixes that can be
    made are written in both cases. Each changed file is named with the number of its fixes; in JSON
    that is `fixed`.
    """
    outcome = validate_packs(packs, settings, fix=fix)
    code = ExitCode.DONE if outcome.ok else ExitCode.INVALID
    if form in {"sarif", "github"}:
        # These formats have no place for what was changed.
        changed = "".join(f"{fixed_line(one)}\n" for one in outcome.checked if one.report.fixed)
        from oraclepack.view.report import github, sarif

        findings = {checked.report.path: checked.report.findings for checked in outcome.checked}
        as_github = form == "github"
        bare = github.annotations(findings) if as_github else sarif.sarif_of_rules(findings)
        return Reply(bare=bare, exit_code=code, error=_unread(outcome), talk=changed)
    wants_json = form == "json" or settings[OUTPUT] == "json"
    error = _failure(outcome) if wants_json and not outcome.ok else None
    return Reply(
        outcome.data,
        as_text(outcome.checked, outcome.unreadable),
        code,
        error=error,
        wants_json=wants_json,
        next=f"oraclepack plan {quote(packs[0])}" if len(packs) == 1 else "",
    )


def _unread(outcome: ValidateResult) -> ReplyError | None:
    """Packs that could not be read: the formats have findings, and no place for these."""
    if not outcome.unreadable:
        return None
    errors = "\n".join(pack.error for pack in outcome.unreadable)
    return ReplyError("INVALID_INPUT", "some packs could not be read", errors, phase="validate")


def _failure(outcome: ValidateResult) -> ReplyError:
    broken = [checked.report.path for checked in outcome.checked if not checked.report.ok]
    broken += [pack.path for pack in outcome.unreadable]
    fixed = [fixed_line(checked) for checked in outcome.checked if checked.report.fixed]
    return ReplyError(
        "INVALID_PACK",
        f"not valid: {', '.join(broken)}",
        detail="; ".join(fixed),
        phase="validate",
        suggestion="fix the findings of severity error; see `oraclepack explain RULE`",
    )


@command(
    "list",
    data="listing",
    examples=("oraclepack list pack.md", "oraclepack list --json pack.md"),
)
@click.argument("pack", shell_complete=pack_files)
@option("--contracts", "Show which sections each output must have.")
@paged
def list_steps(
    pack: str,
    limit: int | None,
    cursor: str | None,
    *,
    settings: Settings,
    contracts: bool,
) -> Reply:
    """List the questions of PACK and their status.

    The status of a step is the one in the run that `oraclepack run PACK` would continue. With
    --json each step also has its attributes as written, since `# Impact: High` is not a number.
    """
    steps = step_listing.list_steps(pack, settings)
    if not steps.steps:
        raise InputError(f"{pack}: no steps found", hint=f"see oraclepack validate {pack}")
    steps = page(steps, "steps", lambda step: step.step_id, limit, cursor)
    text = _contracts_text(steps.steps) if contracts else _steps_text(steps.steps)
    return Reply(data=steps, text=text, next="" if contracts else f"oraclepack plan {quote(pack)}")


def _steps_text(steps: tuple[ListedStep, ...]) -> str:
    """The question first: what is asked decides what a reader looks for."""
    heads = ("step", "status", "question", "output")
    rows = [
        (
            step.step_id,
            step.status or "-",
            step.title or step.reference or "-",
            _output_paths(step),
        )
        for step in steps
    ]
    return columns(heads, rows)


def _output_paths(step: ListedStep) -> str:
    first = step.outputs[0].path if step.outputs else "-"
    return first if len(step.outputs) < 2 else f"{first} (+{len(step.outputs) - 1})"


def _contracts_text(steps: tuple[ListedStep, ...]) -> str:
    heads = ("step", "output", "contract", "sections", "reason", "line")
    rows = [
        (
            step.step_id,
            output.path,
            output.contract,
            ", ".join(output.sections) or "-",
            output.reason,
            "-" if output.line is None else str(output.line),
        )
        for step in steps
        for output in step.outputs
    ]
    return columns(heads, rows)
