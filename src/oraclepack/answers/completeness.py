"""Whether an answer is complete: signs of a cut-off end."""

import re
from collections.abc import Sequence

import msgspec

from oraclepack.answers.sentences import masked, open_brackets, word_set
from oraclepack.answers.statements import Statement
from oraclepack.pack.answer_sections import FENCE, Section, numbered

_BARE_MARKER = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s*$")
_CONNECTIVES = sorted(
    word_set(
        "and or but nor the an of to in with for from that because which whose if is are was were "
        "be been by as at on into than when while where whether its their your our any each every "
        "some not these those other via per plus including especially typically such will would "
        "should must can could may has have does do did"
    )
)
"""Words that do not end a sentence."""
_DANGLING = re.compile(
    r"(?:[,:;(\[{—–&=]|\s[-+/]"
    rf"|\b(?:{'|'.join((*_CONNECTIVES, *map(str.capitalize, _CONNECTIVES)))}|a"
    r"|it[’']s|there[’']s|e\.g\.?,?|i\.e\.?,?))[*_]*$"
)
_CLOSED = re.compile(r"(?:[.!?…。！？)\]}\"'”’»`|>]|\*\*|__)[*_]*$")
_FINISHED = re.compile(r"[.!?…。！？][\"'”’»)\]}`*_]*$")
_CITES = re.compile(r"[.!?”\"`*\w]\s*\([^()]*[/.`]\w[^()]*(?:\([^()]*\)[^()]*)*\)[*_]*$")
"""The text ends with a source in brackets."""
_ENDS_WITH_FILE = re.compile(r"\S*[/*]\S*\.[a-z][a-z0-9]{1,4}$")
_CODE = re.compile(r"`\0+`")
_OPEN_BOLD = re.compile(r"(?:^|[\s(])\*\*(?=[A-Za-z`“\"])(?![^\s*]*[*/])(?!.*?[\w.:)`”\"?!]\*\*)")
_LAST_WORD = re.compile(r"(?P<before>[^A-Za-z]?)(?P<word>[A-Za-z]+)$")
_WORD = re.compile(r"[A-Za-z]+")
_LETTER_LABEL = re.compile(
    r"(?:plan|option|step|type|case|class|part|variant|level|phase|appendix|=)\s*$", re.IGNORECASE
)
"""Words that a single letter may follow: `option B`."""
_NAMES_FILE = re.compile(r"[/`*()]|\w\.\w")
_HAS_VERB = re.compile(
    r"\b(?:is|are|was|were|would|will|can|could|should|may|please|attach|need|needs|shows?)\b",
    re.IGNORECASE,
)
_HEADINGS = (
    *("direct answer", "risks/unknowns", "risks and unknowns"),
    *("next smallest concrete experiment", "next experiment"),
    *("if evidence is insufficient", "missing evidence"),
)
_COMMON = word_set(
    "a about above across after again all also am an and any are as at back be been before "
    "being below best both but by call can case check code data day do does done down each end "
    "ever every exist exists few file files find first fix for found from get give go good had "
    "has have he her here him his how i if in into is it its just keep kind know last less let "
    "like list live long look made main make many may me mean mode more most move much must my "
    "name need needed never new next no none nor not note now of off old on once one only open "
    "or order other our out over own page part pass path per place plan point present put "
    "rather read real rest right root rule run same say see seen self set she should show shown "
    "side similar so some sort step still stop such sure take team test tests text than that "
    "the their them then there these they thing this those time to too tool top tree try two "
    "type under unit until up us use used user uses using value very via view want was way we "
    "well were what when where which while who why will wise with work works would yes yet you "
    "your"
)
"""Words that may end a sentence although longer words begin with them."""
_SHORT_NAMES = word_set(
    "db ui js ts go ci os io id py rs sh cd ls vs ok ux qa pr ip rg gh vm cs kt rb md ml ai"
)
"""Abbreviations of two letters."""
_TWO = 2
_LONGEST_END = 4_000
"""Characters at the end of the last line that are checked."""
_SENTENCE_WORDS = 4
"""A unit with fewer words is not taken for a sentence."""
_FEWEST_UNITS = 3
"""With fewer units there is no pattern to compare the last one with."""
_CHIP = re.compile(r"\+\d{1,3}|copy code|[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)+", re.IGNORECASE)
"""Captions that a chat page puts beside text: names of its sources, its buttons."""


class Cut(msgspec.Struct, frozen=True):
    """Why and where an answer counts as cut off."""

    reason: str
    line: int
    breaks_statement: bool = True
    """The last statement is incomplete; False when the answer stops between two of them."""


def find_cut(
    lines: Sequence[str],
    units: Sequence[Statement],
    lacking: Sequence[Section],
    context: str = "",
    *,
    ends_with_heading: bool = False,
) -> Cut | None:
    """Why an answer counts as cut off; None for a complete one.

    `lacking` are required sections without a heading. They count as cut off when they come after
    every section that the answer has.
    """
    end = len(lines)
    *_, (_, _, fence) = numbered((*lines, ""))
    if fence:
        return Cut("a code block is never closed", fence)
    last = lines[-1].rstrip()[-_LONGEST_END:]
    if not last.strip() or FENCE.match(last):
        return _missing_end(lacking, units, end)
    if ends_with_heading:
        return Cut("it ends with a heading and nothing below it", end, breaks_statement=False)
    if _CHIP.fullmatch(last.strip()):
        return _missing_end(lacking, units, end)
    reason = _broken_end(last, lines, units, context)
    if reason is not None:
        return Cut(reason, end)
    return _missing_end(lacking, units, end)


def _missing_end(lacking: Sequence[Section], units: Sequence[Statement], end: int) -> Cut | None:
    """A cut between two sections: the missing ones come after every existing one."""
    if not lacking or not units or lacking[-1] is not Section.MISSING_EVIDENCE:
        return None
    order = list(Section)
    last = max(order.index(unit.section) for unit in units)
    missing = [one for one in lacking if order.index(one) > last]
    if not missing:
        return None
    names = ", ".join(one.heading for one in missing)
    open_end = not _is_finished(units)
    return Cut(f"it stops before these sections: {names}", end, breaks_statement=open_end)


def _broken_end(
    last: str, lines: Sequence[str], units: Sequence[Statement], context: str
) -> str | None:
    if last.lstrip().startswith("|"):
        open_row = not last.endswith("|") and any(line.rstrip().endswith("|") for line in lines)
        return "its last table row is not finished" if open_row else None
    if _BARE_MARKER.match(last):
        return "it ends with an empty list item"
    if _is_part_of_heading(last):
        return "it ends inside a heading"
    if _has_unclosed_markup(last):
        return "its last line opens something it never closes"
    in_a_word = _DANGLING.search(last) or _is_broken_word(last, lines, context)
    is_short = in_a_word or _stops_short(last, units)
    return f"it ends in the middle of a sentence: …{last[-40:]}" if is_short else None


def _has_unclosed_markup(last: str) -> bool:
    """Whether the last line opens code, bold text or brackets and does not close them."""
    mask = masked(last)
    plain = mask.replace("\0", "x")
    if (
        "`" in _CODE.sub("", mask)
        or _OPEN_BOLD.search(plain)
        or plain.rfind("“") > plain.rfind("”")
    ):
        return True
    return not _is_closed(last) and bool(open_brackets(last))


def _is_part_of_heading(last: str) -> bool:
    """Whether the line is the beginning of a section heading."""
    text = last.strip(" #*_0123456789.)(").lower()
    return len(text) > _TWO and any(head.startswith(text) and head != text for head in _HEADINGS)


def _is_broken_word(last: str, lines: Sequence[str], context: str) -> bool:
    """Whether the last word is only the beginning of a word of the answer or the question."""
    match = _LAST_WORD.search(last)
    if match is None:
        return False
    word = match["word"]
    before = last[: match.start("word")]
    if len(word) == 1:
        alone = not before.strip(" -*•")
        is_label = word in "AI" or _LETTER_LABEL.search(before)
        return alone or (before.endswith(" ") and not is_label)
    if _ENDS_WITH_FILE.search(last):
        return False
    text = "\n".join((*lines[:-1], before, context))
    known = {one.lower() for one in _WORD.findall(text)}
    folded = word.lower()
    if folded in _COMMON or folded in known:
        return False
    if len(word) == _TWO and before.endswith(" ") and word.islower():
        return folded not in _SHORT_NAMES
    return any(one.startswith(folded) for one in known)


def _stops_short(last: str, units: Sequence[Statement]) -> bool:
    """Whether all sentences of the answer end with punctuation except the last one."""
    if _is_closed(last) or not units or not units[-1].text.rstrip().endswith(last.strip()):
        return False
    section = units[-1].section
    others = [one.text.rstrip() for one in units[:-1] if one.text.count(" ") >= _SENTENCE_WORDS - 1]
    if len(units[-1].text.split()) < _SENTENCE_WORDS or len(others) < _FEWEST_UNITS:
        return False
    closed = map(_is_closed, others)
    if section is Section.MISSING_EVIDENCE:
        same = [one.text.rstrip() for one in units[:-1] if one.section is section]
        if all(one.endswith(".") for one in same) and len(same) >= _FEWEST_UNITS:
            return True
        # A list of files needs no full stop; a sentence that names no file does.
        text = units[-1].text
        if _NAMES_FILE.search(text) or not _HAS_VERB.search(text):
            return False
    return all(closed)


def _is_finished(units: Sequence[Statement]) -> bool:
    """Whether the last unit ends like the others of its section: a full stop, or a source."""
    *others, last = (one.text.rstrip() for one in units if one.section is units[-1].section)
    if _FINISHED.search(last[-_TAIL:]) or last.endswith("|"):
        return True
    if open_brackets(last):
        return False
    if _CITES.search(last[-_LONGEST_CITATION:]):
        return True
    return _is_closed(last) and not all(_FINISHED.search(one[-_TAIL:]) for one in others)


def _is_closed(text: str) -> bool:
    """Whether a text ends with punctuation or closing markup."""
    return _CLOSED.search(text.rstrip()[-_TAIL:]) is not None


_TAIL, _LONGEST_CITATION = 20, 400
