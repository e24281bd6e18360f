"""What we say the steps of a pack call, against what bash really calls in them.

Calls of the prelude are not compared: it is run for its state.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from oraclepack.pack.model import Pack, Step
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.pack.script import Enclosure, Word
from oraclepack.pack.tool_call import ToolCall
from oraclepack.shell.checker import complete
from tests.fuzz.scripts import Written
from tests.fuzz.shell_stock import FILES
from tests.fuzz.traced import Run, Traced, trace

NO_BASH = ("syntax error", "unexpected EOF", "bad substitution", "command not found")
"""What bash says of a text that is broken: no run of it means anything."""

PERHAPS = {Enclosure.CONDITION, Enclosure.LOOP}


def differences(written: Written) -> list[str]:
    """Where our reading of a pack and its real run part."""
    pack = parse_pack(written.text, "pack.md", complete)
    with tempfile.TemporaryDirectory() as folder:
        run = trace(pack, Path(folder), FILES)
    if any(complaint in run.said for complaint in NO_BASH):
        return []
    found = [*_wrong_steps(pack, written), *_wrong_files(pack, run)]
    for step in pack.steps:
        traced = [call for call in run.calls if call.step == step.id]
        found += _wrong_calls(step, traced)
    return [*found, run.said] if found else []


def check(written: Written) -> None:
    wrong = differences(written)
    assert not wrong, "\n".join([*wrong, "--- the pack:", written.text])


def _wrong_steps(pack: Pack, written: Written) -> list[str]:
    ids = tuple(step.id for step in pack.steps)
    if ids != written.steps:
        return [f"steps {ids}, not {written.steps}"]
    return [
        f"{mark} was put into {written.placed[mark]} and is seen in {step.id}"
        for step in pack.steps
        for call in step.calls
        if (mark := _mark([word.value for word in call.argv])) and not _through_function(call)
        if written.placed[mark] != step.id
    ]


def _wrong_calls(step: Step, traced: Sequence[Traced]) -> list[str]:
    found = []
    by_mark: dict[str, list[ToolCall]] = {}
    for call in step.calls:
        by_mark.setdefault(_mark([word.value for word in call.argv]) or "", []).append(call)
    for real in traced:
        ours = by_mark.get(_mark(real.argv) or "", [])
        if not ours:
            found.append(f"step {step.id}: not seen: {real.tool} {real.argv}")
        elif not any(_fits(call, real) for call in ours):
            words = [[(w.value, w.splits, w.template) for w in call.argv] for call in ours]
            found.append(f"step {step.id}: {real.tool} {real.argv} is none of {words}")
    for mark, calls in by_mark.items():
        times = sum(_mark(real.argv) == mark for real in traced)
        if all(not call.places & PERHAPS for call in calls) and times != len(calls):
            found.append(f"step {step.id}: {mark} ran {times} times, not {len(calls)}")
    return found


def _wrong_files(pack: Pack, run: Run) -> list[str]:
    """A redirection that certainly happens to a path that is certain leaves that file."""
    return [
        f"step {step.id}: no file {output.path.value}"
        for step in pack.steps
        for output in step.outputs
        if output.origin in {">", ">>", "&>"} and output.call is not None
        if output.path.value and not step.calls[output.call].places & PERHAPS
        if output.path.value not in run.files
    ]


def _mark(words: Sequence[str | None]) -> str | None:
    """The word after `--slug`."""
    at = words.index("--slug") + 1 if "--slug" in words else len(words)
    return words[at] if at < len(words) else None


def _through_function(call: ToolCall) -> bool:
    return any(wrapper.startswith("function ") for wrapper in call.wrappers)


def _fits(call: ToolCall, real: Traced) -> bool:
    more = "xargs" in call.wrappers
    return call.tool == real.tool and _match(call.argv, real.argv, more=more)


def _match(ours: Sequence[Word], real: Sequence[str], *, more: bool) -> bool:
    """Whether these words can be those: what splits or is a pattern stands for any number."""
    if not ours:
        return more or not real
    first, rest = ours[0], ours[1:]
    if first.splits or first.globs:
        return any(_match(rest, real[cut:], more=more) for cut in range(len(real) + 1))
    return bool(real) and _is(first, real[0]) and _match(rest, real[1:], more=more)


def _is(word: Word, real: str) -> bool:
    if word.value is not None:
        return word.value == real
    beginning = word.template.partition("$")[0].partition("`")[0]
    return not beginning.startswith("-") or real.startswith(beginning)
