"""Questions that a model writes: one question to it through Stage 2, and rules for what comes back.

The model gets a survey of the repository, the demands of `ask.md` and the central files. Of its
reply only words and scores are taken over. Quoted lines are looked up in the commit and copied
from there, and what fails a check is dropped with the reason.
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path

import msgspec

from oraclepack.answers.work_items import decoded
from oraclepack.authoring.file_roles import FileRole
from oraclepack.authoring.generation import DroppedQuestion
from oraclepack.authoring.question_candidate import (
    FEWEST_EVIDENCE,
    MOST_EVIDENCE,
    Place,
    QuestionCandidate,
    QuestionText,
    on_one_line,
)
from oraclepack.authoring.question_selection import (
    QuestionLimits,
    QuestionScore,
    SelectedQuestion,
    in_order,
    is_within,
    own_lines,
)
from oraclepack.authoring.repository_survey import RepositorySurvey
from oraclepack.lint.quoted_evidence import agrees
from oraclepack.pack.model import CATEGORIES
from oraclepack.pack.output_names import slug
from oraclepack.run.question_pack import ModelQuestion

_PROMPT = Path(__file__).parent / "ask.md"
_MOST_FILES_SENT = 16
_MOST_BYTES_SENT = 240_000
"""Of central files: about 60,000 tokens."""
_LONGEST_TEXT = 2_000
_ALIKE = 0.85
_FEWEST_LETTERS = 4
"""In a quoted line: a bracket alone is evidence for nothing."""
_OPEN = re.compile(
    r"(?:^|[,;:(]|\b(?:and|or|then|but)\b)\s*(?:(?:in|on|at|by|for|from|to|under|of|after|with) )?"
    r"(?:(?:which|what|who|whose|whom|why|how)\b"
    r"|(?:when|where) (?:is|are|do|does|did|can|could|will|would|should|has|have|was|were)\b)",
    re.IGNORECASE,
)
"""A clause that asks for more than yes or no. "When it fails, …" only says when."""
_NAME = re.compile(r"\w[_.(/:]|\d")
"""A name from the code: the same words about another one are another question."""
_SENTENCE = re.compile(r"[^.!?]*\?")
_OPENING = re.compile(r"[`~#\s]+")
"""What would begin a fence or a header, at the beginning of a line."""


class ProposedLine(msgspec.Struct, frozen=True):
    """A line that the model says it has read."""

    path: str
    line: int
    text: str


class ProposedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One question of a reply, before it is checked."""

    question: str
    good: str
    why: str
    category: str
    reference: str
    evidence: tuple[ProposedLine, ...]
    attachments: tuple[str, ...] = ()
    impact: int
    confidence: float
    effort: int
    id: str = ""


def question_to_model(
    survey: RepositorySurvey, brief: str, limits: QuestionLimits, wishes: str
) -> ModelQuestion:
    """What the model is asked, and the central files that go with it."""
    text = _PROMPT.read_text(encoding="utf-8")
    values = {
        "count": str(limits.count),
        "categories": ", ".join(CATEGORIES),
        "fewest": str(FEWEST_EVIDENCE),
        "most": str(MOST_EVIDENCE),
        "files": str(limits.max_files),
        "wishes": wishes,
        "brief": brief,
    }
    for name, value in values.items():
        text = text.replace(f"<<{name}>>", value)
    return ModelQuestion(
        title="Write questions about this repository",
        prompt=text,
        files=tuple(_files_to_send(survey)),
    )


def _files_to_send(survey: RepositorySurvey) -> Iterator[str]:
    """Central files, those that changed first; within limits of number and size."""
    left = _MOST_BYTES_SENT
    changed = survey.changes.files if survey.changes is not None else {}
    ranked = sorted(survey.central, key=lambda path: path not in changed)
    if not ranked:
        ranked = [path for path, file in survey.files.items() if file.role is FileRole.DOC]
    for path in ranked[:_MOST_FILES_SENT]:
        if survey.files[path].size <= left:
            left -= survey.files[path].size
            yield path


def checked_questions(
    survey: RepositorySurvey, reply: str, limits: QuestionLimits
) -> tuple[list[SelectedQuestion], list[DroppedQuestion]]:
    """The questions of a reply that pass every check, by ROI; and the others, with reasons."""
    data = decoded(reply)
    items = data.get("questions") if isinstance(data, dict) else data
    if not isinstance(items, list):
        return [], [DroppedQuestion("", "the reply is no JSON with questions")]
    taken: list[SelectedQuestion] = []
    dropped: list[DroppedQuestion] = []
    for item in items:
        said = on_one_line(str(item.get("question", "")))[:160] if isinstance(item, dict) else ""
        try:
            proposed = msgspec.convert(item, ProposedQuestion, strict=False)
        except (msgspec.ValidationError, RecursionError) as fault:
            dropped.append(DroppedQuestion(said, f"not in the form that was asked for: {fault}"))
            continue
        checked = _checked(survey, proposed, limits)
        if isinstance(checked, SelectedQuestion):
            checked = _again(survey, checked, taken) or checked
        if isinstance(checked, str):
            dropped.append(DroppedQuestion(said, checked))
        elif len(taken) == limits.count:
            dropped.append(DroppedQuestion(said, f"there are {limits.count} already"))
        else:
            taken.append(checked)
    return in_order(taken), dropped


def _checked(
    survey: RepositorySurvey, proposed: ProposedQuestion, limits: QuestionLimits
) -> SelectedQuestion | str:
    """The question as it would be asked, or why it is not."""
    question, good, why = map(_plain, (proposed.question, proposed.good, proposed.why))
    reason = next(_faults(survey, proposed, question, good, why), None)
    if reason is not None:
        return reason
    places = [_place_of(survey, line) for line in proposed.evidence[:MOST_EVIDENCE]]
    evidence = tuple(dict.fromkeys(place for place in places if isinstance(place, Place)))
    candidate = QuestionCandidate(
        key=slug(proposed.id)[:40] or "question",
        subject=_subject(survey, proposed.reference, evidence),
        reference=proposed.reference,
        question=question,
        evidence=evidence,
        text=QuestionText(proposed.category, question, good.rstrip("."), why.rstrip(".")),
    )
    attached = tuple(dict.fromkeys((*candidate.paths, *proposed.attachments)))
    if len(attached) > limits.max_files:
        return f"it needs {len(attached)} files; {limits.max_files} may be attached"
    related = {*candidate.paths, *_related(survey, candidate.reference)}
    stray = next((path for path in attached if path not in related), None)
    if stray is not None:
        return f"{stray} is neither a neighbour of {candidate.reference} nor its test"
    if not is_within(survey, candidate, limits):
        return "it is about something else than --focus or --since name"
    confidence = round(proposed.confidence * 100)
    score = QuestionScore(proposed.impact, confidence, proposed.effort, "as the model scored it")
    return SelectedQuestion(candidate, score, attached)


def _faults(survey: RepositorySurvey, proposed: ProposedQuestion, *texts: str) -> Iterator[str]:
    """What is wrong with the words, the scores, the files and the quoted lines of a question."""
    if not all(texts) or max(map(len, texts)) > _LONGEST_TEXT:
        yield f"question, good and why need text, of at most {_LONGEST_TEXT} characters"
    if not any(_OPEN.search(sentence.strip()) for sentence in _SENTENCE.findall(texts[0])):
        yield "yes or no would answer it"
    if proposed.category not in CATEGORIES:
        yield f"there is no category {on_one_line(proposed.category)[:60]!r}"
    scores = (proposed.impact, 1, 10), (proposed.confidence, 0.1, 0.95), (proposed.effort, 1, 5)
    if not all(low <= value <= high for value, low, high in scores):
        yield "a score is out of its range"
    for path in (proposed.reference, *proposed.attachments):
        if path not in survey.files:
            yield _no_file(path)
    places = [_place_of(survey, line) for line in proposed.evidence[:MOST_EVIDENCE]]
    yield from (place for place in places if isinstance(place, str))
    if len({*places}) < FEWEST_EVIDENCE:
        yield f"it quotes fewer than {FEWEST_EVIDENCE} lines"
    if all(line.path != proposed.reference for line in proposed.evidence[:MOST_EVIDENCE]):
        yield f"it quotes no line of its reference {proposed.reference}"


def _no_file(path: str) -> str:
    """The survey holds what may be attached: tracked text files whose names hint at no secret."""
    return f"{on_one_line(path)[:120]} is no file that can be attached"


def _place_of(survey: RepositorySurvey, line: ProposedLine) -> Place | str:
    """Where the quoted line is, or why it is no evidence.

    Models count lines badly: words that are in one line only decide against the number.
    """
    if line.path not in survey.files:
        return _no_file(line.path)
    file = survey.files[line.path]
    numbers = [n for n, text in enumerate(file.lines, 1) if agrees(line.text, text)]
    number = line.line if line.line in numbers else numbers[0] if len(numbers) == 1 else 0
    quoted = on_one_line(line.text)[:80]
    if sum(map(str.isalnum, line.text)) < _FEWEST_LETTERS:
        return f"the quoted line says nothing: {quoted}"
    if not number:
        return f"{line.path}:{line.line} does not say: {quoted}"
    if file.source is not None and number in file.source.prose:
        return f"it quotes a comment: {quoted}"
    return Place(line.path, number)


def _subject(survey: RepositorySurvey, path: str, places: Sequence[Place]) -> str:
    source = survey.files[path].source
    around = source.around(next(p.line for p in places if p.path == path)) if source else None
    return source.qualified(around) if source is not None and around is not None else ""


def _related(survey: RepositorySurvey, path: str) -> set[str]:
    """What may be attached beside the quoted files: neighbours by import, and tests."""
    return {*survey.graph.imports.get(path, ()), *survey.importers(path), *survey.tests_of(path)}


def _again(
    survey: RepositorySurvey, one: SelectedQuestion, taken: Sequence[SelectedQuestion]
) -> str | None:
    """Whether a question repeats another: nearly the same words, or mostly the same lines."""
    words, lines = one.candidate.question.split(), own_lines(survey, one.candidate)
    for number, other in enumerate(taken, 1):
        others = other.candidate.question.split()
        is_alike = SequenceMatcher(None, words, others).ratio() >= _ALIKE
        is_alike = is_alike and {*filter(_NAME.search, words)} == {*filter(_NAME.search, others)}
        if is_alike or 2 * len(lines & own_lines(survey, other.candidate)) > len(lines):
            return f"it repeats question {number} of the reply that passed"
    return None


def _plain(text: str) -> str:
    """Words of the model on one line, which no fence, header or delimiter can begin."""
    return (
        _OPENING.sub("", on_one_line(text), count=1) if _OPENING.match(text) else on_one_line(text)
    )
