"""The items of a section → points: what each asks for, what it tells, and on what evidence."""

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from oraclepack.system.markdown_text import code_spans, in_backquotes
from oraclepack.work.answer_items import AnswerItem, walk
from oraclepack.work.citations import check
from oraclepack.work.comparison_words import word_set
from oraclepack.work.evidence import NO_EVIDENCE, Evidence, QuestionFile, find_evidence, united
from oraclepack.work.intent import OPENERS, cannot_tell, is_action, says_no_action, says_nothing

LONGEST_TITLE = 110
LONGEST_NOTE = 400

_CODE = re.compile(r"`[^`]*`")
_SHORTENED = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|cf|approx|z\.\s?B|bzw|ca|d\.\s?h|p\.\s?ex|No|Nr)\.", re.IGNORECASE
)
_END = re.compile(r"(?<=[.!?])[\"”’)]?\s+(?=[^\Wa-z_]|[`\"“(])|(?<=[。！？])")
_HALF = re.compile(r"(?<=;)\s+")
_LABEL = re.compile(
    r"(?:fix|action|todo|recommendation|mitigation|suggestion|suggested fix|proposed fix|"
    r"next step)\s*[:：—–]\s*",
    re.IGNORECASE,
)
_HIDDEN = "\x01"
"""Stands for a character that must not end a sentence; it is in no cleaned text."""


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text. A part after a semicolon is one of its own when it is a request."""
    hidden = _CODE.sub(lambda m: re.sub(r"[.!?;\s]", _hide, m[0]), text)
    hidden = _SHORTENED.sub(lambda m: re.sub(r"[.\s]", _hide, m[0]), hidden)
    found: list[str] = []
    for part in _END.split(hidden):
        pieces = _HALF.split(part)
        for piece in pieces:
            said = _shown(piece).strip()
            if found and piece is not pieces[0] and not is_action(said):
                found[-1] = f"{found[-1]} {said}"
            elif said:
                found.append(said)
    return tuple(found)


def _hide(match: re.Match[str]) -> str:
    return f"{_HIDDEN}{ord(match[0])}{_HIDDEN}"


def _shown(text: str) -> str:
    return re.sub(rf"{_HIDDEN}(\d+){_HIDDEN}", lambda m: chr(int(m[1])), text)


def title_of(text: str, longest: int = LONGEST_TITLE) -> str:
    """A line that names a piece of work."""
    bare = _LABEL.sub("", text.strip(), count=1).rstrip(" .;:,。")
    opener = OPENERS.match(bare)
    bare = bare[opener.end() :] if opener is not None and is_action(text) else bare
    return cut(bare[:1].upper() + bare[1:], longest)


def cut(text: str, longest: int = LONGEST_NOTE) -> str:
    """A text of at most that length, cut between words and never inside code."""
    if len(text) <= longest:
        return text
    short = text[: longest - 1]
    for start, end, _ in code_spans(text[: 2 * longest]):
        if start < len(short) < end:
            short = short[:start]
    words = short.rsplit(" ", 1)[0] if " " in short.strip() else short
    return f"{words.rstrip(' ,;:(')}…"


ACTION_COLUMNS = word_set(
    "action fix recommendation mitigation change todo remedy task proposal maßnahme "
    "empfehlung correction recommandation acción recomendación azione"
)
"""Heads of table columns whose cells are requests."""


class Point(msgspec.Struct, frozen=True):
    """One item of an answer, understood."""

    evidence: Evidence
    actions: tuple[str, ...] = ()
    tells: tuple[str, ...] = ()
    """Its sentences that ask for nothing."""
    shrugs: bool = False
    """It says that the evidence does not answer the question."""
    waves: bool = False
    """It says that there is nothing to do."""


class ItemReader:
    """Reads the items of one answer, whose citations are judged by what was attached to it."""

    def __init__(
        self, attached: Mapping[str, QuestionFile] | None, *, complete: bool = True
    ) -> None:
        self._attached = attached
        self._complete = complete

    def evidence(self, item: AnswerItem) -> Evidence:
        """What an item itself names."""
        found = find_evidence(item.text, item.links, item.commands)
        return check(found, self._attached, complete=self._complete)

    def whole_evidence(self, item: AnswerItem) -> Evidence:
        """What an item and everything below it names."""
        return united(self.evidence(one) for one in walk([item]))

    def points(
        self, items: Iterable[AnswerItem], context: Evidence = NO_EVIDENCE
    ) -> Iterator[Point]:
        """The points of some items; what stands below an item speaks of its evidence too."""
        for item in items:
            said, asked = _split(item)
            if not said and not asked and not item.children:
                continue
            own = self.evidence(item)
            if any(map(cannot_tell, said + asked)):
                below = [text for child in walk(item.children) for text in sentences(child.text)]
                yield Point(self.whole_evidence(item), asked, (*said, *below), shrugs=True)
            elif asked and item.done is not True:
                yield self._request(item, said, asked, context)
            else:
                waves = any(map(says_no_action, said))
                yield Point(own if own.paths else united((own, context)), (), said, waves=waves)
                yield from self.points(item.children, own or context)

    def _request(
        self, item: AnswerItem, said: tuple[str, ...], asked: tuple[str, ...], context: Evidence
    ) -> Point:
        actions, tells = list(asked), list(said)
        for child in walk(item.children):
            more_said, more_asked = _split(child)
            actions += more_asked
            tells += more_said
        evidence = self.whole_evidence(item)
        if not evidence.paths:
            evidence = united((evidence, context))
        return Point(evidence, tuple(actions), tuple(tells))


def _split(item: AnswerItem) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What an item tells and what it asks for."""
    if item.cells:
        return _split_row(item)
    if says_nothing(item.text):
        return (), ()
    parts = sentences(item.text)
    asked = tuple(part for part in parts if is_action(part) and not part.endswith(":"))
    if item.done is False and not asked:
        asked = parts[:1]
    said = tuple(part for part in parts if part not in asked and _tells(part))
    if not asked and is_action(item.text.rstrip(":")) and not item.children:
        shown = ", ".join(in_backquotes(command) for command in item.commands)
        return (), (f"{item.text} {shown}".strip(),)
    if item.text.endswith(":") and is_action(parts[-1].rstrip(":")):
        asked = (*asked, parts[-1].rstrip(":"))
    return said, asked


def _tells(sentence: str) -> bool:
    """It is more than a label: "Eviction." and "In detail:" tell nothing."""
    return not sentence.endswith(":") and (" " in sentence.strip() or not sentence.isascii())


def _split_row(item: AnswerItem) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of a table row the cell that asks: the one under "Action", else one that reads so."""
    wanted = [
        cell
        for head, cell in item.cells
        if cell
        and not ACTION_COLUMNS.isdisjoint(head.lower().split())
        and not says_nothing(cell)
        and not says_no_action(cell)
    ]
    wanted = wanted or [cell for _, cell in item.cells if is_action(cell)]
    rest = [(head, cell) for head, cell in item.cells if cell and cell not in wanted]
    told = "; ".join(f"{head}: {cell}" if head else cell for head, cell in rest)
    return ((told,) if told else ()), tuple(wanted)
