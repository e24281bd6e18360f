"""Overrides: flags that the person who runs a pack puts over those the pack gives."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from oraclepack.errors import UsageError
from oraclepack.system.printable import readable
from oraclepack.system.secrets import BLOT
from oraclepack.tools.argv import FlagUse, ParsedArgv, flag_words, parse_argv
from oraclepack.tools.flag_tables import FlagTable

WAIT, FORCE = "--wait", "--force"


class Overrides(msgspec.Struct, frozen=True):
    """Words to add to the calls of oracle: for all steps, and for some."""

    everywhere: tuple[str, ...] = ()
    by_step: Mapping[str, tuple[str, ...]] = {}

    def for_step(self, step: str) -> tuple[str, ...]:
        """The words for one step; its own come last, so they win."""
        return (*self.everywhere, *self.by_step.get(step, ()))


def read_overrides(
    table: FlagTable,
    flags: Sequence[str],
    per_step: Sequence[str],
    steps: Collection[str],
) -> Overrides:
    """`--oracle-flag=--model=gpt-5.2` and `--override 03,07:--engine=api`, checked."""
    everywhere = [word for text in flags for word in _words(table, "--oracle-flag", text)]
    by_step: dict[str, tuple[str, ...]] = {}
    for text in per_step:
        ids, colon, rest = text.partition(":")
        if not colon:
            raise UsageError(
                f"--override {text}: a colon is missing",
                hint="write the steps, a colon and the flag: --override 03,07:--engine=api",
            )
        for step in _steps(ids, steps):
            by_step[step] = (*by_step.get(step, ()), *_words(table, "--override", rest))
    return Overrides(tuple(everywhere), by_step)


def _steps(ids: str, known: Collection[str]) -> list[str]:
    named = [word.strip() for word in ids.split(",") if word.strip()]
    steps = [word.zfill(2) for word in named]
    strange = [word for word, step in zip(named, steps, strict=True) if step not in known]
    if strange or not steps:
        what = f"no step {', '.join(strange)}" if strange else "no step is named"
        raise UsageError(f"--override {ids}: {what}", hint=f"steps are {', '.join(sorted(known))}")
    return steps


def _words(table: FlagTable, option: str, text: str) -> tuple[str, ...]:
    """One flag, or several separated by spaces. After `--x=` everything is the value."""
    words = _split(option, text)
    parsed = parse_argv(table, words)
    fault = next(iter(parsed.problems), None)
    if fault is not None:
        near = f"did you mean {fault.nearest}?" if fault.nearest else ""
        allowed = f"it takes {', '.join(fault.allowed)}" if fault.allowed else ""
        message = f"{option} {text}: {table.tool} refuses {fault.spelled} ({fault.fault})"
        raise UsageError(message, hint=near or allowed)
    if not parsed.flags or parsed.operands or parsed.subcommand:
        raise UsageError(
            f"{option} {text}: this is no flag", hint=f"as in {option}=--model=gpt-5.2"
        )
    return words


def _split(option: str, text: str) -> tuple[str, ...]:
    try:
        return flag_words(text)
    except ValueError as problem:
        raise UsageError(f"{option} {text}: {problem}") from None


def effective_argv(
    table: FlagTable, argv: Sequence[str], words: Sequence[str] = (), *, force: bool = False
) -> tuple[str, ...]:
    """The words oracle is really called with.

    A Pro model over the API detaches by itself, exits 0 and leaves no file; so `--wait`
    is added unless the pack decides that itself.
    """
    changed = overridden(table, argv, words)
    used = {use.name for use in parse_argv(table, changed).flags}
    added = [WAIT] if not used & {WAIT, "--no-wait"} else []
    added += [FORCE] if force and FORCE not in used else []
    # In front: at the end a flag that lacks its value would swallow them.
    return (*added, *changed)


def overridden(table: FlagTable, argv: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """The call with these flags in place of its own; lists grow, single values are replaced."""
    changed = tuple(argv)
    for use in parse_argv(table, words).flags:
        changed = _with_flag(table, changed, use)
    return changed


def _with_flag(table: FlagTable, argv: tuple[str, ...], new: FlagUse) -> tuple[str, ...]:
    spelled = new.name if new.value is None else f"{new.name}={new.value}"
    if new.spec.variadic:
        return (spelled, *argv)
    parsed = parse_argv(table, argv)
    old = [use for use in parsed.flags if use.name == new.name or _opposite(use, new)]
    return (spelled, *_without(argv, old))


def _opposite(one: FlagUse, other: FlagUse) -> bool:
    return one.spec.negates == other.name or other.spec.negates == one.name


def _without(argv: Sequence[str], uses: Sequence[FlagUse]) -> list[str]:
    """The words that are left when these flags and their values are taken out."""
    left: dict[int, str | None] = {}
    for use in uses:
        left[use.at] = _cut(argv[use.at], use)
        if use.value_at is not None and use.value_at != use.at:
            left[use.value_at] = None
    remaining = ((left.get(at, word)) for at, word in enumerate(argv))
    return [word for word in remaining if word is not None]


def _cut(word: str, use: FlagUse) -> str | None:
    """What stays of a word: the other switches of a group like `-vm gpt-5.2`."""
    letter = use.spelled[1:]
    if use.spelled.startswith("--") or len(letter) != 1:
        return None
    flag_at = use.value_offset - 1 if use.value_at == use.at else word.index(letter, 1)
    rest = "" if use.value_at is not None else word[flag_at + 1 :]
    others = word[1:flag_at] + rest
    return f"-{others}" if others else None


def redacted_argv(parsed: ParsedArgv, argv: Sequence[str], longest: int = 160) -> tuple[str, ...]:
    """The call as records show it: secret values removed, long texts cut."""
    words = list(argv)
    for use in parsed.flags:
        if use.spec.secret and use.value_at is not None:
            words[use.value_at] = words[use.value_at][: use.value_offset] + BLOT
    return tuple(readable(_shortened(word, longest)) for word in words)


def _shortened(word: str, longest: int) -> str:
    if len(word) <= longest:
        return word
    return f"{word[:longest]}… ({len(word)} characters)"
