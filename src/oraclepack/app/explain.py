"""Tell what rules mean."""

from oraclepack.core.explained import RuleDoc
from oraclepack.errors import UsageError, did_you_mean
from oraclepack.lint.doc import RuleText, doc_of, doc_text
from oraclepack.lint.registry import RULES
from oraclepack.lint.suppress import by_word


def explained(word: str | None) -> tuple[RuleDoc, ...]:
    """The rule with an id or name; without one, every rule."""
    if word is None:
        return tuple(doc_of(rule) for rule in RULES)
    known = by_word(RULES)
    rule = known.get(word.strip().lower())
    if rule is None:
        hint = did_you_mean(word, [name for each in RULES for name in (each.id, each.name)])
        hint = hint or "`oraclepack explain` lists the rules"
        raise UsageError(f"there is no rule {word!r}", hint=hint)
    return (doc_of(rule),)


def rule_texts() -> tuple[RuleText, ...]:
    """What SARIF wants to know about every rule."""
    return tuple(
        RuleText(doc.rule, doc.name, doc.severity, doc.summary, doc_text(doc))
        for doc in explained(None)
    )
