"""That two readings of a pack execute the same, shown by their bash and nothing else."""

from collections.abc import Iterable, Iterator

from oraclepack.authoring.generation import UpgradeProof
from oraclepack.pack.model import Pack
from oraclepack.pack.script import Script, Span
from oraclepack.system.digests import sha256_text


def prove(before: Pack, unmoved: Pack, after: Pack, moved: dict[str, str]) -> UpgradeProof:
    """Compare what bash would run: comments and blank lines between commands do not count.

    `unmoved` has the new headers and the old order: it must execute what `before` does, line by
    line. Where steps have moved after that, each must be what it was in `unmoved`.
    """
    first, second = _joined(_bodies(before)), _joined(_bodies(unmoved))
    equal = first == second
    if moved and equal:
        prelude, *steps = _bodies(unmoved)
        origin = dict(zip(_ids(unmoved), steps, strict=True))
        expected = [prelude, *(origin.get(moved.get(new, new), "") for new in _ids(after))]
        second = _joined(_bodies(after))
        equal = _joined(expected) == second and sorted(steps) == sorted(_bodies(after)[1:])
    return UpgradeProof(
        equal=equal,
        commands_before=_commands(before),
        commands_after=_commands(after),
        sha256_before=sha256_text(first),
        sha256_after=sha256_text(second),
        moved=moved,
    )


def _joined(bodies: Iterable[str]) -> str:
    return "\n".join(filter(None, bodies))


def _ids(pack: Pack) -> list[str]:
    return [str(step.id) for step in pack.steps]


def _commands(pack: Pack) -> int:
    return sum(len(script.commands) for script in _scripts(pack))


def _scripts(pack: Pack) -> Iterator[Script]:
    if pack.prelude is not None:
        yield pack.prelude.script
    yield from (step.script for step in pack.steps)


def _bodies(pack: Pack) -> list[str]:
    """The prelude and every step without what bash passes over."""
    lines = pack.text.split("\n")
    bodies = [""]
    if pack.prelude is not None:
        span = pack.prelude.span
        end = pack.steps[0].header.span.line - 1 if pack.steps else span.end_line
        bodies[0] = _bare(lines, range(span.line, end + 1), pack.prelude.script)
    for step in pack.steps:
        body = range(step.header.span.line + 1, step.span.end_line + 1)
        bodies.append(_bare(lines, body, step.script))
    return bodies


def _bare(lines: list[str], numbers: Iterable[int], script: Script) -> str:
    inside = _held(command.span for command in script.commands)
    inside |= _held(heredoc.span for heredoc in script.heredocs)
    inside |= {heredoc.span.line for heredoc in script.heredocs}
    comments = {
        comment.span.line
        for comment in script.comments
        if comment.top_level and not comment.trailing
    }
    stripped = (
        lines[number - 1].rstrip() if number not in inside else lines[number - 1]
        for number in numbers
        if number in inside or (number not in comments and lines[number - 1].strip())
    )
    return "\n".join(stripped)


def _held(spans: Iterable[Span]) -> set[int]:
    """The lines of constructs that span several lines: there every character counts."""
    return {line for span in spans for line in range(span.line + 1, span.end_line + 1)}
