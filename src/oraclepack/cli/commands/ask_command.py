"""`ask`: one question without a pack."""

from __future__ import annotations

import sys
from typing import Any

import click

from oraclepack.cli.command import command, command_words
from oraclepack.cli.display import DisplaySession
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.cli.run_reply import run_failure
from oraclepack.cli.text import size
from oraclepack.errors import ExitCode, UsageError
from oraclepack.journal.costs import money
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.single_call import (
    CallPreflight,
    SingleQuestion,
    ask_question,
    preflight_question,
)
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import Settings
from oraclepack.system.printable import quantity, single_lines


@command(
    "ask",
    data="call-result",
    changes="the run directory, the answer and its pack below .oraclepack/calls",
    effect="execute",
    starts="oracle; its call costs money",
    settings=(*rs.RUN_SETTINGS, *cs.CALL_SETTINGS),
    exit_codes=(
        ExitCode.STEP_FAILED,
        ExitCode.LOCKED,
        ExitCode.BUDGET,
        ExitCode.DECISION,
        ExitCode.TERMINATED,
    ),
    runs_something=True,
    examples=(
        'oraclepack ask -p "Which invariant does this break?" -f src/ledger.py',
        "oraclepack ask -p - -f 'src/*.py' --model gpt-5.2 --write-output review.md",
        'oraclepack ask -p "Why?" -f src/ledger.py --preflight --json',
    ),
)
@click.option("-p", "--prompt", metavar="TEXT", required=True, help="The question; - reads stdin.")
@click.option(
    "-f",
    "--file",
    "attached",
    metavar="PATH",
    multiple=True,
    help="A file or pattern to attach. May be given again.",
)
@click.option("--model", metavar="NAME", help="The model to ask; by default oracle's own.")
@click.option(
    "--write-output",
    "answer_file",
    metavar="PATH",
    help="Where the answer goes; by default below .oraclepack/calls.",
)
@click.option("--new-run", is_flag=True, help="Start a fresh run of the question.")
@click.option("-y", "--yes", is_flag=True, help="Ask nothing; the same as --non-interactive.")
@click.option(
    "--preflight", is_flag=True, help="Check key, model, files and tokens; nothing is asked."
)
def ask(*, new_run: bool, yes: bool, preflight: bool, settings: Settings, **asked: Any) -> Reply:
    """Ask one question without a pack.

    The question becomes a pack of one step and is run like any other: with cache, budget, retries
    and adoption, and recorded as a run. Asked again, it is answered from its run or from the
    cache; --refresh asks again. The answer is printed, and stays in its file.
    """
    question = SingleQuestion(
        prompt=_prompt(asked["prompt"]),
        files=asked["attached"],
        model=asked["model"],
        output=asked["answer_file"],
    )
    if preflight:
        return _preflight_reply(*preflight_question(question, settings))
    arguments = RunArguments(new_run=new_run, argv=command_words())
    with DisplaySession(settings, yes=yes) as watching:
        result, outcome = ask_question(
            question,
            settings,
            arguments,
            display=watching,
            stop=watching.stop,
            ask=watching.ask,
        )
    code = outcome.exit_code
    error = run_failure(outcome) if code else None
    text = result.answer or ""
    return Reply(result, text, code, warnings=outcome.warnings, error=error)


def _prompt(given: str) -> str:
    if given != "-":
        return given
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("-p - reads the prompt from stdin, and that is a terminal")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _preflight_reply(report: CallPreflight, warnings: tuple[str, ...]) -> Reply:
    data = single_lines(report)
    cost = "unknown" if data.cost is None else money(data.cost.likely)
    head = f"model {data.model or 'by oracle'}, provider {data.provider or '-'}, {data.fate}\n"
    tokens = f"about {data.input_tokens or 0} tokens, likely {cost}"
    text = f"{head}{quantity(data.files, 'file')}, {size(data.bytes)}, {tokens}\n"
    error = None
    if not report.ok:
        error = ReplyError(
            "PREFLIGHT", "; ".join(report.problems), phase="preflight", suggestion="see --help"
        )
    code = ExitCode.DONE if report.ok else ExitCode.INVALID
    return Reply(report, text, code, warnings=warnings, error=error)
