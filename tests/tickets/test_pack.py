"""The ticket action pack as a text."""

from pathlib import Path

import msgspec
import pytest

from oraclepack.lint.engine import lint
from oraclepack.lint.external_checks import facts_for
from oraclepack.lint.finding import Facts
from oraclepack.lint.rule import Subject
from oraclepack.lint.rule_registry import RULES
from oraclepack.lint.script_checks import check_syntax
from oraclepack.pack.model import Pack
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.tickets.pages import pack_text
from oraclepack.tickets.ticket import TicketMode, TicketOptions
from tests.tickets.tickets import OPTIONS

ODD = TicketOptions(
    tickets_dir="my tickets/it's",
    glob="**/[A-Z]*.md",
    include=("a b/", "$HOME"),
    exclude=("`x`",),
    top_n=200,
    out_dir="build/my out",
    prd_path="docs/the prd.md",
)
ALL = [*(msgspec.structs.replace(OPTIONS, mode=mode) for mode in TicketMode), ODD]
NAMES = [*TicketMode, "odd names"]


def _pack(options: TicketOptions) -> Pack:
    return parse_pack(pack_text(options), "ticket-action-pack.md")


@pytest.mark.parametrize("options", ALL, ids=NAMES)
@pytest.mark.parametrize("strict", [False, True])
def test_no_rule_has_anything_to_say(options: TicketOptions, strict: bool) -> None:
    pack = _pack(options)
    facts = Facts(syntax=check_syntax(pack))

    assert lint(Subject(pack, facts), RULES, strict=strict) == ()


@pytest.mark.parametrize("options", [ALL[0], ODD], ids=["backlog", "odd names"])
def test_nor_has_shellcheck(options: TicketOptions, tmp_path: Path) -> None:
    pack = _pack(options)

    assert lint(Subject(pack, facts_for(pack, tmp_path)), RULES, strict=True) == ()


@pytest.mark.parametrize("options", ALL, ids=NAMES)
def test_twenty_steps_each_with_a_named_input_and_output(options: TicketOptions) -> None:
    pack = _pack(options)

    assert [step.id for step in pack.steps] == [f"{number:02}" for number in range(1, 21)]
    assert all("\n# Reads: " in f"\n{step.code}" for step in pack.steps)
    assert all(step.outputs for step in pack.steps)
    assert pack.out_dir == options.out_dir


@pytest.mark.parametrize("options", ALL, ids=NAMES)
def test_no_step_only_echoes(options: TicketOptions) -> None:
    quiet = {"echo", "printf", "set", "exit", "[", "command"}
    for step in _pack(options).steps:
        assert {command.name for command in step.script.commands} - quiet, step.id


@pytest.mark.parametrize("options", ALL, ids=NAMES)
def test_every_call_of_a_tool_is_guarded_limited_and_reads_nothing(options: TicketOptions) -> None:
    calls = [call for step in _pack(options).steps for call in step.calls]

    assert all(call.guarded and "timeout" in call.wrappers for call in calls)
    assert all(any(r.operator == "<" for r in call.redirects) for call in calls)
    assert {call.tool for call in calls} <= {"codex", "gemini", "task-master"}


@pytest.mark.parametrize(
    ("mode", "step", "tools", "outputs"),
    [
        (TicketMode.BACKLOG, "09", ("codex", "gemini"), ["next.json"]),
        (TicketMode.BACKLOG, "10", ("codex",), ["codex-implement.md"]),
        (TicketMode.BACKLOG, "11", ("codex", "gemini"), ["codex-verify.md", "gemini-review.json"]),
        (TicketMode.BACKLOG, "16", ("codex", "gemini"), ["PR.md"]),
        (TicketMode.CODEX, "09", ("codex",), ["next.json"]),
        (TicketMode.CODEX, "11", ("codex",), ["codex-verify.md"]),
        (TicketMode.GEMINI, "10", ("gemini",), ["gemini-implement.md"]),
        (TicketMode.GEMINI, "11", ("gemini",), ["gemini-review.json"]),
        (TicketMode.BACKLOG, "06", ("task-master",), ["tm-complexity.json"]),
    ],
)
def test_who_does_what(
    mode: TicketMode, step: str, tools: tuple[str, ...], outputs: list[str]
) -> None:
    found = _pack(msgspec.structs.replace(OPTIONS, mode=mode)).step(step)

    assert found is not None
    assert found.tools == tools
    assert (
        sorted({output.path.display_text.rpartition("/")[2] for output in found.outputs}) == outputs
    )


def test_each_step_waits_for_the_one_before() -> None:
    """Whatever `--max-parallel` says, the steps share their directory."""
    steps = _pack(OPTIONS).steps

    assert all(
        any(path.startswith(OPTIONS.out_dir) for path in (*step.reads, *step.writes))
        for step in steps
    )
