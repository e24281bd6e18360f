"""What a statement is: a handful of plain rules, and `said` for whatever none of them knows.

A label may be wrong, a text may not: the rules choose where a statement is listed, never its words.
"""

import re
from enum import StrEnum

from oraclepack.answers.sentences import sentences, word_set
from oraclepack.answers.statements import Statement, row_cells
from oraclepack.pack.answer_sections import Section, normalise
from oraclepack.work.titles import without_emphasis


class Reading(StrEnum):
    """What a statement is taken for."""

    CHANGE = "change"
    FINDING = "finding"
    EXPERIMENT = "experiment"
    RISK = "risk"
    EVIDENCE = "evidence"
    DONE = "done"
    NOTHING = "nothing"
    UNDECIDED = "undecided"
    """It says that it cannot tell, or refuses."""
    SAID = "said"


REMARKS = {Reading.DONE: "the answer says that this is done", Reading.NOTHING: "nothing to do"}
_VERBS = word_set(
    "acknowledge add adopt align allow apply assert attach audit avoid backfill batch bind "
    "block bound break broaden build bump cache call cap capture catch change check clamp "
    "clarify clean clear close compute configure confirm consider consolidate convert copy "
    "create decide declare decouple default defer define delay delete deprecate derive detect "
    "disable disallow distinguish document drop emit enable encode encrypt enforce ensure "
    "escape establish exclude expand expire expose extend extract factor fail fix flag flush "
    "force gate generate go guard handle harden hash hide ignore implement include increase "
    "index inject insert install instrument introduce invalidate isolate keep limit load lock "
    "log make map mark measure merge migrate mitigate move narrow normalise normalize parse "
    "pass persist pin prefer preserve prevent print profile prohibit propagate protect provide "
    "prune publish put quote raise read rebuild record redact reduce refactor refuse register "
    "reject release reload remove rename replace report require reserve reset resolve restore "
    "restrict retain retry return reuse revert review rewrite rotate route run sanitise "
    "sanitize save schedule scope send separate serialise serialize set ship show sign simplify "
    "skip sort specify split standardise standardize start stop store stream strip support "
    "surface swap switch tag teach test throttle throw tighten track treat trim truncate turn "
    "unify update upgrade use validate verify version wait warn wire wrap write"
)
"""Verbs that begin a request."""
_NO_VERBS = word_set(
    "about after also although and are as at because before between both but by can could despite"
    " did do during even for from given has have how if in into like may not of on once only or"
    " over per since so such that then though through to under unless until upon via what when"
    " where whether which while who why will with within without would yet"
)
_REQUEST = re.compile(
    r"(?P<verb>[a-z]+[a-rt-z])(?<!ed)(?<!ing) (?:an?|the|this|these|those|all|any|each|every|its"
    r"|their|your|it|them)\b(?! (?:is|was|has|does|can|will|would)\b)",
    re.IGNORECASE,
)
"""A verb and its object: no noun stands directly before an article."""
_FINITE = re.compile(
    r" of\b|(?:\W+\w[\w’'./()-]*){0,3}?\W+(?:is|are|was|were|has|have|had|does|do|can|cannot|will"
    r"|may|might|must|should|returns?|uses?|exists?)\b"
)
"""A verb soon after the first word, which then is a noun: "cache keys are …"."""
_LABEL = re.compile(r"(?:[^.!?:]|[.:](?=\S)){1,100}:\s+(?=\S)")
_FRONTED = re.compile(
    r"(?:after|as|at|before|by|during|for|if|in|on|once|since|to|until|when|where|while|with)\b"
    r"[^.!?]{3,120}?, (?=\w)",
    re.IGNORECASE,
)
"""A clause before the verb: "after the list changes, clamp …"."""
_NEGATED = re.compile(r"(?:do not|don[’']t|never)\s+", re.IGNORECASE)
_OPENING = re.compile(
    r"(?:\[[ ]\]|[-–—*+•>]|\(?\d{1,2}[.)]|[a-z]\)|P[0-3]\b[:.]?"
    r"|[\[(](?:P[0-3]|critical|high|medium|low)[\])]"
    r"|(?:(?:yes|no|so|then|also|and|first|second|third|finally|next|instead|still|please|just|simply"
    r"|optionally|ideally)\b\W*)+)\s*",
    re.IGNORECASE,
)
_SHOULD = re.compile(
    r"\b(?:should(?!\s+(?:be fine|work|already|suffice))|needs? (?:to|an?|explicit)|ought to"
    r"|worth \w+ing|(?:is|are) required to|recommend(?:ed|s|ation)?"
    r"|i would(?! have| say| expect)|could you|let[’']s"
    r"|still (?:has|have) to|would be (?:better|good|wise) to"
    r"|(?:fix|remedy|solution) is to)\b|\bI[’']d\b",
    re.IGNORECASE,
)
_ADVICE = re.compile(r"\b(?:propose|recommend|suggest|define|design|plan)\b", re.IGNORECASE)
_MUST = re.compile(r"\b(?:must|shall|(?:is|are) (?:needed|required))\b", re.IGNORECASE)
"""In an answer to a question for advice these ask for a change; elsewhere they state a rule."""
_DEFECT = re.compile(
    r"[❌⚠✗✘🔴🐛]"
    r"|\b(?:(?:is|does) not|(?:is|does)n[’']t|not (?:just|fully)|even (?:if|when)|regardless|bugs?"
    r"|breaks?|broken|bypass\w*|collid\w+|collisions?|conflicts?|corrupt\w*|crash\w*"
    r"|deadlocks?|drift\w*|fails?(?! (?:fast|closed))|failing|fragile|brittle|gaps?|hangs?"
    r"|hard-?coded|inconsisten\w+|incorrect\w*|insecure|lacks?|lacking|leaks?|los(?:es?|t|ing)"
    r"|mismatch\w*|misleading|missing"
    r"|not (?:atomic|enforced|handled|validated|checked|escaped|covered|safe)|never"
    r"|overwrit\w+|panics?|races?|racy|silent(?:ly)?|stale|surpris\w+|swallow\w*|truncat\w+"
    r"|unbounded|unchecked|unescaped|unhandled|unsafe|unvalidated|vulnerab\w+|weak\w*|wrong\w*)\b",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"\b(?:is|are)(?: not|n[’']t) (?:an? (?:\w+ )?(?:bug|concern|factor|issue|problem|risk"
    r"|vulnerability)|affected|needed|necessary|required|urgent|vulnerable|worth)\b"
    r"|\bweak (?:ref\w+|keys?|maps?|point\w+)"
    r"|(?<!even )\b(?:after|if|once|unless|until|when|whether|while)\b[^,.;:—]*",
    re.IGNORECASE,
)
"""Denials and names that are no defects, and clauses that only say when something holds."""
_PRAISE = re.compile(
    r"\b(?:already (?:covered|enforced|handled|prevented|rejected|satisfied)"
    r"|gracefully|correctly|properly|sound|solid|as expected"
    r"|(?:is|are|looks?) (?:fine|good|reasonable|sufficient|ok|okay))\b"
    r"(?<!not correctly)(?<!not properly)",
    re.IGNORECASE,
)
_HEADINGS = {
    Reading.DONE: (
        "strengths?|pros|positives?|what works|good|fixed|resolved|done|completed|no action"
        "|out of scope|non goals|not (?:recommended|needed|required|planned|in scope)"
    ),
    Reading.FINDING: (
        "weakness(?:es)?|cons|problems?|issues?|bugs?|defects?|gaps?|concerns?|vulnerabilit(?:y|ies)"
        "|shortcomings?|limitations?|what does(?: not|n t)"
    ),
    Reading.CHANGE: (
        "recommend(?:ed|ations?)|suggest(?:ed|ions?)|fix(?:es)?|action items?|todos?|to do"
        "|what to do|next steps?|proposed|proposals?|improvements?|remediations?|mitigations?"
    ),
}
"""Words of a short heading, or of a label, and what they say about all that is below."""
_DONE = re.compile(
    r"\W*(?:✅|☑|✔|\[[xX]\]|(?:FIXED|RESOLVED|DONE)\b"
    r"|(?i:fixed|resolved|already (?:done|fixed|implemented)|resolution)\s*[:—–-])"
)
_NOTHING = re.compile(
    r"(?:none|n a|nothing(?: else)?(?: (?:is )?(?:missing|needed|to (?:do|add|change|report)))?"
    r"|no (?:\w+ ){0,2}(?:changes?|action|work|fix|evidence|files?|experiment)s? (?:is |are )?"
    r"(?:needed|required|necessary|missing)|not applicable|no issues?(?: found)?)\b.{0,60}"
)
_UNDECIDED = re.compile(
    r"(?:unfortunately |sorry |(?:i m|i am) (?:sorry|afraid) (?:but )?)?(?:"
    r"(?:i|we) (?:do not|don t) have (?:enough|access)"
    r"|(?:i|we) (?:can ?not|can t|could not|couldn t|(?:am|m|are) unable to|won t)\b"
    r"|can ?not (?:tell|say|decide|determine)"
    r"|(?:this |it |that )?(?:can ?not|can t) be (?:decided|determined|told|confirmed|answered)"
    r"|(?:it is )?(?:impossible|not possible) to (?:tell|say|decide|determine)"
    r"|(?:the )?(?:(?:attached|available|provided) )?(?:evidence|files?|code|context)"
    r"(?: \w+){0,3} (?:is|are) (?:insufficient|not enough|not sufficient)"
    r"|insufficient evidence|not enough (?:evidence|information))"
)
_WORD = re.compile(r"[A-Za-z]+(?=[\s/,]|$)")
_MOST_NOTHING = 120
_LONGEST_HEADING = 6
"""Words of a heading that says what is below it."""
_FEWEST_WORDS = 4
"""Of a request before a colon; less is the name of something: "Log lines: …"."""


def reading_of(statement: Statement, question: str = "") -> Reading:
    """What a statement is, by its section, its words, and whether its question asks for advice."""
    text = plain(statement.text)
    words = normalise(text)
    first, *later = sentences(text) or [text]
    above = _said_above(statement.heading)
    is_advice = _SHOULD.search(text) or (_ADVICE.search(question) and _MUST.search(first))
    is_defect = _DEFECT.search(_HARMLESS.sub("", first)) and not _PRAISE.search(first)
    rules = (
        (Reading.NOTHING, len(words) <= _MOST_NOTHING and _NOTHING.fullmatch(words)),
        (Reading.EVIDENCE, statement.section is Section.MISSING_EVIDENCE),
        (Reading.DONE, _DONE.match(statement.text)),
        (Reading.RISK, statement.section is Section.RISKS_UNKNOWNS),
        (Reading.UNDECIDED, _UNDECIDED.match(words)),
        (Reading.EXPERIMENT, statement.section is Section.NEXT_EXPERIMENT),
        (Reading.DONE, above is Reading.DONE),
        (Reading.CHANGE, is_advice or any(map(is_request, (first, *later)))),
        (Reading.FINDING, is_defect),
        (above or Reading.SAID, not _PRAISE.search(first)),
    )
    return next((reading for reading, holds in rules if holds), Reading.SAID)


def _said_above(heading: str) -> Reading | None:
    """What a short heading or a label says about what is below it."""
    words = normalise(heading)
    if words.count(" ") >= _LONGEST_HEADING:
        return None
    found = (one for one, names in _HEADINGS.items() if re.search(rf"\b(?:{names})\b", words))
    return next(found, None)


def is_request(sentence: str) -> bool:
    """Whether a sentence, or what follows its label, begins with a verb that asks for something."""
    label = _LABEL.match(sentence)
    if label is None:
        return _begins_with_verb(sentence)
    if _said_above(label[0]) is Reading.CHANGE or _begins_with_verb(sentence[label.end() :]):
        return True
    is_clause = label[0].count(" ") >= _FEWEST_WORDS or _REQUEST.match(label[0]) is not None
    return is_clause and _begins_with_verb(sentence)


def _begins_with_verb(text: str) -> bool:
    at = 0
    for skipped in (_OPENING, _FRONTED, _NEGATED):
        match = skipped.match(text, at)
        at = match.end() if match is not None else at
    request = _REQUEST.match(text, at)
    if request is not None and request["verb"].lower() not in _NO_VERBS:
        return True
    word = _WORD.match(text, at)
    if word is None or word[0].lower() not in _VERBS:
        return False
    return _FINITE.match(text, word.end()) is None


def plain(text: str) -> str:
    """A statement as a line of words."""
    return " ".join(without_emphasis(spoken(text)).split())


def spoken(text: str) -> str:
    """Of a row the longest cell, which says most; any other statement as it is."""
    return max(row_cells(text), key=len, default="") or text
