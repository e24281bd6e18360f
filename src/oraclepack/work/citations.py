"""Checks citations against the attached files: valid, changed since, or never attached."""

import re
from collections.abc import Mapping

import msgspec

from oraclepack.system.markdown_text import in_backquotes
from oraclepack.work.evidence import Citation, CitationState, Evidence, QuestionFile

_ABSOLUTE = re.compile(r"/|~/|[A-Za-z]:/")

Attached = Mapping[str, QuestionFile]


def check(evidence: Evidence, attached: Attached | None, *, complete: bool = True) -> Evidence:
    """The evidence with each citation judged and spelled as its file was attached.

    Paths stay as the answer has them. Where the list of attached files is not complete, nothing can
    be said of other files.
    """
    if attached is None:
        return evidence
    names = {one.path: resolve(one.path, attached) for one in evidence.citations}
    otherwise = CitationState.NOT_ATTACHED if complete else CitationState.UNKNOWN
    judged = {_judged(one, names, attached, otherwise) for one in evidence.citations}
    return msgspec.structs.replace(evidence, citations=tuple(sorted(judged)))


def resolve(path: str, attached: Attached) -> str:
    """The attached file that a path means: itself, or the only one that ends in it.

    An absolute path means the one that it ends in; a longer relative one is another file.
    """
    if path in attached:
        return path
    if _ABSOLUTE.match(path):
        ends = [name for name in attached if path.endswith(f"/{name}")]
    else:
        ends = [name for name in attached if name.endswith(f"/{path}")]
    return ends[0] if len(ends) == 1 else path


def _judged(
    citation: Citation, names: Mapping[str, str], attached: Attached, otherwise: CitationState
) -> Citation:
    path = names.get(citation.path, citation.path)
    file = attached.get(path)
    state = otherwise if file is None else _state(citation, file)
    return Citation(path, citation.first_line, citation.last_line, state)


def _state(citation: Citation, file: QuestionFile) -> CitationState:
    if file.current is None or file.lines is None:
        return CitationState.STALE
    if file.recorded is not None and file.recorded != file.current:
        return CitationState.STALE
    in_range = citation.first_line >= 1 and citation.last_line <= file.lines
    return CitationState.VERIFIED if in_range else CitationState.OUT_OF_RANGE


def said_of(citation: Citation) -> str:
    """What is missing because of a bad citation, in words."""
    path, place = in_backquotes(citation.path), in_backquotes(str(citation))
    match citation.state:
        case CitationState.STALE:
            return f"{path} as it is now: it changed or went since it was attached"
        case CitationState.NOT_ATTACHED:
            return f"{path}: cited as {place}, but never attached"
        case CitationState.OUT_OF_RANGE:
            return f"the right place in {path}: {place} is beyond its end"
        case _:
            return place
