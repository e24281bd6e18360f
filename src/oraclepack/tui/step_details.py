"""The detail of a step as text: question, files, command, answer, log, why, work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from oraclepack.run.explain_steps import WhyReport
from oraclepack.run.step_content import StepContent
from oraclepack.tui.screen_text import (
    STATE_STYLES,
    block,
    cell,
    field,
    heading,
    joined,
    state_cell,
)
from oraclepack.view.report import figures
from oraclepack.view.report.data import Report, ReportAnswer, ReportStep, SourceQuote
from oraclepack.work.backlog import Record

TABS = ("question", "files", "command", "answer", "log", "why", "work")


def answer_file(root: Path, run_name: str, path: str) -> Path:
    """The file of an answer, which a run names relative to its own directory."""
    home = root / ".oraclepack"
    is_rehearsal = run_name.startswith("rehearsals/")
    return (home if is_rehearsal else home / "runs") / run_name / path


def asked_text(question: str, prompts: Sequence[str], code: str = "") -> Text:
    """The question itself, then the prompts as they are sent; of a step without any its code."""
    sent = "\n\n".join(one.strip() for one in prompts)
    if not sent:
        return block(f"This step asks no question.\n\n{code.strip()}" if code else question)
    if sent.startswith(question.strip()):
        rest = sent.removeprefix(question.strip())
        return joined([block(question.strip(), "bold"), block(rest)])
    head = heading("The prompt as it is sent")
    return joined([block(question.strip(), "bold"), "\n\n", head, block(sent)])


def prompts_of(content: StepContent) -> list[str]:
    """The exact prompts of a step, each with its place where there are several."""
    prompts = []
    for number, call in enumerate(content.calls, start=1):
        notes = "" if call.is_prompt_known else "  (the running shell fills in parts of it)"
        head = f"── call {number}: {call.tool}, line {call.line}{notes}\n\n"
        if call.prompt:
            is_marked = len(content.calls) > 1 or notes
            prompts.append((head if is_marked else "") + call.prompt.rstrip())
    return prompts


def state_of(step: ReportStep) -> Text:
    """How a step stands; an answer that a person should check is marked."""
    is_odd = any(one.cut or one.is_edited for one in step.answers)
    if step.state == "ok" and (step.doubts or step.bad_quotes or is_odd):
        return cell("! look at it", "yellow")
    return state_cell(step.state)


def files_text(content: StepContent) -> Text:
    """The attachments of each call with size and tokens, and their sums."""
    whole = Text()
    for number, call in enumerate(content.calls, start=1):
        if not call.files and call.tool != "oracle":
            continue
        whole.append_text(heading(f"Call {number}: {call.tool}"))
        for one in call.files:
            size = figures.size(one.bytes) if one.bytes is not None else "–"
            count = figures.tokens(one.tokens)
            whole.append(f"{size:>10} {count:>9}  ")
            whole.append_text(block(one.path))
            if one.problem:
                whole.append_text(block(f"  {one.problem}", "bold red"))
            whole.append("\n")
        total = sum(one.bytes or 0 for one in call.files)
        tokens = sum(one.tokens or 0 for one in call.files)
        counted = figures.count(len(call.files), "file")
        whole.append(f"{figures.size(total):>10} {tokens:>9,}  {counted}, about\n\n", "dim")
    return whole if whole.plain else Text("No call of this step attaches a file.")


def command_text(content: StepContent) -> str:
    """The calls word by word, with overrides applied."""
    parts = []
    for number, call in enumerate(content.calls, start=1):
        unsure = "" if call.is_exact else "; the running shell fills in words with $"
        command = call.command.replace(" --", " \\\n  --")  # one flag a line
        parts.append(f"# call {number}, line {call.line}{unsure}\n{command}")
    parts.append(f"# the step as the pack has it\n{content.code.strip()}")
    return "\n\n".join(parts)


def answer_text(step: ReportStep | None) -> Text:
    """The answers of a step, what their checks say, and what they cite."""
    if step is None:
        return Text("This step has not run yet. Press p to prepare a run.")
    parts: list[Text | str] = [field("state", step.state, STATE_STYLES.get(step.state, ""))]
    if step.reason:
        parts.append(field("reason", step.reason))
    failures = step.verification.failures if step.verification else ()
    if step.verification is not None:
        passed = not failures and not step.doubts
        parts.append(field("checked", "complete" if passed else "see below"))
    for failure in failures:
        missing = ", ".join(failure.missing_sections) or failure.io_error or failure.reason or ""
        parts.append(field("missing", f"{failure.path}: {missing}", "bold red"))
    parts += [
        field("doubt", f"{one.path}:{one.line} {one.message}", "yellow") for one in step.doubts
    ]
    parts += [field("accepted", f"{one.path}: {one.reason}") for one in step.accepted]
    if step.cost.calls:
        parts.append(field("cost", figures.cost_cell(step.cost)))
    for answer in step.answers:
        parts += ["\n", heading(answer.path), *_answer_notes(answer), "\n"]
        parts.append(block(answer.omitted or answer.text))
        if answer.quotes:
            parts += ["\n\n", heading("Cited source")]
            parts += [quote_line(quote) for quote in answer.quotes]
    if not step.answers:
        parts.append("\nThere is no answer.")
    return joined(parts)


def _answer_notes(answer: ReportAnswer) -> list[Text]:
    notes = []
    if answer.from_cache:
        notes.append(field("from", "the cache"))
    if answer.is_edited:
        notes.append(field("edited", "the file is not what the run recorded", "yellow"))
    if answer.cut:
        notes.append(field("cut off", answer.cut, "bold red"))
    return notes


def quote_line(quote: SourceQuote) -> Text:
    """One cited place and what is known of it."""
    mark = "✓" if quote.lines else "?"
    return field(f"{mark} {quote.state}", str(quote))


def quote_text(quote: SourceQuote) -> Text:
    """The lines of a cited place."""
    parts: list[Text | str] = [field("cited", str(quote)), field("state", quote.state), "\n"]
    for number, line in quote.lines:
        is_cited = quote.first_line <= number <= quote.last_line
        parts += [block(f"{number:>5} {line}", "" if is_cited else "dim"), "\n"]
    if quote.omitted:
        parts += [block(quote.omitted, "dim")]
    return joined(parts)


def why_text(sentence: str, why: WhyReport) -> Text:
    """Why a step would run or not, and the parts of the keys of its calls."""
    parts: list[Text | str] = [block(sentence), "\n\n"]
    parts += [field("run", why.run_id), field("because", why.run_reason)]
    parts += [field("status", why.status), field("attempts", why.attempts)]
    if why.error:
        parts.append(field("last error", f"{why.error}: {why.message}", "bold red"))
    if why.recorded_hash not in {None, why.command_hash}:
        parts.append(field("commands", "were edited since it last ran", "yellow"))
    for call in why.calls:
        parts += ["\n", heading(f"Call {call.call}: {call.how or 'not made yet'}")]
        parts.append(field("cache", "has the answer" if call.cached else "has no answer"))
        parts.append(field("key", call.key or "none"))
        parts += [field(f"  {name}", value[:200]) for name, value in sorted(call.parts.items())]
        if call.nearest and call.changes:
            parts.append(f"differs from {call.nearest[:12]} in:\n")
            parts += [block(f"  {change}\n") for change in call.changes]
    return joined(parts)


def work_text(step_id: str, records: Sequence[Record], ticked: Sequence[str]) -> Text:
    """The tasks that the answer of a step came to."""
    own = [one for one in records if step_id in one.sources or one.step_id == step_id]
    if not own:
        return Text("No work came from this step so far.")
    return joined(record_text(one, is_ticked=one.task_id in ticked) for one in own)


def record_text(record: Record, *, is_ticked: bool, note: str = "") -> Text:
    """A task in full."""
    box = "☑" if is_ticked else "☐"
    mark = (
        box
        if record.status == "actionable"
        else {"conflict": "⚡", "blocked": "■"}.get(record.status, "·")
    )
    parts: list[Text | str] = [heading(f"{mark} {record.title}")]
    kind = record.kind or record.status
    parts.append(field("task", f"{record.task_id}  {kind}, {record.priority}"))
    if record.why:
        parts.append(field("why", record.why))
    parts += [block(f"• {text.strip()}\n") for text in record.actions]
    parts += [field("evidence", text) for text in record.notes]
    parts += [field("command", text) for text in record.evidence.commands]
    parts += [field("missing", text) for text in record.missing_inputs]
    if record.next_step:
        parts.append(field("next", record.next_step))
    if record.done_when:
        parts.append(field("done when", record.done_when))
    parts += [field("note", text, "yellow") for text in record.remarks]
    parts += [field("from", str(span)) for span in record.spans]
    if note:
        parts += [heading("Your note"), block(note)]
    return joined([*parts, "\n"])


def pack_note(data: Report) -> str:
    """What a reader has to know of the run whose answers are shown."""
    run = data.run
    notes = (
        "a rehearsal: no model was asked" if run.rehearsal else "",
        f"not signed by you: {run.foreign}" if run.foreign else "",
        f"damaged: {run.damage}" if run.damage else "",
        "still running" if run.holder else "",
    )
    return "; ".join(filter(None, notes))
