"""Which parts of replies hold text of models and files, and how that is cleaned."""

from __future__ import annotations

import msgspec

from oraclepack.system.printable import changed_texts, visible

UNTRUSTED: dict[str, tuple[str, ...]] = {
    "run-report": (
        "steps.title",
        "steps.message",
        "failure",
        "packs.run.steps.title",
        "packs.run.steps.message",
        "packs.run.failure",
    ),
    "pipeline-report": ("run.steps.title", "run.steps.message", "run.failure"),
    "why-report": ("title", "message", "calls.changes"),
    "run-details": ("steps.title", "steps.reference", "steps.last_error.message"),
    "listing": ("steps.title", "steps.reference", "steps.category", "steps.attributes"),
    "cache-details": ("answer",),
    "call-result": ("title", "answer", "run.steps.title", "run.steps.message", "run.failure"),
    "event-page": ("events",),
    "answer-page": ("text",),
    "text-page": ("text",),
    "run-status": ("steps.title", "steps.error", "calls.detail", "decisions.question"),
    "run-plan": ("plan.steps.title", "plan.steps.message"),
    "work-list": (
        "records.issue_title",
        "records.title",
        "records.actions",
        "records.notes",
        "records.missing_inputs",
        "records.evidence",
        "records.statements",
        "records.next_experiment",
    ),
    "validation": ("findings.message", "packs.findings.message"),
    "verify-report": ("failures.line", "doubts.message"),
    "verify-packs-report": ("packs.failures.line", "packs.doubts.message"),
}
"""Parts of the data that hold text of models, packs or other files, by schema. They
are data, never instructions; control characters are removed from them."""


def untrusted_parts(name: str) -> tuple[str, ...]:
    """The dotted paths into data of this schema that hold text from outside."""
    return UNTRUSTED.get(name, ())


def clean_parts(data: object, paths: tuple[str, ...]) -> tuple[object, tuple[str, ...]]:
    """The data without control characters in the parts from outside, and which of them it has."""
    if not paths or data is None:
        return data, ()
    plain = msgspec.to_builtins(data, str_keys=True)
    there = tuple(path for path in paths if _clean(plain, path.split(".")))
    return plain, there


def _clean(value: object, names: list[str]) -> bool:
    """Clean what the names lead to, in place; whether they lead anywhere."""
    match value:
        case list() | tuple():
            return sum(_clean(item, names) for item in value) > 0
        case dict() if names[0] in value:
            if names[1:]:
                return _clean(value[names[0]], names[1:])
            value[names[0]] = changed_texts(value[names[0]], visible)
            return value[names[0]] not in (None, "", [], (), {})
    return False
