"""What a call of a tool says: its argument list read as the tool itself would read it."""

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum

import msgspec

from oraclepack.core.argv import ArgvProblem, ArgvWord, Begun, FlagUse, ParsedArgv
from oraclepack.core.argv_grammar import RULES, Scan, Token, nearest_flag
from oraclepack.core.flag_tables import Effect, FlagSpec, FlagTable, Role, table_of

__all__ = [
    "ArgvProblem",
    "ArgvWord",
    "Begun",
    "Effect",
    "FlagSpec",
    "FlagTable",
    "FlagUse",
    "Loss",
    "LostValue",
    "ParsedArgv",
    "Role",
    "lost_values",
    "nearest_flag",
    "parse_argv",
    "split_list",
    "table_of",
]


def parse_argv(
    table: FlagTable, argv: Sequence[ArgvWord], splits: Collection[int] | None = None
) -> ParsedArgv:
    """Read an argument list as the tool would; total on every list.

    None stands for a word that only the running shell knows, `Begun` for one that is known in part.
    `splits` names those of them that may become no word or several (arrays, unquoted expansions);
    without it, each of them may.
    """
    loose = frozenset(range(len(argv)) if splits is None else splits)
    scan = Scan(table.root, RULES[table.grammar], loose)
    scan.read([Token.of(at, word) for at, word in enumerate(argv)])
    hidden = any(not isinstance(word, str) and at in loose for at, word in enumerate(argv))
    return scan.result(hidden=hidden)


def split_list(spec: FlagSpec, value: str) -> tuple[str, ...]:
    """The values that the tool makes of one: cut at its mark, trimmed, empty ones dropped."""
    if spec.split is None:
        return (value,)
    return tuple(piece for raw in value.split(spec.split) if (piece := raw.strip()))


class Loss(StrEnum):
    """How a value quietly becomes something else than its author meant."""

    LIST_SPLIT = "list split"
    """The tool cuts it into several values."""
    BRACES_SPLIT = "braces split"
    """The cut goes through the middle of `{a,b}`: no piece is what was meant."""
    IGNORED_OPERAND = "ignored operand"
    """A word without a flag is not read, since the prompt is given by a flag."""
    SWALLOWED_PROMPT = "swallowed prompt"
    """There is no prompt; the last word of a list of files is probably meant to be it."""


class LostValue(msgspec.Struct, frozen=True):
    """A word of a call that the tool reads in a way its author may not expect."""

    loss: Loss
    at: int
    use: FlagUse | None = None
    """The flag that took the word."""


def lost_values(table: FlagTable, parsed: ParsedArgv) -> tuple[LostValue, ...]:
    """What a call loses without a word of complaint from the tool, in the order of the words."""
    lost = [*_cut_lists(parsed)]
    if parsed.subcommand is None and table.root.max_operands == 1:
        lost += [*_ignored_operands(parsed), *_swallowed_prompt(parsed)]
    return tuple(sorted(lost, key=lambda value: (value.at, value.loss)))


def _cut_lists(parsed: ParsedArgv) -> Iterator[LostValue]:
    for use in parsed.with_role(Role.ATTACHMENT):
        if use.value is None or use.value_at is None:
            continue
        pieces = split_list(use.spec, use.value)
        if any(piece.count("{") != piece.count("}") for piece in pieces) and len(pieces) > 1:
            yield LostValue(Loss.BRACES_SPLIT, use.value_at, use)
        elif len(pieces) > 1:
            yield LostValue(Loss.LIST_SPLIT, use.value_at, use)


def _ignored_operands(parsed: ParsedArgv) -> Iterator[LostValue]:
    """One operand beside a prompt flag is dropped; two are an error the tool reports itself."""
    certain = [at for at in parsed.operands if at not in parsed.uncertain]
    if parsed.with_role(Role.PROMPT):
        for at in certain:
            if at not in parsed.excess:
                yield LostValue(Loss.IGNORED_OPERAND, at)


def _swallowed_prompt(parsed: ParsedArgv) -> Iterator[LostValue]:
    asks = not any(use.spec.effect is Effect.INSPECT for use in parsed.flags)
    if parsed.with_role(Role.PROMPT) or parsed.operands or parsed.hidden or not asks:
        return
    files = [use for use in parsed.with_role(Role.ATTACHMENT) if use.spec.variadic]
    last = files[-1] if files else None
    # The first value of a list is what the flag was written for; only a later one strayed in.
    if last is not None and any(use.at == last.at for use in files[:-1]):
        assert last.value_at is not None
        yield LostValue(Loss.SWALLOWED_PROMPT, last.value_at, last)
