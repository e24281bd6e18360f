"""One question as a pack of one step: `oraclepack ask`.

The pack is written below `.oraclepack/calls` and run like any other, so that cache, budget,
retries and adoption hold for it without a second engine. Its name is a hash of its content: the
same question continues the same run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

import msgspec

from oraclepack.errors import NotFoundError, Refusal, UsageError
from oraclepack.journal.run_state import Ask
from oraclepack.run.entry_points import run_pack
from oraclepack.run.forecast import CallFate, CostForecast, CostRange
from oraclepack.run.plan_costs import forecast_run
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.question_pack import fenced_pack, write_pack
from oraclepack.run.run_display import Display
from oraclepack.run.run_report import RunOutcome, RunReport
from oraclepack.settings import run_settings
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import Settings
from oraclepack.shell.stop import Stop
from oraclepack.system.digests import sha256_text
from oraclepack.system.environment import environment
from oraclepack.system.path_jail import content_at, jail
from oraclepack.system.printable import one_line
from oraclepack.tools.oracle_attachments import is_one_value, names_one_file
from oraclepack.tools.oracle_models import ORACLE_MODELS, resolve_model
from oraclepack.tools.providers import BROWSER, KEYS_OF
from oraclepack.view.step import shaped

CALLS = ".oraclepack/calls"
_TITLE = 80
_LONGEST = 1_000_000
"""Characters of a prompt; larger material belongs in files."""


class SingleQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question, as the command line gives it."""

    prompt: str
    files: tuple[str, ...] = ()
    """Paths or patterns; a relative one is read from the current directory."""
    model: str | None = None
    output: str | None = None
    """Where the answer goes; by default beside the pack."""


class CallResult(msgspec.Struct, frozen=True, kw_only=True):
    """What `call` answers."""

    run_id: str
    title: str
    pack: str
    """The pack of one step that was run."""
    output: str
    """The file with the answer, relative to the project root."""
    answer: str | None
    """Its text; null where there is none."""
    run: RunReport


class CallPreflight(msgspec.Struct, frozen=True, kw_only=True):
    """What `call --preflight` answers: whether the question could be asked, and at what cost."""

    ok: bool
    problems: tuple[str, ...]
    fate: str
    """`ask`, `cached`, `adopt` or `refused`."""
    model: str | None
    provider: str | None
    key: str | None
    """The variable that holds the provider's key; null where none is set or needed."""
    files: int
    bytes: int
    input_tokens: int | None
    input_limit: int | None
    cost: CostRange | None


_NO_CALL = CallPreflight(
    ok=True,
    problems=(),
    fate=CallFate.CACHED,
    model=None,
    provider=None,
    key=None,
    files=0,
    bytes=0,
    input_tokens=None,
    input_limit=None,
    cost=None,
)


def call_pack(question: SingleQuestion, output: str) -> str:
    """The text of the pack; the prompt is quoted, and no fence can be closed by it."""
    words = ["oracle", "--prompt", quote(question.prompt)]
    for path in question.files:
        words += ["--file", quote(path)]
    if question.model:
        words += ["--model", quote(question.model)]
    words += ["--write-output", quote(output)]
    folder = quote(output.rpartition("/")[0] or ".")
    title = title_of_prompt(question.prompt)
    body = f"# 01) {title}\nmkdir -p -- {folder}\n{' '.join(words)}"
    return fenced_pack("# One question", "ask", body)


def title_of_prompt(prompt: str) -> str:
    """The beginning of the question, on one line."""
    line = one_line(prompt.strip().partition("\n")[0]).replace("`", "'")
    return line if len(line) <= _TITLE else line[: _TITLE - 1].rstrip() + "…"


def write_call(root: Path, question: SingleQuestion) -> tuple[Path, str]:
    """Write the pack of a question; its path and that of the answer."""
    _refuse_unusable(question)
    rooted = msgspec.structs.replace(
        question, files=tuple(_from_root(root, path) for path in question.files)
    )
    name = sha256_text(call_pack(rooted, rooted.output or ""))[:12]
    output = _output(root, question.output) if question.output else f"{CALLS}/{name}.answer.md"
    pack = write_pack(root, f"{CALLS}/{name}.md", call_pack(rooted, output))
    return pack, output


def _refuse_unusable(question: SingleQuestion) -> None:
    if not question.prompt.strip():
        raise UsageError("the prompt is empty", hint="give it with -p, or - to read it from stdin")
    if len(question.prompt) > _LONGEST:
        raise UsageError(
            f"a prompt has at most {_LONGEST} characters", hint="attach long texts with -f"
        )
    if "\0" in question.prompt + (question.model or "") + "".join(question.files):
        raise UsageError("an argument holds a NUL character")


def _from_root(root: Path, path: str) -> str:
    """A path or pattern as the step reads it, which begins in the project root."""
    mark, name = ("!", path[1:]) if path.startswith("!") else ("", path)
    if not name:
        raise UsageError("an empty path names no file")
    if not os.path.isabs(name):
        name = os.path.normpath(Path.cwd() / name)
    if not mark and not re.search(r"[*?\[{]", name) and not os.path.exists(name):
        raise NotFoundError(f"{path}: no such file", hint="check the path")
    inside = os.path.relpath(name, root)
    value = name if inside.startswith("..") else inside
    if not (names_one_file(value) if os.path.lexists(name) else is_one_value(value)):
        raise UsageError(
            f"{path}: oracle would read this name as a list, a pattern or an option",
            hint="give each file its own -f; attach a copy of the file under a plain name",
        )
    return mark + value


def _output(root: Path, path: str) -> str:
    verdict = jail(root, path, Path.cwd())
    if isinstance(verdict, Refusal):
        raise UsageError(f"--write-output {path}: {verdict.reason}", hint=verdict.hint)
    return verdict.relative


def preflight(forecast: CostForecast, variables: Mapping[str, str]) -> CallPreflight:
    """What a forecast of the one call says, and whether a key is there."""
    step = forecast.steps[0]
    call = step.calls[0] if step.calls else None
    found = (forecast.refusal, step.problem, call.problem if call else None)
    problems = [problem for problem in found if problem]
    key: str | None = None
    if call is None:
        fate = CallFate.CACHED if not step.problem and step.decision != "run" else CallFate.REFUSED
    else:
        fate = call.fate
        key, missing = _key_of(call.provider, variables)
        problems += missing if fate is CallFate.ASK else []
    if call is not None and fate is CallFate.ASK:
        if call.is_too_long:
            problem = f"{call.input_tokens} tokens are more than the {call.input_limit} that fit"
            problems.append(f"{problem} into {call.model}")
        if call.model and resolve_model(call.model) not in ORACLE_MODELS:
            problems.append(f"oracle does not know the model {call.model}")
    return shaped(
        CallPreflight,
        call or _NO_CALL,
        ok=not problems,
        problems=tuple(dict.fromkeys(problems)),
        fate=fate,
        key=key,
    )


def _key_of(provider: str | None, variables: Mapping[str, str]) -> tuple[str | None, list[str]]:
    if provider in {None, BROWSER}:
        return None, []
    names: Sequence[str] = (*KEYS_OF.get(provider or "", ()), "OPENROUTER_API_KEY")
    there = next((name for name in names if variables.get(name)), None)
    if there is not None:
        return there, []
    return None, [f"no key for {provider}: {' or '.join(dict.fromkeys(names))} is not set"]


def ask_question(
    question: SingleQuestion,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    display: Display | None = None,
    stop: Stop | None = None,
    ask: Ask | None = None,
) -> tuple[CallResult, RunOutcome]:
    """Ask one question as a run of one step; `display`, `stop` and `ask` as for `run_pack`."""
    settings = settings or load_settings()
    root = Path(settings.root)
    pack, output = write_call(root, question)
    if not settings.is_given(run_settings.LEGACY_FILES):
        # The Go tool has no such command, and the files would lie in the project root.
        values = {**settings.values, run_settings.LEGACY_FILES.name: False}
        settings = msgspec.structs.replace(settings, values=values)
    outcome = run_pack(pack, settings, arguments, display=display, stop=stop, ask=ask)
    answer = content_at(root, output).data
    result = CallResult(
        run_id=outcome.report.run_id,
        title=title_of_prompt(question.prompt),
        pack=pack.relative_to(root).as_posix(),
        output=output,
        answer=None if answer is None else answer.decode("utf-8", "replace"),
        run=outcome.report,
    )
    return result, outcome


def preflight_question(
    question: SingleQuestion, settings: Settings
) -> tuple[CallPreflight, tuple[str, ...]]:
    """Whether a question could be asked, and what that would cost; asks nothing. And warnings."""
    pack, _ = write_call(Path(settings.root), question)
    forecasted, warnings = forecast_run(pack, settings)
    return preflight(forecasted, environment()), warnings
