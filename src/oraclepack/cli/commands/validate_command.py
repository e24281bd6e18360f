"""`validate`: check packs against every rule."""

from __future__ import annotations

import click

from oraclepack.cli.command import command
from oraclepack.cli.finding_text import as_text, fixed_line
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.cli.value_completion import pack_files
from oraclepack.errors import ExitCode
from oraclepack.lint.validate import ValidateResult, validate_packs
from oraclepack.settings.registry import LINT_IGNORE, LINT_SELECT, OUTPUT, STRICT, Settings

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
@click.option("--format", "form", type=click.Choice(FORMATS), help="How to print the findings.")
@click.option("--fix", is_flag=True, help="Fix what can be fixed without changing the meaning.")
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
