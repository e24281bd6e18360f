"""Step headers and the comments that speak to oraclepack."""

import re
from collections.abc import Iterable, Mapping

from oraclepack.core.script import Comment
from oraclepack.core.source import Span
from oraclepack.core.step import HEADER_FIELDS, Attribute, Directive, Header, StepId
from oraclepack.system.text_limits import regex

HEADER = regex(r"#\s*(?P<id>[0-9]{2})(?:\)|\s+[—–-](?=\s|$))\s*(?P<rest>.*)$")
"""`# 01) …`, also `# 01 — …` and `# 01 - …`."""

NUMBERED = regex(r"#\s*(?P<id>[0-9]+)(?:\)|\s+[—–-](?=\s|$))\s*(?P<rest>.*)$")
"""The same with any number of digits: what a header with a slip looks like."""

_NUMBERS = ("ROI", "impact", "confidence", "effort")
_FIELD = regex(
    rf"(?:(?<!\S)(?P<key>{'|'.join(HEADER_FIELDS)})"
    rf"|(?<=[(\[{{,;:|*—–])(?P<number>{'|'.join(_NUMBERS)}))\s*=\s*",
    re.IGNORECASE,
)
_NUMBER = regex(r"[0-9]+(?:\.[0-9]+)?(?=[\s)\]}|*—–]|[,;:](?:\s|$)|$)")
"""A number that other words may follow: `ROI=0.5 low value`, `(ROI=4.5)`."""
_EMPTY_BRACKETS = regex(r"\(([\s,;|]*)\)|\[([\s,;|]*)\]|\{([\s,;|]*)\}|\*{4}")
_SEPARATORS = regex(r"(?<!\S)([—–|-])(?:\s+[—–|-])+(?!\S)")
_TITLE_ENDS = " \t,;|—–-"
_OLD_FIELD = regex(
    rf"#\s*(?P<key>{'|'.join(HEADER_FIELDS)})\s*:\s*(?P<value>\S.*?)\s*$", re.IGNORECASE
)
_DIRECTIVE = regex(
    r"#\s*oraclepack:\s*(?P<name>[A-Za-z][A-Za-z_-]*)\s*(?:=\s*|\s+|$)(?P<value>.*)$"
)
_SPELLING = {field.lower(): field for field in HEADER_FIELDS}


def has_attributes(text: str) -> bool:
    """A comment carries header attributes: nobody writes `ROI=` by accident."""
    return _FIELD.search(text) is not None


def read_header(comment: Comment) -> Header | None:
    """The header that a comment is, if it is one."""
    match = HEADER.match(comment.text)
    if match is None:
        return None
    attributes, title = _attributes(match["rest"], match.start("rest"), comment.span)
    number = _within(comment.span, match.start("id"), match.end("id"))
    return Header(StepId(match["id"]), title, attributes, comment.span, number)


def with_old_fields(header: Header, comments: Iterable[Comment]) -> Header:
    """The header completed by the older spelling in the body: `# ROI: 4.2`."""
    found: dict[str, Attribute] = {}
    for comment in comments:
        match = _OLD_FIELD.match(comment.text) if comment.top_level else None
        if match is not None:
            key = _SPELLING[match["key"].lower()]
            text = _counted(key, match["value"])
            value = _within(comment.span, match.start("value"), match.start("value") + len(text))
            found.setdefault(key, Attribute(text, value))
    if not found:
        return header
    merged = found | dict(header.attributes)
    return Header(header.id, header.title, merged, header.span, header.id_span)


def read_directives(comments: Iterable[Comment]) -> tuple[Directive, ...]:
    """The `# oraclepack: …` comments, in order."""
    matches = ((comment, _DIRECTIVE.match(comment.text)) for comment in comments)
    return tuple(
        Directive(match["name"], match["value"].strip(), comment.span)
        for comment, match in matches
        if match is not None
    )


def _attributes(rest: str, offset: int, span: Span) -> tuple[Mapping[str, Attribute], str]:
    """The attributes of a header text, and its title.

    A value ends where the next known key starts, a number where it ends: the words behind it belong
    to the title.
    """
    keys = list(_FIELD.finditer(rest))
    if not keys:
        return {}, rest.strip()
    attributes: dict[str, Attribute] = {}
    ends = [key.start() for key in keys[1:]] + [len(rest)]
    words = [rest[: keys[0].start()]]
    for key, end in zip(keys, ends, strict=True):
        name = _SPELLING[(key["key"] or key["number"]).lower()]
        text = _counted(name, rest[key.end() : end].rstrip())
        where = _within(span, offset + key.end(), offset + key.end() + len(text))
        attributes.setdefault(name, Attribute(text, where))
        words.append(rest[key.end() + len(text) : end])
    return attributes, _title("".join(words))


def _counted(name: str, text: str) -> str:
    """The value without the words behind its number, if it is one that counts."""
    number = _NUMBER.match(text) if name in _NUMBERS else None
    return text if number is None else number[0]


def _title(words: str) -> str:
    """The words that are left of a header, without the brackets and dashes around what was cut."""
    joined = " ".join(_EMPTY_BRACKETS.sub(" ", words).split())
    return _SEPARATORS.sub(r"\1", joined).strip(_TITLE_ENDS)


def _within(span: Span, start: int, end: int) -> Span:
    return Span(span.line, span.column + start, span.line, span.column + end)
