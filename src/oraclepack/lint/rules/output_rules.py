"""OP5xx: where the answers go."""

from collections.abc import Iterator
from posixpath import normpath

import msgspec

from oraclepack.errors import did_you_mean
from oraclepack.lint.finding import PathKind, Severity
from oraclepack.lint.rule import Problem, Subject, rule
from oraclepack.pack.contract import MARKERS, contradiction, requested_format
from oraclepack.pack.missing_files import stays_put
from oraclepack.pack.model import CONTRACT, Pack, Step
from oraclepack.pack.questions import asking_calls, destinations
from oraclepack.pack.script import Enclosure, Span, Word
from oraclepack.pack.tool_call import ToolCall
from oraclepack.system.path_jail import climbs, fault_of, guarded_place

_STDOUT_NAME = "-"
_REWRITES = frozenset({"task-master"})
"""Tools whose output is a file they keep up to date: writing it twice is their way."""


class _KnownOutput(msgspec.Struct, frozen=True):
    """An output whose path is written out."""

    path: str
    step: Step
    call: ToolCall | None
    span: Span


@rule("OP501", Severity.WARNING, Severity.ERROR)
def no_write_output(subject: Subject) -> Iterator[Problem]:
    """An oracle call says where its answer goes.

    Why: a paid answer that only scrolls by cannot be verified, kept or found again.
    Fix: add `--write-output <path>`.

    Bad::
        # 01) without an output file
        oracle -p "Why?"

    Good::
        # 01) with an output file
        oracle -p "Why?" --write-output docs/why.md
    """
    for step in subject.pack.steps:
        for call in asking_calls(step):
            if call.partly_hidden or "xargs" in call.wrappers or destinations(call):
                continue
            message = "the answer is not written to a file"
            yield Problem(call.span, message, "add --write-output <path>", step=step.id)


@rule("OP502", Severity.ERROR)
def output_collision(subject: Subject) -> Iterator[Problem]:
    """No two calls write the same file.

    Why: the later answer replaces the earlier one, which was paid for.
    Fix: give each answer a file of its own. Calls of one step that exclude each other
    (`a || b`, if/else) may share one.

    Bad::
        # 01) first
        oracle -p "Why?" --write-output docs/a.md
        # 02) second
        oracle -p "How?" --write-output docs/a.md

    Good::
        # 01) first
        oracle -p "Why?" --write-output docs/a.md
        # 02) second
        oracle -p "How?" --write-output docs/b.md
    """
    first: dict[str, _KnownOutput] = {}
    for written in _all_written(subject):
        before = first.setdefault(normpath(written.path), written)
        if before is not written and not _one_of_two(before, written):
            where = f"step {before.step.id}, line {before.span.line}"
            message = f"{written.path} is already written by {where}"
            yield Problem(written.span, message, "give each answer a file of its own")


def _all_written(subject: Subject) -> Iterator[_KnownOutput]:
    for step in subject.pack.steps:
        if not stays_put(subject.pack, step):
            continue
        for call in step.calls:
            if call.tool in _REWRITES:
                continue
            for word in destinations(call):
                appends = any(r.operator == ">>" and r.target == word for r in call.redirects)
                if word.value and word.value != _STDOUT_NAME and not appends:
                    yield _KnownOutput(word.value, step, call, word.span)
        for output in step.outputs:
            if output.call is None and output.path.value:
                yield _KnownOutput(output.path.value, step, None, output.path.span)


def _one_of_two(before: _KnownOutput, after: _KnownOutput) -> bool:
    """In one step: calls that exclude each other, or a directive that repeats a call."""
    if before.step is not after.step:
        return False
    if before.call is None or after.call is None:
        return True
    # A function that is used twice shows its one call at both places.
    uncertain = {Enclosure.CONDITION, Enclosure.LOOP, Enclosure.FUNCTION}
    return bool((before.call.places | after.call.places) & uncertain)


def _output_words(pack: Pack) -> Iterator[tuple[Step, Word]]:
    """The paths of the outputs, by flag, redirection or directive."""
    for step in pack.steps:
        words = [word for call in step.calls for word in destinations(call)]
        words += [output.path for output in step.outputs if output.call is None]
        yield from ((step, word) for word in words)


@rule("OP503", Severity.ERROR)
def output_leaves_project(subject: Subject) -> Iterator[Problem]:
    """An output lies in the project, outside `.git/` and oraclepack's own records.

    Why: a pack must not write to unexpected places, nor into the records of its runs. `..` is
    refused wherever it would lead: that depends on links and on variables.
    Fix: choose a path below the project root, such as `docs/answers/01.md`.

    Bad::
        # 01) outside the project
        oracle -p "Why?" --write-output ../answers/a.md

    Good::
        # 01) inside the project
        oracle -p "Why?" --write-output docs/answers/a.md
    """
    for step, word in _output_words(subject.pack):
        reason = _leaves(word, subject)
        certain = climbs(word.display_text) or (word.value or "").startswith(("/", "~"))
        if reason is not None and (certain or stays_put(subject.pack, step)):
            hint = "choose a path below the project root, without .."
            yield Problem(word.span, f"{word.display_text} {reason}", hint, step=step.id)


def _leaves(word: Word, subject: Subject) -> str | None:
    if climbs(word.display_text):
        return "has .. in it, which no output path may"
    path = word.value
    if path is None:
        return None
    if path.startswith("~"):
        return "begins with ~, which no tool expands"
    guarded = guarded_place(normpath(path)) if not path.startswith("/") else None
    if guarded is not None:
        return f"lies in {guarded}, which no step may write to"
    fact = subject.facts.paths.get(path)
    outside = fact is not None and fact.kind is PathKind.OUTSIDE
    return "leads out of the project" if outside else None


@rule("OP504", Severity.WARNING)
def contradicted_contract(subject: Subject) -> Iterator[Problem]:
    """The prompt asks for the section that the output is named for.

    Why: the answer would be refused for lacking a section that was never asked for.
    Fix: rename the output, or change the "Return only" line of the prompt. A marker
    `# oraclepack: contract=…` must name a section, all-sections or none.

    Bad::
        # 01) contradictory
        oracle -p "Why? Return only: Risks/unknowns" --write-output a-direct-answer.md

    Good::
        # 01) consistent
        oracle -p "Why? Return only: Direct answer" --write-output a-direct-answer.md
    """
    for step in subject.pack.steps:
        marker = next((d for d in step.directives if d.name == CONTRACT), None)
        if marker is not None and marker.value.lower() not in MARKERS:
            hint = did_you_mean(marker.value, MARKERS) or f"one of: {', '.join(MARKERS)}"
            yield Problem(marker.span, f"unknown contract: {marker.value}", hint)
        for call in asking_calls(step):
            yield from _contradictions(call, step, marker.value.lower() if marker else None)


def _contradictions(call: ToolCall, step: Step, marker: str | None) -> Iterator[Problem]:
    if call.prompt is None:
        return
    if marker is not None:
        requested = requested_format(call.prompt.text)
        if requested.only is not None and marker in set(MARKERS) - {"none", requested.only.value}:
            message = f"the step says contract={marker}, its prompt asks only for {requested.only}"
            yield Problem(_prompt_line(call, step, requested.only_line), message, "let both agree")
        return
    for word in destinations(call):
        conflict = contradiction(word.display_text, call.prompt.text)
        if conflict is not None:
            message = (
                f"{word.display_text} is named for {conflict.named},"
                f" its prompt asks for {conflict.requested}"
            )
            hint = "rename the output, or ask for its section"
            yield Problem(_prompt_line(call, step, conflict.line), message, hint)


def _prompt_line(call: ToolCall, step: Step, offset: int) -> Span:
    assert call.prompt is not None
    place = Span.at(call.prompt.span.line + offset)
    return place if step.span.holds_line(place.line) else call.span


@rule("OP505", Severity.WARNING)
def output_named_dash(subject: Subject) -> Iterator[Problem]:
    """`--write-output` names a file; `-` is not standard output there.

    Why: oracle writes a file whose name is `-`.
    Fix: name a file, or leave the flag out and redirect standard output.

    Bad::
        # 01) a file named -
        oracle -p "Why?" --write-output -

    Good::
        # 01) a file
        oracle -p "Why?" --write-output docs/why.md
    """
    for step in subject.pack.steps:
        for call in step.oracle_calls:
            for word in call.values("--write-output"):
                if word.value == _STDOUT_NAME:
                    yield Problem(word.span, "this writes a file named -", "name a file")


@rule("OP506", Severity.WARNING)
def output_never_made(subject: Subject) -> Iterator[Problem]:
    """A call with one output asks one model.

    Why: with several entries in `--models` oracle writes `x.<model>.md` for each and never `x.md`
    itself, so that the promised answer does not appear.
    Fix: ask one model by `-m`, or make one call for each model.

    Bad::
        # 01) two models, one file
        oracle -p "Why?" --models gpt-5.2,gpt-5.1 --write-output docs/why.md

    Good::
        # 01) one model
        oracle -p "Why?" -m gpt-5.2 --write-output docs/why.md
    """
    for step in subject.pack.steps:
        for call in step.oracle_calls:
            outputs = call.values("--write-output")
            models = call.values("--models")[-1:]
            several = [w for w in models if len([m for m in (w.value or "").split(",") if m]) > 1]
            if outputs and several:
                message = (
                    f"{outputs[-1].display_text} is never made: several models write files each"
                )
                yield Problem(
                    several[0].span, message, "ask one model by -m, or call once for each"
                )


@rule("OP507", Severity.ERROR)
def unusable_output_path(subject: Subject) -> Iterator[Problem]:
    """An output path names a file that can be written.

    Why: oracle ends with success even when it could not write its answer.
    Fix: write a path with a file name at its end.

    Bad::
        # 01) a directory
        oracle -p "Why?" --write-output docs/

    Good::
        # 01) a file
        oracle -p "Why?" --write-output docs/why.md
    """
    for step, word in _output_words(subject.pack):
        path = word.value
        if path is None:
            continue
        fact = subject.facts.paths.get(path)
        fault = None if path == _STDOUT_NAME or path.startswith("~") else fault_of(path)
        if fault is None and fact is not None and fact.kind is PathKind.DIRECTORY:
            fault = "a directory has that name" if stays_put(subject.pack, step) else None
        if fault is not None:
            message = f"no answer can be written to {path!r}: {fault}"
            yield Problem(word.span, message, "write the path of a file", step=step.id)
