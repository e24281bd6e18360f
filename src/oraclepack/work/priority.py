"""Which of the ten categories a record belongs to, and how soon it should be done."""

import re
from collections.abc import Iterable

from oraclepack.pack.answer_sections import normalise
from oraclepack.pack.model import CATEGORIES
from oraclepack.work.backlog import Priority, StepQuestion
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

_ROI_POINTS = ((6.0, 3), (3.0, 2), (1.0, 1))
_LITTLE_EFFORT, _MUCH_EFFORT = 2.0, 5.0
_MOST_AGREEMENT = 2
_RANKS = ((6, Priority.CRITICAL), (4, Priority.HIGH), (2, Priority.MEDIUM))


def category_of(question: StepQuestion, texts: Iterable[str]) -> str:
    """The question's category; where the pack names none of the ten, the one its words hint at."""
    named = _BY_NAME.get(normalise(question.category or ""))
    if named is not None:
        return named
    words = set(_WORD.findall(" ".join([question.title, *texts]).lower()))
    scores = {name: len(words & set(hints.split())) for name, hints in _HINTS.items()}
    best = max(CATEGORIES, key=lambda name: (scores[name], -CATEGORIES.index(name)))
    return best if scores[best] else LAST_RESORT


def score(roi: float | None, effort: float | None, evidence: Evidence, sources: int) -> int:
    """Points for a record: its worth, its price, what it stands on, how many questions agree."""
    points = 1 if roi is None else next((p for least, p in _ROI_POINTS if roi >= least), 0)
    if effort is not None:
        points += (effort <= _LITTLE_EFFORT) - (effort >= _MUCH_EFFORT)
    points += evidence.has(CitationState.VERIFIED)
    points -= any(citation.state.is_bad for citation in evidence.citations)
    return points + min(sources - 1, _MOST_AGREEMENT)


def priority_of(points: int) -> Priority:
    return next((rank for least, rank in _RANKS if points >= least), Priority.LOW)
