"""What a model says about answers, and the rules that every word of it has to pass.

`actionize --ask` puts one question for each answer that states no work itself, then one over all
titles. A reply only chooses and labels: the text of a record is always a slice of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from oraclepack.answers.statements import body_lines
from oraclepack.answers.work_items import BEGIN, END, WorkItem, decoded, read_work
from oraclepack.run.question_pack import LONGEST_PROMPT, ModelQuestion
from oraclepack.system.digests import sha256_text
from oraclepack.system.printable import quantity
from oraclepack.work.backlog import AnsweredStep, AnswerPart, AskedReply
from oraclepack.work.compare import ComparedStatement, Proposal, Relation, about_the_same
from oraclepack.work.titles import CONTRAST
from oraclepack.work.work_pages import prompt_text

REPLIES = "asked.jsonl"
MODEL = "gpt-5.1"
"""Asked by default: what is wanted is copying, not thinking."""
_FEWEST_WORDS = 3
"""Of a quote: fewer stand in any answer."""
_ALIKE = 0.5
"""The share of words that two pieces of work without a common name must share to be related."""
_SKIPPED = "*`"
_SAME_SIGN = str.maketrans("‘’“”–—", "''\"\"--")
_PAIR = re.compile(r"(\d\d)-(\d\d+)")


class Quote(msgspec.Struct, frozen=True):
    """A quotation as it stands in a file of an answer."""

    path: str
    text: str
    first_line: int
    last_line: int


class AskedWork(msgspec.Struct, frozen=True):
    """What is left of a reply about one answer."""

    items: tuple[tuple[WorkItem, Quote], ...]
    verdict: str = ""
    rejected: tuple[str, ...] = ()


def read_replies(data: bytes | None) -> tuple[AskedReply, ...]:
    """The replies of a file; what cannot be read is left out, and its answer read by rules."""
    replies: list[AskedReply] = []
    for line in (data or b"").splitlines():
        try:
            replies.append(msgspec.json.decode(line, type=AskedReply))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
    return tuple(replies)


def answer_key(step: AnsweredStep) -> str:
    """What a reply about an answer is filed under."""
    parts = sorted(step.parts, key=lambda part: part.path)
    return sha256_text("\0".join(part.text for part in parts))


def about_answer(step: AnsweredStep) -> ModelQuestion | None:
    """The question about an answer; None where it does not fit into a prompt."""
    question = step.question.text or step.question.title
    answer = "\n\n".join(part.text.strip() for part in step.parts)
    prompt = prompt_text("ask-answer.md", question=_quoted(question), answer=_quoted(answer))
    if len(prompt.encode()) > LONGEST_PROMPT:
        return None
    return ModelQuestion(title=f"Read answer {step.question.step_id}", prompt=prompt)


def checked_work(step: AnsweredStep, reply: str) -> AskedWork | None:
    """The items of a reply whose quotes stand in the answer; None where it cannot be read."""
    stated = read_work(body_lines(reply.strip().split("\n")))
    if not stated.is_stated:
        stated = read_work(body_lines([BEGIN, *reply.split("\n"), END]))
    if not stated.is_stated:
        return None
    whole = "\n".join(part.text for part in step.parts)
    rejected = [message for _, message in stated.doubts]
    items: list[tuple[WorkItem, Quote]] = []
    retitled = 0
    for item in stated.items:
        quote = find_quote(item.quote, step.parts)
        if quote is None:
            said = item.quote or item.title
            rejected.append(f"the answer does not say: {said}")
            continue
        files = tuple(name for name in item.files if name in whole)
        rejected += [f"the answer names no file {name}" for name in item.files if name not in files]
        done_when = find_quote(item.done_when, step.parts)
        if item.done_when and done_when is None:
            rejected.append(f"the answer does not say: done when {item.done_when}")
        title = find_quote(item.title, [AnswerPart(quote.path, quote.text)])
        if title is None or len(CONTRAST.findall(quote.text)) != len(CONTRAST.findall(title.text)):
            title = None
            retitled += 1
        checked = msgspec.structs.replace(
            item,
            title=title.text if title is not None else quote.text,
            files=files,
            done_when=done_when.text if done_when is not None else "",
            evidence=(),
            after=(),
        )
        items.append((checked, quote))
    if retitled:
        rejected.append(f"{quantity(retitled, 'title')} not in the words of the answer")
    verdict = find_quote(stated.verdict, step.parts)
    return AskedWork(tuple(items), verdict.text if verdict else "", tuple(rejected))


def find_quote(quote: str, parts: Iterable[AnswerPart]) -> Quote | None:
    """A quotation as it stands in an answer.

    White space, emphasis and the sort of dashes and quotation marks may differ.
    """
    wanted, _ = _folded(quote)
    if len(wanted.split()) < _FEWEST_WORDS:
        return None
    for part in parts:
        folded, places = _folded(part.text)
        at = folded.find(wanted)
        if at >= 0:
            start, end = places[at], places[at + len(wanted) - 1] + 1
            start -= len(part.text[:start]) - len(part.text[:start].rstrip(_SKIPPED))
            end += len(part.text[end:]) - len(part.text[end:].lstrip(_SKIPPED))
            text = part.text[start:end]
            line = part.text.count("\n", 0, start) + 1
            return Quote(part.path, text, line, line + text.count("\n"))
    return None


def _folded(text: str) -> tuple[str, list[int]]:
    """The text with single spaces and without emphasis, and where each character of it stood."""
    signs: list[str] = []
    places: list[int] = []
    for place, sign in enumerate(text.translate(_SAME_SIGN)):
        if sign in _SKIPPED or (sign.isspace() and (not signs or signs[-1] == " ")):
            continue
        signs.append(" " if sign.isspace() else sign)
        places.append(place)
    while signs and signs[-1] == " ":
        signs.pop()
    return "".join(signs), places


def about_titles(lines: Sequence[str]) -> ModelQuestion | None:
    """The question over all titles; None where there is nothing to compare, or too much."""
    prompt = prompt_text("ask-titles.md", titles=_quoted("\n".join(lines)))
    answers = {line.partition("-")[0] for line in lines}
    if len(answers) < 2 or len(prompt.encode()) > LONGEST_PROMPT:
        return None
    return ModelQuestion(title="Compare the work of all answers", prompt=prompt)


def titles_key(lines: Sequence[str]) -> str:
    """What the reply over all titles is filed under."""
    return sha256_text("\n".join(lines))


def checked_pairs(
    reply: str, work: Mapping[tuple[str, int], ComparedStatement]
) -> tuple[tuple[Proposal, ...], tuple[str, ...]]:
    """The pairs of a reply that may be meant, and why the others are not.

    Both must be work of different answers, and name the same thing or share half of their words.
    """
    found = decoded(reply)
    if not isinstance(found, dict):
        return (), ("the reply over all titles is not JSON",)
    proposals: list[Proposal] = []
    rejected: list[str] = []
    for name, relation in (("same", Relation.DUPLICATE), ("conflict", Relation.CONFLICT)):
        for first, second in _pairs(found.get(name)):
            if first not in work or second not in work or first[0] == second[0]:
                rejected.append(f"no work of two answers: {_id(first)} and {_id(second)}")
            elif not _is_related(work[first], work[second]):
                rejected.append(f"nothing in common: {_id(first)} and {_id(second)}")
            else:
                proposals.append(Proposal(first, second, relation))
    return tuple(proposals), tuple(rejected)


def _pairs(value: object) -> Iterator[tuple[tuple[str, int], tuple[str, int]]]:
    """The pairs of lists of ids."""
    for group in value if isinstance(value, list) else ():
        words = [str(one) for one in group] if isinstance(group, list) else []
        ids = [match.groups() for word in words if (match := _PAIR.fullmatch(word.strip()))]
        for other in ids[1:]:
            yield (ids[0][0], int(ids[0][1])), (other[0], int(other[1]))


def _is_related(one: ComparedStatement, other: ComparedStatement) -> bool:
    common = one.words & other.words
    fewest = min(len(one.words), len(other.words))
    return about_the_same(one.evidence, other.evidence) or len(common) >= max(2, _ALIKE * fewest)


def _id(place: tuple[str, int]) -> str:
    return f"{place[0]}-{place[1]:02}"


def _quoted(text: str) -> str:
    """Text of others, every line marked, without what a prompt cannot hold."""
    lines = text.replace("\0", "\ufffd").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(f"> {line}".rstrip() for line in lines)
