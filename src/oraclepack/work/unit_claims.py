"""What a unit of an answer is: a change, a finding, an experiment, or only something said.

A change says what to do; a finding says what is wrong and leaves the change open. Everything else
is context. The rules look at the grammar of the statement (its mood, its modal verbs, the label in
front of it, negation) and at general words for defects; they know nothing about a subject.
"""

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum

import msgspec

from oraclepack.answers.sentences import masked, sentence_spans
from oraclepack.work.claim_words import (
    ADVICE,
    ADVICE_LABEL,
    ANY_WORD,
    ASKS_FOR_ADVICE,
    BY_DESIGN,
    CITES,
    CLAUSE,
    CONDITIONAL,
    CONSEQUENCE,
    CONTRAST,
    DEFECT,
    DESCRIBES,
    DESCRIBES_LABEL,
    ENGLISH,
    EVIDENCE,
    FEWEST_CLAUSE_WORDS,
    FINITE_VERB,
    GERUND,
    HEDGED,
    IS_ONLY,
    LABEL,
    LAST_LATIN,
    LEADING_CONDITION,
    MODAL,
    MOST_LABEL_WORDS,
    MUST,
    NEGATED_DEFECT,
    NEGATED_DEMAND,
    NEGATED_POSITIVE,
    NEGATION,
    NO_CHANGE_NEEDED,
    ONLY,
    OTHER_LANGUAGES,
    POSITIVE,
    QUOTED,
    REASON_OR_CONDITION,
    REJECTED_INPUT,
    SUBORDINATE,
    TRAILING_CONTRAST,
    TRAILING_PARENTHESIS,
    UNVERIFIED,
    YES_OR_NO,
)
from oraclepack.work.imperatives import opener_end, starts_imperative


class UnitClaim(StrEnum):
    """What a unit says."""

    CHANGE = "change"
    FINDING = "finding"
    FACT = "fact"


class ClaimText(msgspec.Struct, frozen=True):
    """A unit without its evidence."""

    text: str
    """What is claimed, verbatim."""
    evidence: str
    """Its evidence, verbatim."""
    lead: str
    """The first sentence, code blanked out, without its label and its yes or no."""
    label: str
    """The words before the first colon of the lead."""
    reply: str
    """`yes`, `no` or nothing."""

    def without_reply(self, sentence: str) -> str:
        """A sentence of it without the yes or no at its beginning."""
        match = YES_OR_NO.match(masked(sentence)) if self.reply else None
        return sentence[match.end() :] if match is not None else sentence


def claim_text_of(text: str) -> ClaimText:
    """A unit taken apart: claim and evidence, first sentence, label, yes or no."""
    mask = masked(text)
    match = next(
        (m for m in EVIDENCE.finditer(mask) if m.start() > _LEAST_CLAIM or not m.start()), None
    )
    end = match.start() if match is not None else len(text)
    parenthesis = TRAILING_PARENTHESIS.search(mask[:end])
    if (
        parenthesis is not None
        and parenthesis.start() > _LEAST_CLAIM
        and CITES.match(text, parenthesis.start("inside"))
    ):
        end = parenthesis.start()
    claim, evidence = text[:end].rstrip(), text[end:].strip()
    spans = list(sentence_spans(claim)) or [(0, 0)]
    first = mask[spans[0][0] : spans[0][1]]
    reply = YES_OR_NO.match(first)
    rest = first[reply.end() :] if reply is not None else first
    label = LABEL.match(rest)
    if reply is not None and not rest.strip("*_ ") and len(spans) > 1:
        rest = mask[spans[1][0] : spans[1][1]]
        label = LABEL.match(rest)
    return ClaimText(
        claim,
        evidence,
        lead=rest,
        label=label["label"] if label is not None else "",
        reply=_word(reply["word"]) if reply is not None else "",
    )


_LEAST_CLAIM, _LEAST_WORDS = 8, 3
_SURE = 2


def _word(reply: str) -> str:
    folded = reply.lower()
    return folded if folded in {"yes", "no"} else "partly"


def claim_of(
    statement: ClaimText, *, asks_for_advice: bool, recommends: bool, in_risks: bool = False
) -> UnitClaim:
    """What a unit of a direct answer, or of the risks, says.

    `asks_for_advice` is about the question, `recommends` about the answer as a whole.
    """
    if _is_only_evidence(statement) or NO_CHANGE_NEEDED.search(statement.lead):
        return UnitClaim.FACT
    says_little = len(statement.text.split()) < _LEAST_WORDS
    if in_risks:
        # Where a change is recommended, its risks are those of the change, not defects of today.
        is_finding = not (recommends or says_little) and _is_plain_defect(statement)
        return UnitClaim.FINDING if is_finding else UnitClaim.FACT
    if is_change(statement, asks_for_advice=asks_for_advice or recommends):
        return UnitClaim.CHANGE
    is_about_doing = recommends and _is_about_doing(statement)
    is_finding = is_defect(statement) and not (says_little or is_about_doing)
    return UnitClaim.FINDING if is_finding else UnitClaim.FACT


def is_change(statement: ClaimText, *, asks_for_advice: bool) -> bool:
    """The unit says what to do."""
    lead = statement.lead
    if starts_imperative(lead) or (_main_modal(lead) and not UNVERIFIED.search(lead)):
        return True
    if not asks_for_advice or UNVERIFIED.search(lead):
        return False
    if _main_modal(lead, MUST):
        return True
    label = statement.label
    if _is_noun(label) and ADVICE_LABEL.search(label) and not DESCRIBES.search(label):
        return True
    if lead.lower().lstrip("*_ ").startswith(("if you", "without ")):
        return False
    starts_so = any(map(starts_imperative, _clauses(lead)))
    return starts_so or bool(ADVICE.search(lead)) or _later_advice(statement)


def imperative_clauses(statement: ClaimText) -> Iterator[str]:
    """The clauses of a statement that say what to do, verbatim up to the end of their sentence."""
    text = statement.text
    mask = masked(text)
    for start, end in sentence_spans(text):
        reply = YES_OR_NO.match(mask[start:end]) if start == 0 else None
        at = start + (reply.end() if reply is not None else 0)
        starts = [at, *(at + match.end() for match in CLAUSE.finditer(mask[at:end]))]
        for begin in starts:
            clause = mask[begin:end]
            if not starts_imperative(clause):
                continue
            yield text[begin + opener_end(clause) : end]


def asks_for_work(clause: str) -> bool:
    """Whether a clause by itself says what to do, or what should or must be."""
    mask = masked(clause)
    return starts_imperative(mask) or _main_modal(mask) or _main_modal(mask, MUST)


def gives_advice(statements: Iterable[ClaimText]) -> bool:
    """Whether an answer recommends: one of its units says outright what to do."""
    return any(is_change(one, asks_for_advice=False) for one in statements)


def asks_for_change(question: str) -> bool:
    """Whether a question asks what to do: it says so itself, or asks what should be."""
    text = question.strip()
    return bool(ASKS_FOR_ADVICE.search(text)) or starts_imperative(masked(text))


def is_english(text: str) -> bool:
    """Whether the rules of this module apply: they know no other language."""
    words = [word.lower() for word in ANY_WORD.findall(masked(text))]
    if any(word > LAST_LATIN for word in words):
        return False
    other = sum(word in OTHER_LANGUAGES for word in words)
    return other < _SURE or other < sum(word in ENGLISH for word in words)


def is_undecided(statement: ClaimText) -> bool:
    """It only says that nothing can be said."""
    return bool(UNVERIFIED.search(statement.lead))


def is_negated(clause: str) -> bool:
    """Whether a clause turns around what it asks for: `must not fail`, `do not add`."""
    return bool(NEGATED_DEMAND.search(clause))


def _later_advice(statement: ClaimText) -> bool:
    """A later sentence begins with what to do."""
    mask = masked(statement.text)
    spans = list(sentence_spans(statement.text))[1:3]
    return any(starts_imperative(mask[start:end]) for start, end in spans)


def is_defect(statement: ClaimText) -> bool:
    """The lead says that something is wrong or lacking."""
    claim = _core(statement)
    is_label = len(statement.label.split()) < FEWEST_CLAUSE_WORDS
    if UNVERIFIED.search(claim) or (is_label and DESCRIBES_LABEL.search(statement.label)):
        return False
    if statement.reply in {"no", "partly"}:
        return True
    if BY_DESIGN.search(statement.lead):
        return False
    is_yes = statement.reply == "yes"
    return any(_says_defect(part, replied=is_yes) for part in claim.split(";")) or (
        not is_yes and _has_bad_consequence(statement)
    )


def _has_bad_consequence(statement: ClaimText) -> bool:
    """What follows from the claim is wrong: `…, so a crash loses the job`."""
    match = CONSEQUENCE.search(QUOTED.sub(" ", statement.lead))
    if match is None or POSITIVE.search(_core(statement)):
        return False
    consequence = REASON_OR_CONDITION.sub("", match["text"])
    is_bad = bool(DEFECT.search(NEGATED_DEFECT.sub(" ", consequence)))
    return is_bad and not (HEDGED.search(consequence) or POSITIVE.search(consequence))


def defect_clause(statement: ClaimText) -> str:
    """The part of the lead that says what is wrong, code blanked out; empty for its beginning."""
    first, *later = statement.lead.split(";")
    if _says_defect(REASON_OR_CONDITION.sub("", first), replied=False):
        return ""
    parts = (LEADING_CONDITION.sub("", part.lstrip(), count=1) for part in later)
    cores = ((part, REASON_OR_CONDITION.sub("", part)) for part in parts)
    return next((part for part, core in cores if _says_defect(core, replied=False)), "")


def _says_defect(clause: str, *, replied: bool) -> bool:
    turn = TRAILING_CONTRAST.search(clause)
    if turn is not None:
        parts = (clause[: turn.start()], clause[turn.end() :])
        return any(_says_defect(part, replied=replied) for part in parts)
    turn = CONTRAST.search(clause)
    if turn is not None:
        tail = clause[turn.end() :]
        return _badness(tail) > 0 or bool(ONLY.search(tail))
    bad = _badness(clause)
    return not replied and bad > 0 and (bad > 1 or not POSITIVE.search(clause))


def _is_about_doing(statement: ClaimText) -> bool:
    """It describes doing something: `adding a guard`, `parallelizing steps`."""
    claim = _core(statement)
    turn = CONTRAST.search(claim)
    tail = claim[turn.end() :].lstrip() if turn is not None else claim
    return bool(GERUND.match(claim) or GERUND.match(tail))


def _is_noun(label: str) -> bool:
    return 0 < len(label.split()) <= MOST_LABEL_WORDS and not FINITE_VERB.search(label)


def _core(statement: ClaimText) -> str:
    """The claim itself: its label where that is a clause; no reasons, conditions, quotations."""
    label = statement.label
    claim = label if len(label.split()) >= FEWEST_CLAUSE_WORDS else statement.lead
    claim = QUOTED.sub(" ", claim)
    return REASON_OR_CONDITION.sub("", claim) or claim


def _badness(text: str) -> int:
    """How much is wrong: defects count, a negated virtue counts more, a negated defect does not."""
    flat = text.replace("*", "").replace("_", " ")
    if REJECTED_INPUT.match(flat):
        return 0
    plain = NEGATED_DEFECT.sub(" ", flat)
    return (
        2 * len(NEGATED_POSITIVE.findall(plain))
        + len(NEGATION.findall(plain))
        + len(DEFECT.findall(plain))
        + len(IS_ONLY.findall(plain))
    )


def _is_plain_defect(statement: ClaimText) -> bool:
    """A risk that is stated as a fact: the defect exists, without "if" and "may"."""
    head = REASON_OR_CONDITION.sub("", statement.lead.split(",")[0].split(";")[0])
    if UNVERIFIED.search(statement.text) or CONDITIONAL.search(statement.text):
        return False
    says_so = NEGATION.match(statement.label.lstrip("*_ "))
    if not says_so and HEDGED.search(f"{statement.label} {head}"):
        return False
    return _badness(head) > 0


def _is_only_evidence(statement: ClaimText) -> bool:
    return bool(EVIDENCE.match(statement.text))


def _clauses(lead: str) -> Iterator[str]:
    at = 0
    for match in CLAUSE.finditer(lead):
        yield lead[at : match.start()]
        at = match.end()
    yield lead[at:]


def _first_clause(text: str) -> str:
    return next(_clauses(text))


def _main_modal(lead: str, modal: re.Pattern[str] = MODAL) -> bool:
    """A modal verb of the main clause: not after if, whether, because."""
    return any(not SUBORDINATE.search(lead[: match.start()]) for match in modal.finditer(lead))
