"""Parses a Markdown file into a `Pack`."""

import re
from collections.abc import Callable
from itertools import takewhile
from pathlib import PurePosixPath
from shlex import quote
from typing import TYPE_CHECKING

from msgspec.structs import replace

from oraclepack.errors import InputError
from oraclepack.pack.model import (
    OUT_DIR,
    Coverage,
    CoverageLine,
    Directive,
    Fence,
    Pack,
    Prelude,
    Step,
    plain_text,
)
from oraclepack.pack.parse.bash_script import read_script
from oraclepack.pack.parse.effects import outputs_of, reads_of, writes_of
from oraclepack.pack.parse.heredocs import readable
from oraclepack.pack.parse.locate import Locator
from oraclepack.pack.parse.markdown import Markdown, read_markdown
from oraclepack.pack.parse.step_boundaries import (
    Boundaries,
    Complete,
    find_boundaries,
    read_directives,
    read_header,
    with_old_fields,
)
from oraclepack.pack.parse.tool_calls import CallScope, meta_of
from oraclepack.pack.parse.variables import Value, Variables
from oraclepack.pack.script import Script, Span, Word

if TYPE_CHECKING:
    from tree_sitter import Tree


_MENTIONS_OUT_DIR = re.compile(r"\$(?:\{[!#]?)?out_dir\b")
_OWN_DEFAULT = re.compile(r'"?\$\{out_dir:?[-=][^$`{}"]*\}"?')
_ENTRY = re.compile(r"^\s*[-*+]\s+(?P<key>[^:]+?)\s*:\s*(?P<value>.*?)\s*$")


def parse_pack(
    raw: str,
    path: str,
    complete: Complete | None = None,
    on_block: Callable[[Fence], None] | None = None,
) -> Pack:
    """Read a pack. The rules report what cannot be read.

    Only an extremely large bash block is an error: parsing it would take too long.
    `on_block` receives the block before it is parsed, so that other checks can start.
    """
    text = plain_text(raw)
    markdown = read_markdown(text)
    block = next((fence for fence in markdown.fences if fence.is_bash), None)
    if block is not None and on_block is not None:
        on_block(block)
    line, listed = _entries(markdown, text, "coverage check")
    verdicts = tuple(CoverageLine(key, value, Span.at(number)) for number, key, value in listed)
    pack = Pack(
        path=path,
        text=text,
        fences=markdown.fences,
        block=block,
        prelude=None,
        steps=(),
        coverage=Coverage(verdicts, Span.at(line)) if line else None,
        parsed_args={key: value for _, key, value in _entries(markdown, text, "parsed args")[1]},
        had_crlf="\r" in raw,
        had_bom=raw.startswith("\ufeff"),
    )
    if block is None:
        return pack
    try:
        return _with_script(pack, block, complete)
    except InputError as limit:
        raise InputError(f"{path}: {limit.message}", hint=limit.hint) from None


def _with_script(
    pack: Pack, block: Fence, complete: Complete | None, given: Variables | None = None
) -> Pack:
    place = Locator.of_block(block, pack.text)
    boundaries = find_boundaries(place, complete)
    prelude, directives, scope, variables = _prelude(place, boundaries, given or Variables())
    ends = [*boundaries.rows[1:], len(place.lines) - 1]
    steps = tuple(
        _step(place, boundaries, index, ends[index], scope, variables)
        for index in range(len(boundaries.rows))
    )
    declared = variables.get("out_dir")
    return replace(
        pack,
        prelude=prelude,
        steps=steps,
        swallowed=tuple(boundaries.swallowed),
        misnumbered=tuple(boundaries.misnumbered),
        out_dir=_out_dir(declared.text if declared else None, pack, steps),
        out_dir_sites=tuple(dict.fromkeys(variables.out_dirs)),
        directives=directives,
    )


def with_out_dir(pack: Pack, out_dir: str, complete: Complete | None = None) -> Pack:
    """The pack as it is when its answers go to another directory than its own.

    The script is the same except for the values of its assignments to `out_dir`. The file, and
    so the pack's hash, does not change.
    """
    block = pack.block
    if block is None:
        return pack
    lines = block.content.split("\n")
    shifts = Locator.of_block(block, pack.text).shifts
    for site in sorted(_replaced(pack), key=lambda site: site.span, reverse=True):
        row = site.span.line - block.content_line
        start = site.span.column - 1 - shifts[row]
        lines[row] = lines[row][:start] + quote(out_dir) + lines[row][start + len(site.source) :]
    content = "\n".join(lines)
    given = Variables({OUT_DIR: Value(out_dir)})
    changed = replace(block, content=content)
    return replace(
        _with_script(replace(pack, block=changed), changed, complete, given), out_dir=out_dir
    )


def _replaced(pack: Pack) -> list[Word]:
    """The assignments whose value must be replaced: those of the prelude, and equal ones in steps.

    One that uses the variable itself, such as `$out_dir/x`, follows its new value; so does
    `${out_dir:-docs}`.
    """
    first = pack.steps[0].span.line if pack.steps else 0
    sites = [one for one in pack.out_dir_sites if _is_plain(one)]
    before_first = {one.source for one in sites if not first or one.span.line < first}
    return [
        one for one in sites if not first or one.span.line < first or one.source in before_first
    ]


def _is_plain(site: Word) -> bool:
    if "\n" in site.source:
        return False
    return bool(_OWN_DEFAULT.fullmatch(site.source)) or not _MENTIONS_OUT_DIR.search(site.source)


def uses_out_dir(pack: Pack) -> bool:
    """Whether the script uses `$out_dir` anywhere; otherwise the variable has no effect."""
    code = [pack.prelude.code] if pack.prelude else []
    return any(_MENTIONS_OUT_DIR.search(part) for part in (*code, *(s.code for s in pack.steps)))


def _prelude(
    place: Locator, boundaries: Boundaries, given: Variables
) -> tuple[Prelude, tuple[Directive, ...], CallScope, Variables]:
    end = boundaries.rows[0] if boundaries.rows else len(place.lines) - 1
    part = place.part(0, end)
    script, variables = _script(part, given, boundaries.trees.get(0))
    scope = CallScope()
    calls = scope.calls_in(script)
    span = Span(part.first_line, 1, part.first_line + max(len(part.lines) - 1, 0), 1)
    prelude = Prelude(_code(part), span, script, calls)
    return prelude, read_directives(script.comments), scope, variables


def _step(
    place: Locator,
    boundaries: Boundaries,
    index: int,
    end: int,
    scope: CallScope,
    variables: Variables,
) -> Step:
    header = read_header(boundaries.headers[index])
    assert header is not None
    first = boundaries.rows[index] + 1
    body = place.part(first, end)
    script, _ = _script(body, variables, boundaries.trees.get(first))
    calls = scope.copy().calls_in(script)
    directives = read_directives(script.comments)
    outputs = outputs_of(calls, directives)
    writes, unknown = writes_of(script, outputs)
    last = header.span.line + len(body.lines)
    return Step(
        header=with_old_fields(header, script.comments),
        code=_code(body),
        span=Span(header.span.line, 1, last, 1),
        script=script,
        calls=calls,
        outputs=outputs,
        reads=reads_of(script, outputs),
        writes=writes,
        writes_unknown=unknown,
        meta=meta_of(calls),
        directives=directives,
    )


def _script(place: Locator, variables: Variables, tree: "Tree | None") -> tuple[Script, Variables]:
    # A stretch that could be parsed unchanged has a tree already.
    return read_script(place if tree else readable(place), variables, tree)


def _code(place: Locator) -> str:
    return b"\n".join((*place.lines, b"")).decode()


def _out_dir(declared: str | None, pack: Pack, steps: tuple[Step, ...]) -> str | None:
    """`out_dir=` of the prelude or the "Parsed args", else what the outputs have in common."""
    named = declared or pack.parsed_args.get("out_dir", "")
    if named and "{{" not in named:
        return named.rstrip("/") or "/"
    known = [output.path.value for step in steps for output in step.outputs]
    parents = [PurePosixPath(path).parent.parts for path in known if path]
    if not parents or len(parents) != len(known):
        return None
    same = takewhile(lambda parts: len(set(parts)) == 1, zip(*parents, strict=False))
    return str(PurePosixPath(*(parts[0] for parts in same)))


def _entries(markdown: Markdown, text: str, title: str) -> tuple[int, list[tuple[int, str, str]]]:
    """The first list of `- key: value` lines below a heading, with their line numbers."""
    ends = [heading.line for heading in markdown.headings]
    ends.extend(fence.span.line for fence in markdown.fences)
    start = next((h.line for h in markdown.headings if h.text.lower().startswith(title)), 0)
    if not start:
        return 0, []
    lines = text.split("\n")
    end = min((line for line in ends if line > start), default=len(lines) + 1)
    entries: list[tuple[int, str, str]] = []
    for number in range(start + 1, end):
        match = _ENTRY.match(lines[number - 1])
        if match is not None:
            entries.append((number, match["key"], match["value"]))
        elif entries and lines[number - 1].strip():
            break
    return start, entries
