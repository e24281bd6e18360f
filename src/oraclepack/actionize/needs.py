"""The two sections that are read as a whole: the next experiment and the missing evidence."""

from collections.abc import Iterable, Sequence

from oraclepack.actionize.intent import says_no_action, says_nothing
from oraclepack.actionize.points import Point, Reader
from oraclepack.actionize.sections import Item, walk
from oraclepack.core.evidence import united
from oraclepack.system.markdown_text import in_backquotes


def experiment_of(items: Sequence[Item], reader: Reader) -> Point | None:
    """The next experiment of an answer: one point, whatever it was written as."""
    told = [item for item in items if _counts(item)]
    actions = [_shown(item) for top in told for item in walk([top]) if _counts(item)]
    if not actions:
        return None
    if actions[0].endswith(":") and len(actions) > 1:
        actions = [f"{actions[0]} {actions[1]}", *actions[2:]]
    return Point(united(reader.whole_evidence(item) for item in told), tuple(actions))


def missing_of(items: Iterable[Item], reader: Reader) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What an answer lacks, files by their bare names, and the sentences that say so."""
    inputs: dict[str, None] = {}
    notes: list[str] = []
    for item in walk(items):
        if not _counts(item):
            continue
        named = reader.evidence(item)
        things = named.paths or (named.symbols if len(item.text.split()) == 1 else ())
        inputs |= dict.fromkeys(things or (item.text.rstrip(":"),))
        bare = item.text.strip("`. ")
        notes += [item.text] if things and bare not in things else []
    return tuple(inputs), tuple(notes)


def _counts(item: Item) -> bool:
    return item.done is not True and not says_nothing(item.text) and not says_no_action(item.text)


def _shown(item: Item) -> str:
    """An item in one line, with the commands of the code block below it."""
    if item.cells:
        return "; ".join(cell for _, cell in item.cells if not cell.strip(" .)").isdigit())
    fresh = [command for command in item.commands if command not in item.text]
    shown = ", ".join(in_backquotes(command) for command in fresh)
    return f"{item.text} {shown}".strip()
