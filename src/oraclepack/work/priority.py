"""Which of the ten categories a record belongs to, and how soon it should be done and why."""

import re
from collections.abc import Iterable

import msgspec

from oraclepack.pack.answer_sections import normalise
from oraclepack.pack.model import CATEGORIES
from oraclepack.work.backlog import Priority, StepQuestion, TaskKind
from oraclepack.work.evidence import CitationState, Evidence

LAST_RESORT = "failure modes"
"""The category of what none of the words below fits."""

_HINTS = {
    "contracts/interfaces": "api contract interface schema endpoint payload signature request "
    "response parameter client version compatibility type",
    "invariants": "invariant assert constraint unique consistency negative sum guarantee valid",
    "caching/state": "cache cached caching stale invalidate state session memory ttl expiry store",
    "background jobs": "job worker queue cron schedule scheduler task async consumer batch retry",
    "observability": "log logs logging metric metrics trace tracing alert monitor dashboard audit",
    "permissions": "permission role auth authentication authorization token admin tenant secret "
    "access password key",
    "migrations": "migration migrate column table index backfill rename upgrade alter",
    "UX flows": "user ui screen button page form message click browser render accessibility",
    "failure modes": "failure fail error timeout crash outage exception fallback breaker leak race",
    "feature flags": "flag toggle switch rollout experiment canary",
}
_WORD = re.compile(r"[a-z]+")
_BY_NAME = {normalise(name): name for name in CATEGORIES}

_SEVERE = re.compile(
    r"\b(?:data loss|los(?:e|es|ing|t) (?:data|progress|updates?|writes?|state)|corrupt\w*"
    r"|leak\w*|credentials?|secrets?|security|insecure|unauthori[sz]ed|bypass\w*|injection"
    r"|destructive|crash\w*|panics?|deadlock\w*|race\w*|clobber\w*|overwrit\w+|sensitive"
    r"|privilege|exploit\w*|double[- ](?:charge|spend|write))\b",
    re.IGNORECASE,
)
_SERIOUS = re.compile(
    r"\b(?:fails?|failures?|broken|breaks?|stale|silent(?:ly)?|swallow\w*|drops?|unbounded"
    r"|inconsisten\w+|mismatch\w*|ignor(?:es?|ed|ing)|wrong\w*|incorrect\w*|missing"
    r"|non-?determinis\w+|nondeterminis\w+|hangs?|partial\w*|invalid|duplicat\w+|unhandled|unsafe"
    r"|expensive|expos\w+)\b",
    re.IGNORECASE,
)
_ROI = ((3.0, 3), (1.5, re.IGNORECASE), (0.8, 1))
_MOST_AGREEMENT = 2
_RANKS = ((6, Priority.CRITICAL), (4, Priority.HIGH), (2, Priority.MEDIUM))


class PriorityScore(msgspec.Struct, frozen=True):
    """How much a record is worth, and what that was made of."""

    points: int
    why: str

    @property
    def priority(self) -> Priority:
        return next((rank for least, rank in _RANKS if self.points >= least), Priority.LOW)


def category_of(question: StepQuestion, texts: Iterable[str]) -> str:
    """The question's category; where the pack names none of the ten, the one its words hint at."""
    named = _BY_NAME.get(normalise(question.category or ""))
    if named is not None:
        return named
    words = set(_WORD.findall(" ".join([question.title, question.text, *texts]).lower()))
    scores = {name: len(words & set(hints.split())) for name, hints in _HINTS.items()}
    best = max(CATEGORIES, key=lambda name: (scores[name], -CATEGORIES.index(name)))
    return best if scores[best] else LAST_RESORT


def priority_score(
    text: str, kind: TaskKind | None, roi: float | None, sources: int, evidence: Evidence
) -> PriorityScore:
    """Points for severity, ROI, independent sources and verified citations."""
    parts: list[tuple[int, str]] = []
    severe, serious = _SEVERE.search(text), _SERIOUS.search(text)
    if kind is TaskKind.EXPERIMENT:
        severe = serious = None  # what it looks for is not known to be there
    if severe is not None:
        parts.append((2, f"severe ({severe[0].lower()})"))
    elif serious is not None:
        parts.append((1, f"serious ({serious[0].lower()})"))
    if roi is not None:
        parts.append((next((p for least, p in _ROI if roi >= least), 0), f"ROI {roi:g}"))
    if kind is TaskKind.CHANGE:
        parts.append((1, "says what to change"))
    if sources > 1:
        parts.append((min(sources - 1, _MOST_AGREEMENT), f"{sources} independent answers"))
    states = [citation.state for citation in evidence.citations]
    verified = states.count(CitationState.VERIFIED)
    if verified:
        parts.append((1, f"{verified} verified citation{'s' * (verified > 1)}"))
    bad = sum(state.is_bad for state in states)
    if bad:
        parts.append((-1, f"{bad} citation{'s' * (bad > 1)} that cannot be verified"))
    return PriorityScore(sum(points for points, _ in parts), ", ".join(part for _, part in parts))
