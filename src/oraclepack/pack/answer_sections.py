"""The four parts of an answer, how they may be spelled, and whether a text has them."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import cache

import msgspec

from oraclepack.errors import UsageError


class Section(StrEnum):
    """One part of an answer, named as in file names: `01-surface-direct-answer.md`."""

    DIRECT_ANSWER = "direct-answer"
    RISKS_UNKNOWNS = "risks-unknowns"
    NEXT_EXPERIMENT = "next-experiment"
    MISSING_EVIDENCE = "missing-evidence"

    @property
    def heading(self) -> str:
        """How we write it ourselves."""
        return _HEADINGS[self]

    @property
    def wordings(self) -> tuple[str, ...]:
        """What names this section in a heading or a prompt, after `normalise`."""
        return SPELLINGS[self].anywhere


_HEADINGS = {
    Section.DIRECT_ANSWER: "Direct answer",
    Section.RISKS_UNKNOWNS: "Risks/unknowns",
    Section.NEXT_EXPERIMENT: "Next smallest concrete experiment",
    Section.MISSING_EVIDENCE: "Missing evidence",
}


class Spelling(msgspec.Struct, frozen=True):
    """How a section may be spelled, in lower case; where "and" or "or" stands, `/` or `&` may."""

    anywhere: tuple[str, ...]
    """Counts at the beginning of a line, and anywhere in a heading."""
    label: tuple[str, ...]
    """Counts as a whole heading, or at the beginning of a line before a colon or a dash."""
    alone: tuple[str, ...]
    """Counts as a heading and nothing else: many sentences begin with it."""
    translated: tuple[str, ...]
    """Labels that `actionize` reads and the contract does not accept: the prompt named the headings
    in English, and an answer in another language is doubtful."""
    translated_alone: tuple[str, ...] = ()
    """The same, for spellings with which many sentences begin."""


SPELLINGS = {
    Section.DIRECT_ANSWER: Spelling(
        anywhere=("direct answer",),
        label=(*("direct response", "short answer", "answer in short"),),
        alone=("answer", "the answer", "findings", "direct findings"),
        translated=(
            *("direkte antwort", "réponse directe", "respuesta directa", "resposta direta"),
            *("risposta diretta", "直接回答", "直接的な回答"),
        ),
        translated_alone=("antwort", "réponse", "respuesta", "resposta", "回答"),
    ),
    Section.RISKS_UNKNOWNS: Spelling(
        anywhere=("risks unknowns", "risks and unknowns"),
        label=(
            *("risks or unknowns", "unknowns and risks", "risk and unknowns"),
            *("risks and open questions", "open questions and risks", "risks and questions"),
            *("risks and uncertainties", "risks and uncertainty", "uncertainties and risks"),
            *("risks and caveats", "risks and limitations", "risks and assumptions"),
            *("unknowns and open questions", "open questions and unknowns"),
            *("key risks and open questions", "remaining risks and open questions"),
        ),
        alone=("risks", "key risks", "open risks", "unknowns", "open questions", "uncertainties"),
        translated=(
            *("risiken und unbekanntes", "unbekannte", "inconnues", "incógnitas", "incognite"),
            *("リスク", "不明点"),
        ),
        translated_alone=("risiken", "risques", "riesgos", "riscos", "rischi", "风险", "未知"),
    ),
    Section.NEXT_EXPERIMENT: Spelling(
        anywhere=("next smallest concrete experiment", "next experiment"),
        label=(
            *("next smallest experiment", "smallest next experiment", "next concrete experiment"),
            *("smallest concrete experiment", "smallest concrete next experiment"),
            *("smallest experiment", "next step or experiment", "next step and experiment"),
            *("next action or experiment", "next steps or experiment", "next steps and experiment"),
            *("next smallest step", "smallest next step", "next smallest concrete step"),
            *("smallest concrete next step", "next concrete step", "next smallest action"),
        ),
        alone=(
            *("next step", "next steps", "next action", "experiment", "proposed experiment"),
            *("suggested experiment", "recommended experiment"),
            *("recommended next step", "suggested next step", "proposed next step"),
        ),
        translated=(
            *("nächstes experiment", "nächstes kleinstes experiment", "prochaine expérience"),
            *("plus petite expérience", "próximo experimento", "siguiente experimento"),
            *("prossimo esperimento", "下一个实验", "次の実験", "次の一歩"),
        ),
        translated_alone=(
            *("nächster schritt", "prochaine étape", "siguiente paso", "próximo passo"),
            *("prossimo passo", "下一步"),
        ),
    ),
    Section.MISSING_EVIDENCE: Spelling(
        anywhere=("if evidence is insufficient", "missing evidence"),
        label=(
            *("if the evidence is insufficient", "evidence needed", "needed evidence"),
            *("evidence still needed", "additional evidence needed", "further evidence needed"),
            *("evidence gaps", "gaps in evidence", "gaps in the evidence"),
            *("missing file and path patterns", "missing file and path pattern"),
            *("missing files and evidence", "missing files or evidence"),
            *("files to attach next", "what to attach next", "evidence to attach next"),
        ),
        alone=(
            *("missing files", "missing inputs", "missing information", "missing context"),
            *("missing attachments", "insufficient evidence", "evidence missing", "attach next"),
        ),
        translated=(
            *("fehlende belege", "fehlende dateien", "fehlende nachweise", "wenn belege fehlen"),
            *("preuves manquantes", "fichiers manquants", "éléments manquants"),
            *("evidencia faltante", "evidencias faltantes", "archivos faltantes"),
            *("evidência ausente", "evidências em falta", "arquivos ausentes", "prove mancanti"),
            *("file mancanti", "缺失的证据", "缺少的证据", "缺失证据", "不足している証拠"),
        ),
    ),
}
"""The one table of spellings: `verify` demands them, `actionize` reads them, the docs show them."""

ALL_SECTIONS = tuple(Section)

_FOLDED = re.compile(r"[\W_]+")
FENCE = re.compile(r" {0,3}(?P<mark>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)")
"""The first or last line of a code block."""
_ATX = re.compile(r" {0,3}#{1,6}(?:[ \t]+(?P<text>.*))?$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*$")
_BOLD = re.compile(r"\s*(?:[-*+]\s+)?(?:\d{1,3}[.)]\s*)?(?P<mark>\*\*|__)(?P<text>.+?)(?P=mark)")
_LIST = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s")
_NUMBERED = re.compile(r"\s*\d{1,3}[.)]\s+(?P<text>.*)")
_NUMBER = re.compile(r"[\s*_]*\(?\d{1,2}\s*[.):、][\s*_]*")
_PARENTHESIS = re.compile(r"\s*(?:\([^()]{0,120}\)|\[[^\[\]]{0,120}\])(?=\W*$)")
_BULLET = re.compile(r"\s*(?:[-+•]\s+)?")
_QUOTED = re.compile(r"^ {0,3}(?:> ?)+")
_HTML_HEADING = re.compile(r"^\s*<h(?P<level>[1-6])>(?P<text>.*)</h(?P=level)>\s*$")
_MOST_IN_HEADING = 2
_LONGEST_HEADING = 300
"""Characters; a longer line is a paragraph."""
_AFTER = re.compile(
    r"[*_]{0,2}\s*(?:\([^)]{0,120}\)|\[[^\]]{0,120}\])?[*_]{0,2}"
    r"(?:\s*[:：]|\s*[—–]|\s+-(?=\s)|(?<=insufficient),|\s*$)[*_]{0,2}\s*"
)


def normalise(text: str) -> str:
    """Lower case, with every run of punctuation and spaces folded into one space."""
    return _FOLDED.sub(" ", unicodedata.normalize("NFKC", text).lower()).strip()


def mentions(folded: str, wordings: Iterable[str]) -> bool:
    """A normalised text holds one of the wordings.

    A wording begins where a word begins ("indirect answer" is none) but may be continued
    ("direct answers" is one).
    """
    padded = f" {folded}"
    return any(f" {wording}" in padded for wording in wordings)


def sections_named(folded: str) -> frozenset[Section]:
    return frozenset(section for section in Section if mentions(folded, section.wordings))


class SectionOpening(msgspec.Struct, frozen=True):
    """A line that opens a section."""

    section: Section
    spelling: str
    """The words that name it, normalised."""
    rest: str
    """What the line says after them."""


def opening_of(line: str, *, any_language: bool = False) -> SectionOpening | None:
    """The section that a line opens: its number, the section's name, then a mark or nothing.

    A spelling with which many sentences begin opens a section only if nothing follows it.
    """
    start = _NUMBER.match(line)
    rest = line[start.end() :] if start is not None else line.lstrip(" \t*_")
    for section, pattern in _openings(any_language=any_language):
        match = pattern.match(rest)
        after = _AFTER.match(rest, match.end()) if match is not None else None
        if match is None or after is None:
            continue
        words, label = normalise(match[0]), rest[after.end() :]
        if not label or words not in _alone():
            return SectionOpening(section, words, label)
    return None


def section_of_heading(text: str) -> Section | None:
    """The section that the whole of a heading names, whatever its number and its aside in brackets.

    `2) Risks and open questions (bullets):` is one; `Open questions of the last review` is none.
    """
    if len(text) > _LONGEST_HEADING:
        return None
    number = _NUMBER.match(text)
    plain = _PARENTHESIS.sub("", text[number.end() :] if number is not None else text)
    return _titles(any_language=False).get(normalise(plain))


class _Line(msgspec.Struct, frozen=True):
    """A heading or a label: a line that may begin with the name of a section."""

    position: int
    heading: str | None
    """The heading as it is written; None for a label."""
    sections: frozenset[Section]
    has_text: bool
    """Something follows the name on the same line."""


def sections_present(text: str, *, require_headings: bool = False) -> frozenset[Section]:
    """The sections a text has: named at the beginning of a line, with text after or under it.

    An answer that mentions a section in a sentence does not have it, nor does a list of names.
    """
    lines = _unwrapped(text)
    named = [line for line in _named_lines(lines) if line.sections]
    ends = [*(line.position for line in named[1:]), len(lines)]
    return frozenset(
        section
        for line, end in zip(named, ends, strict=False)
        if not (require_headings and line.heading is None)
        if line.has_text or any(map(_is_text, lines[line.position + 1 : end]))
        for section in line.sections
    )


def _unwrapped(text: str) -> list[str]:
    """The lines of an answer, also of one that is a quotation, HTML or one Markdown code block."""
    lines = [_HTML_HEADING.sub(r"## \g<text>", _QUOTED.sub("", line)) for line in text.splitlines()]
    said = [at for at, line in enumerate(lines) if line.strip()]
    fence = FENCE.match(lines[said[0]]) if said else None
    if fence is not None and fence["info"].strip().lower() in {"markdown", "md"}:
        closes = lines[said[-1]].strip() == fence["mark"]
        return lines[said[0] + 1 : said[-1] if closes else len(lines)]
    return lines


def _is_text(line: str) -> bool:
    """Whether a line says something: it has a word and is no heading."""
    return _ATX.match(line) is None and bool(normalise(line))


def missing_sections(
    text: str, required: Iterable[Section], *, require_headings: bool = False
) -> tuple[Section, ...]:
    """What is wanted and not there, in the order of the sections."""
    wanted = frozenset(required)
    if not wanted:
        return ()  # the text may be of any size then
    lacking = wanted - sections_present(text, require_headings=require_headings)
    return tuple(section for section in Section if section in lacking)


def headings(text: str) -> Iterator[str]:
    """The headings of an answer, normalised.

    ATX, underlined, a bold start, a numbered line, a line that names a section and nothing else.
    Lines inside code fences are none. A numbered line counts only when it begins with a section,
    since the items of any list look the same.
    """
    lines = _named_lines(text.splitlines())
    return (normalise(line.heading) for line in lines if line.heading is not None)


def _named_lines(lines: Sequence[str]) -> Iterator[_Line]:
    """The lines that are headings or labels, with the sections that they name."""
    plain = ["" if block else line for _, line, block in numbered(lines)]
    for position, line in enumerate(plain):
        following = plain[position + 1] if position + 1 < len(plain) else ""
        opened = opening_of(_BULLET.sub("", line, count=1))
        has_text = opened is not None and bool(normalise(opened.rest))
        if (marked := _ATX.match(line)) is not None:
            heading = marked["text"] or ""
            yield _Line(position, heading, _sections_of_title(heading), has_text)
        elif (marked := _BOLD.match(line)) is not None:
            after = bool(normalise(_PARENTHESIS.sub("", line[marked.end() :])))
            yield _Line(position, marked["text"], _sections_of_lead(marked["text"]), after)
        elif normalise(line) and _UNDERLINE.match(following):
            yield _Line(position, line, _sections_of_title(line), has_text)
        elif (item := _NUMBERED.match(line)) is not None and _sections_of_lead(item["text"]):
            yield _Line(position, item["text"], _sections_of_lead(item["text"]), has_text)
        elif _stands_apart(plain, position) and is_bare_heading(line):
            yield _Line(position, line, _sections_of_lead(line), has_text)
        elif opened is not None and (has_text or opened.spelling not in _alone()):
            yield _Line(position, None, frozenset((opened.section,)), has_text)


def _sections_of_title(heading: str) -> frozenset[Section]:
    """The sections that a heading names: one or two; a heading with more lists what was asked."""
    named = sections_named(normalise(heading)) or _sections_of_lead(heading)
    return named if len(named) <= _MOST_IN_HEADING else frozenset()


def _sections_of_lead(text: str) -> frozenset[Section]:
    """The section that a bold lead or a numbered line begins with, or names as a whole."""
    words = normalise(text).removeprefix("the ")
    begun = [section for section in Section if words.startswith(section.wordings)]
    whole = section_of_heading(text)
    return frozenset(begun if whole is None else (whole,))


def _stands_apart(lines: Sequence[str], position: int) -> bool:
    """An empty line, or none, before and after it; a list may follow at once."""
    before = lines[position - 1] if position else ""
    after = lines[position + 1] if position + 1 < len(lines) else ""
    return not before.strip() and (not after.strip() or _LIST.match(after) is not None)


def is_bare_heading(line: str) -> bool:
    """A line without any mark that names a section, as a page of a chat shows headings.

    A single word needs a mark: too many lines are one.
    """
    text = line.strip()
    if not text or text[0].islower() or not text[0].isalnum():
        return False
    opened = opening_of(text)
    if opened is None:
        return False
    wants_evidence = opened.spelling.endswith("evidence is insufficient")
    return " " in opened.spelling and (wants_evidence or not opened.rest)


def numbered(lines: Iterable[str]) -> Iterator[tuple[int, str, int]]:
    """Each line with its number, and that of the line which opens its code block; 0 for none."""
    fence, opened = "", 0
    for number, line in enumerate(lines, start=1):
        mark = FENCE.match(line)
        if mark is not None and not opened:
            fence, opened = mark["mark"], number
            yield number, line, opened
            continue
        yield number, line, opened
        if mark is not None and mark["mark"].startswith(fence) and not mark["info"].strip():
            opened = 0


def _variants(words: str) -> Iterator[str]:
    """A spelling, and the same with a mark where a word joins two names."""
    yield words
    for joint in (" and ", " or "):
        if joint in words:
            yield words.replace(joint, " ", 1)


@cache
def _titles(*, any_language: bool) -> dict[str, Section]:
    """Every spelling, normalised and longest first, with its section."""
    pairs = {
        normalise(variant): section
        for section, one in SPELLINGS.items()
        for words in (
            *(*one.anywhere, *one.label, *one.alone),
            *((*one.translated, *one.translated_alone) if any_language else ()),
        )
        for variant in _variants(words)
    }
    return dict(sorted(pairs.items(), key=lambda pair: (-len(pair[0]), pair[0])))


@cache
def _alone() -> frozenset[str]:
    every = SPELLINGS.values()
    return frozenset(normalise(w) for one in every for w in (*one.alone, *one.translated_alone))


@cache
def _openings(*, any_language: bool) -> tuple[tuple[Section, re.Pattern[str]], ...]:
    """For each section the beginning of a line that may open it, the longest spelling first."""
    # Words may be joined by any punctuation: `Risks / unknowns`.
    loose = [
        (section, r"[\W_]+".join(map(re.escape, title.split())))
        for title, section in _titles(any_language=any_language).items()
    ]
    choices = {section: "|".join(one for of, one in loose if of is section) for section in Section}
    return tuple(
        (section, re.compile(rf"(?:{choice})(?!\w)", re.IGNORECASE))
        for section, choice in choices.items()
    )


NOTICE = "This is a rehearsal: no model was asked, and nothing here is an answer."


def is_rehearsed(text: str) -> bool:
    """Whether oraclepack wrote this text in a rehearsal, or something was made of such a text.

    In prose the notice must be a line of its own outside of code blocks: a real answer about
    oraclepack may quote it.
    """
    if NOTICE not in text:
        return False
    if text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return True
    lines = numbered(text.splitlines())
    return any(not block and line.strip() == NOTICE for _, line, block in lines)


def refuse_export(*, allowed: bool) -> None:
    """Rehearsed answers are not exported to a tracker, unless that is requested."""
    if not allowed:
        raise UsageError(
            "--export: these answers come from a rehearsal, in which no model was asked",
            hint="leave --export out, or add --allow-rehearsal to export them marked as such",
        )
