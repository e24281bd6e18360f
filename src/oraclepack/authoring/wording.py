"""A choice to the words of its prompt."""

from oraclepack.authoring.choose import ChosenQuestion
from oraclepack.authoring.signs import Trait
from oraclepack.authoring.survey import Survey
from oraclepack.pack.answer_sections import Section

PARTS = {
    Section.DIRECT_ANSWER: "Direct answer (1-8 bullets, each citing path:line of an attached file)",
    Section.RISKS_UNKNOWNS: "Risks/unknowns (bullets)",
    Section.NEXT_EXPERIMENT: "Next smallest concrete experiment (exactly one action)",
    Section.MISSING_EVIDENCE: (
        "If evidence is insufficient, name the exact missing file or path pattern to attach next"
    ),
}
"""The four parts of an answer, as a prompt asks for them."""
RETURN_ONLY = {
    Section.DIRECT_ANSWER: "Return only: Direct answer, 1-8 bullets, citing path:line for each.",
    Section.RISKS_UNKNOWNS: "Return only: Risks/unknowns, as bullets.",
    Section.NEXT_EXPERIMENT: "Return only: Next smallest concrete experiment, exactly one action.",
    Section.MISSING_EVIDENCE: (
        "Return only: Missing evidence, as exact files or path patterns to attach next."
    ),
}
"""The same, for packs that ask for one part at a time."""
_MOST_ENTRIES = 3


def question_text(found: Survey, choice: ChosenQuestion) -> str:
    """The question itself, in one paragraph."""
    question, reference = choice.question, choice.reference
    if reference is None:
        return question.nothing.format(project=found.name, scope=_scope(found))
    return question.ask.format(
        path=reference.path,
        project=found.name,
        shown=_shown(choice),
        rest=_rest(found, choice),
    )


def facts(found: Survey, choice: ChosenQuestion) -> list[str]:
    """What was measured, as lines: so the model need not guess what the author knew."""
    lines = [f"{found.name}: {_inventory(found)}"]
    reference = choice.reference
    if reference is None:
        kinds = " or ".join(trait.value for trait in choice.question.traits)
        lines.append(f"nothing that looks like {kinds} was found in {_scope(found)}")
        return lines
    changes = _plural(reference.churn, "commit")
    users = _plural(len(reference.importers), "file")
    lines.append(
        f"{reference.path}: {_plural(reference.lines, 'line')}, changed in {changes},"
        f" imported by {users}"
    )
    # A symbol is worth a line of its own where the question is not about symbols already.
    symbols = reference.traits.get(Trait.SYMBOL)
    if symbols is not None and choice.trait is not None:
        lines.append(f"it offers {_counted(Trait.SYMBOL, symbols.count, symbols.names)}")
    if choice.test is not None:
        lines.append(f"its test is {choice.test}")
    elif reference.language is not None:
        lines.append("no test file carries its name")
    return lines


def attached(choice: ChosenQuestion) -> list[str]:
    """Every attached file with the reason why it is there."""
    if choice.reference is None:
        return [f"none: say what to attach, such as {choice.question.look_for}"]
    others = [f"{neighbour.path}: {neighbour.because}" for neighbour in choice.neighbours]
    return [f"{choice.reference.path}: the reference", *others]


def _shown(choice: ChosenQuestion) -> str:
    reference = choice.reference
    assert reference is not None
    trait = choice.trait or Trait.SYMBOL
    trace = reference.traits.get(trait)
    if trace is None:
        return f"no {trait.value} of its own"
    return _counted(trait, trace.count, trace.names)


def _counted(trait: Trait, count: int, names: tuple[str, ...]) -> str:
    what = trait.value if count > 1 else f"of the {trait.value}"
    listed = f" ({', '.join(names)}{', …' if count > len(names) else ''})" if names else ""
    return f"{count} {what}{listed}"


def _rest(found: Survey, choice: ChosenQuestion) -> str:
    if choice.trait is None or choice.reference is None:
        return ""
    elsewhere = found.total(choice.trait) - choice.reference.count(choice.trait)
    if not elsewhere:
        return ", the only ones in the repository"
    return f", of {elsewhere + choice.reference.count(choice.trait)} in all"


def _scope(found: Survey) -> str:
    return f"{_plural(found.searched, 'text')} of {_plural(found.tracked, 'tracked file')} searched"


def _inventory(found: Survey) -> str:
    spoken = ", ".join(f"{count} {language}" for language, count in found.languages[:3])
    parts = [f"{_plural(found.tracked, 'tracked file')}"]
    if spoken:
        parts.append(f"source files: {spoken}")
    if found.entries:
        parts.append(f"entry points: {', '.join(found.entries[:_MOST_ENTRIES])}")
    return "; ".join(parts)


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
