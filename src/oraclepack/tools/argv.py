"""An argument list as a tool reads it: its flags, operands, and what the tool would refuse."""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum

import msgspec

from oraclepack.errors import nearest
from oraclepack.tools.flag_tables import Effect, FlagSpec, FlagTable, Role, ToolCommand, table_of
from oraclepack.tools.tool_names import ORACLE, FlagFault


class PartialWord(msgspec.Struct, frozen=True):
    """A word of which only the beginning is known: `--file=$x` begins with `--file=`."""

    text: str


ArgvWord = str | PartialWord | None
"""A word of an argument list. None: only the running shell knows it."""


class FlagUse(msgspec.Struct, frozen=True):
    """One flag of an argument list, with one value: a variadic flag is used once per value."""

    spec: FlagSpec
    spelled: str
    at: int
    """Which word holds the flag."""
    value: str | None = None
    """None: there is no value, or only the running shell knows it (then `value_at` is set)."""
    value_at: int | None = None
    """Which word holds the value; the same as `at` for `--x=y` and `-xy`."""
    value_offset: int = 0
    """Where in that word the value begins."""

    @property
    def name(self) -> str:
        return self.spec.name


class ArgvProblem(msgspec.Struct, frozen=True):
    """A flag the tool would refuse."""

    fault: FlagFault
    spelled: str
    at: int
    allowed: tuple[str, ...] = ()
    nearest: str | None = None
    """For an unknown flag: the known one that looks most like it."""


class ParsedArgv(msgspec.Struct, frozen=True):
    """An argument list (without the tool's own name) as the tool reads it."""

    flags: tuple[FlagUse, ...]
    operands: tuple[int, ...]
    problems: tuple[ArgvProblem, ...] = ()
    excess: tuple[int, ...] = ()
    """Operands beyond what the tool accepts."""
    uncertain: frozenset[int] = frozenset()
    """Operands that may be something else, because a word before them is hidden."""
    hidden: bool = False
    """Some words may become none or several, flags among them."""
    subcommand: str | None = None
    """Sub-commands in order, separated by a space: `status`, `bridge host`."""

    def uses(self, name: str) -> tuple[FlagUse, ...]:
        return tuple(use for use in self.flags if use.name == name)

    def last(self, name: str) -> FlagUse | None:
        """The use that counts when a single value is given several times."""
        return next((use for use in reversed(self.flags) if use.name == name), None)

    def with_role(self, role: Role) -> tuple[FlagUse, ...]:
        return tuple(use for use in self.flags if use.spec.role is role)


_NUMBER = re.compile(r"-([0-9]+|[0-9]*\.[0-9]+)([eE][+-]?[0-9]+)?")
_NUMERIC = frozenset("0123456789.")
_LONGEST_SUGGESTED = 60


class ParserRules(msgspec.Struct, frozen=True):
    """Where the parsers differ."""

    any_value: bool = False
    """A required value may look like a flag."""
    numbers_are_values: bool = True
    short_equals: bool = True
    """`-x=y` gives y, not `=y`."""
    late_commands: bool = False
    """All flags are read first; then the first operand may turn out to be a sub-command."""
    plain_booleans: bool = False
    """Switches know `--x=true`, `--x false`, `--no-x`; names may be spelled in camelCase."""


RULES = {
    "commander": ParserRules(any_value=True, short_equals=False, late_commands=True),
    "clap": ParserRules(numbers_are_values=False),
    "yargs": ParserRules(plain_booleans=True),
}


def nearest_flag(command: ToolCommand, spelled: str) -> str | None:
    """The known long flag that looks most like an unknown one."""
    spelling = spelled.partition("=")[0]
    if not spelling.startswith("--") or len(spelling) > _LONGEST_SUGGESTED:
        return None
    return nearest(spelling, (name for name in command.by_spelling if name.startswith("--")))


class Token(msgspec.Struct, frozen=True):
    """A word that is being parsed, or the rest of a group of short flags."""

    at: int
    text: str | None
    """What is known of it; None if it is unknown whether it is a flag."""
    begun: bool = False
    """More follows that is not known."""
    cut: int = 0
    """How many characters of the word are gone, for the rest of a group."""

    @classmethod
    def of(cls, at: int, word: ArgvWord) -> "Token":
        if isinstance(word, PartialWord):
            return cls(at, word.text if word.text not in {"", "-"} else None, begun=True)
        return cls(at, word)

    @property
    def whole(self) -> str | None:
        """The text, if it is all there is."""
        return None if self.begun else self.text

    @property
    def is_flag(self) -> bool:
        return self.text is not None and len(self.text) > 1 and self.text.startswith("-")

    @property
    def is_number(self) -> bool:
        text = self.whole or ""
        return text[1:2] in _NUMERIC and _NUMBER.fullmatch(text) is not None


class Scan(msgspec.Struct):
    """One pass over the words for one command; a sub-command gets a pass of its own."""

    command: ToolCommand
    rules: ParserRules
    loose: frozenset[int]
    uses: list[FlagUse] = msgspec.field(default_factory=list)
    operands: list[Token] = msgspec.field(default_factory=list)
    uncertain: set[int] = msgspec.field(default_factory=set)
    unknown: list[Token] = msgspec.field(default_factory=list)
    """The first unknown flag and every unplaced word after it."""
    problems: list[ArgvProblem] = msgspec.field(default_factory=list)
    path: list[str] = msgspec.field(default_factory=list)
    words: list[Token] = msgspec.field(default_factory=list)
    variadic: FlagUse | None = None
    doubt: bool = False
    """A hidden word precedes it, with no flag since: what follows may be anything."""

    def read(self, words: Sequence[Token]) -> None:
        self.words = list(reversed(words))
        while self.words:
            token = self.words.pop()
            if token.whole == "--":
                self._rest(token)
            elif self.variadic is not None and self._may_be_value(token):
                self._give(self.variadic, token)
            else:
                self.variadic = None
                self._place(token)
        first = self.operands[0] if self.operands else None
        if self.rules.late_commands and first is not None and first.at not in self.uncertain:
            below = self.command.below.get(first.whole or "")
            if below is not None:
                del self.operands[0]
                unknown, self.unknown = self.unknown, []
                self._descend(below, unknown)

    def result(self, *, hidden: bool) -> ParsedArgv:
        certain = [token.at for token in self.operands if token.at not in self.uncertain]
        limit = self.command.max_operands
        checked = self.command.complete and limit is not None
        refused = self._refused() if self.command.complete else []
        return ParsedArgv(
            flags=tuple(sorted(self.uses, key=lambda use: (use.at, use.value_at or use.at))),
            operands=tuple(token.at for token in self.operands),
            problems=tuple(sorted([*self.problems, *refused], key=lambda p: (p.at, p.spelled))),
            excess=tuple(certain[limit:]) if checked else (),
            uncertain=frozenset(self.uncertain),
            hidden=hidden,
            subcommand=" ".join(self.path) or None,
        )

    def _refused(self) -> list[ArgvProblem]:
        refused = []
        for token in self.unknown:
            if token.whole == "--":
                break
            if token.is_flag and token.text is not None:
                spelled = token.text.rstrip("=") if token.begun else token.text
                near = nearest_flag(self.command, spelled)
                refused.append(ArgvProblem(FlagFault.UNKNOWN, spelled, token.at, (), near))
        return refused

    def _descend(self, below: ToolCommand, words: Sequence[Token]) -> None:
        """Let a sub-command read what is left, and take over what it found."""
        inner = Scan(below, self.rules, self.loose, doubt=self.doubt)
        inner.operands.extend(self.operands)
        inner.read(words)
        self.command = inner.command
        self.uses.extend(inner.uses)
        self.operands, self.unknown = inner.operands, inner.unknown
        self.uncertain |= inner.uncertain
        self.problems.extend(inner.problems)
        self.path = [below.name, *inner.path]

    def _rest(self, token: Token) -> None:
        """`--`: everything after it is no flag."""
        self.variadic = None
        rest, self.words = self.words[::-1], []
        if self.unknown:
            self.unknown.extend([token, *rest])
            return
        for word in rest:
            self._operand(word)

    def _operand(self, token: Token) -> None:
        loose = token.begun and token.at in self.loose
        self.doubt = self.doubt or token.text is None or loose
        self.operands.append(token)
        if self.doubt:
            self.uncertain.add(token.at)

    def _may_be_value(self, token: Token) -> bool:
        return not token.is_flag or (self.rules.numbers_are_values and token.is_number)

    def _place(self, token: Token) -> None:
        text = token.text
        # commander takes a number for an operand only where no sub-command can follow.
        number = token.is_number and not (self.rules.late_commands and self.command.commands)
        if text is None or not token.is_flag:
            self._plain(token)
        elif not (
            self._exact(token, text) or self._group(token, text) or self._equals(token, text)
        ):
            if number and self.rules.numbers_are_values:
                self._plain(token)
            elif token.begun and "=" not in text:
                # `--fi$x`: an unknown flag.
                self._plain(Token(token.at, None))
            else:
                self.unknown.append(token)

    def _plain(self, token: Token) -> None:
        below = self.command.below.get(token.whole or "")
        if below is not None and not self.rules.late_commands and not self.operands:
            words, self.words = self.words[::-1], []
            self._descend(below, words)
        elif self.unknown:
            self.unknown.append(token)
        else:
            self._operand(token)

    def _find(self, spelled: str) -> FlagSpec | None:
        spec = self.command.by_spelling.get(spelled)
        if spec is None and self.rules.plain_booleans and spelled.startswith("--"):
            kebab = re.sub(r"(?<=[a-z0-9])[A-Z]", lambda upper: "-" + upper[0].lower(), spelled)
            spec = self.command.by_spelling.get(kebab)
        return spec

    def _exact(self, token: Token, text: str) -> bool:
        spec = None if token.begun else self._find(text)
        if spec is None:
            return self._negated(token, text)
        use = FlagUse(spec, text, token.at)
        self.doubt = False
        following = self.words[-1] if self.words else None
        if spec.value == "none":
            takes = self.rules.plain_booleans and following and following.whole in {"true", "false"}
        else:
            free = spec.value == "required" and self.rules.any_value
            takes = following and (free or self._may_be_value(following))
        if takes:
            self._give(use, self.words.pop())
            self.variadic = use if spec.variadic else None
            return True
        self.uses.append(use)
        if spec.value == "required":
            self.problems.append(ArgvProblem(FlagFault.NO_VALUE, text, token.at))
        return True

    def _negated(self, token: Token, text: str) -> bool:
        """`--no-x` where the parser makes that up for every switch."""
        spec = self._find("--" + text[5:]) if text.startswith("--no-") else None
        if spec is None or spec.value != "none" or token.begun or not self.rules.plain_booleans:
            return False
        self.uses.append(FlagUse(spec, text, token.at, "false", token.at))
        return True

    def _group(self, token: Token, text: str) -> bool:
        """`-xVALUE`, or `-x` of a group of switches: the rest of the group is read next."""
        spec = self._find(text[:2]) if text[1] != "-" else None
        if spec is None:
            return False
        use, rest = FlagUse(spec, text[:2], token.at), text[2:]
        with_equals = self.rules.short_equals and rest.startswith("=")
        self.doubt = False
        if spec.value == "none" and not (with_equals and self.rules.plain_booleans):
            self.uses.append(use)
            left = "-" + rest if rest else None
            self.words.append(Token(token.at, left, token.begun, token.cut + 1))
        else:
            value = rest[1:] if with_equals else rest
            offset = token.cut + len(text) - len(value)
            self._give(use, Token(token.at, value, token.begun), offset)
        return True

    def _equals(self, token: Token, text: str) -> bool:
        """`--x=y`: this one value and no more, for variadic flags too."""
        name, _, value = text.partition("=")
        spec = self._find(name) if name != text else None
        if spec is None or (spec.value == "none" and not self.rules.plain_booleans):
            return False
        self.doubt = False
        offset = token.cut + len(name) + 1
        self._give(FlagUse(spec, name, token.at), Token(token.at, value, token.begun), offset)
        return True

    def _give(self, use: FlagUse, value: Token, offset: int = 0) -> None:
        given = value.whole
        self.uses.append(FlagUse(use.spec, use.spelled, use.at, given, value.at, offset))
        self.doubt = given is None and value.at in self.loose
        choices = use.spec.choices
        if choices and given is not None and given not in choices:
            problem = ArgvProblem(FlagFault.BAD_CHOICE, use.spelled, use.at, choices)
            self.problems.append(problem)


def parse_argv(
    table: FlagTable, argv: Sequence[ArgvWord], splits: Collection[int] | None = None
) -> ParsedArgv:
    """Read an argument list as the tool would; total on every list.

    None stands for a word that only the running shell knows, `PartialWord` for one that is known in
    part. `splits` names those of them that may become no word or several (arrays, unquoted
    expansions); without it, each of them may.
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
    """How a value is read in another way than its author meant, without an error."""

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


def lost_values(table: FlagTable, parsed: ParsedArgv) -> tuple[LostValue, ...]:
    """Values that a call loses without an error of the tool, in the order of the words."""
    losses: list[LostValue] = []
    for use in parsed.with_role(Role.ATTACHMENT):
        pieces = split_list(use.spec, use.value) if use.value is not None else ()
        if len(pieces) > 1 and use.value_at is not None:
            is_cut = any(piece.count("{") != piece.count("}") for piece in pieces)
            losses.append(LostValue(Loss.BRACES_SPLIT if is_cut else Loss.LIST_SPLIT, use.value_at))
    if parsed.subcommand is None and table.root.max_operands == 1:
        # One operand beside a prompt flag is dropped; two are an error the tool reports itself.
        beside = set(parsed.operands) - parsed.uncertain - set(parsed.excess)
        has_prompt = bool(parsed.with_role(Role.PROMPT))
        losses += [LostValue(Loss.IGNORED_OPERAND, at) for at in beside if has_prompt]
        losses += _swallowed_prompt(parsed)
    return tuple(sorted(losses, key=lambda value: (value.at, value.loss)))


def _swallowed_prompt(parsed: ParsedArgv) -> Iterator[LostValue]:
    asks = not any(use.spec.effect is Effect.INSPECT for use in parsed.flags)
    if parsed.with_role(Role.PROMPT) or parsed.operands or parsed.hidden or not asks:
        return
    files = [use for use in parsed.with_role(Role.ATTACHMENT) if use.spec.variadic]
    last = files[-1] if files else None
    # The first value of a list is what the flag was written for; only a later one strayed in.
    if last is not None and any(use.at == last.at for use in files[:-1]):
        assert last.value_at is not None
        yield LostValue(Loss.SWALLOWED_PROMPT, last.value_at)


def refused_flag(text: str, *, per_step: bool) -> str | None:
    """The first flag in a text that a project may not set; with `per_step`, after `03,07:`.

    The text is read as it is for the call. What cannot be read as flags is named as a whole.
    """
    flags = text.partition(":")[2] if per_step else text
    try:
        parsed = parse_argv(table_of(ORACLE), flag_words(flags))
    except ValueError:
        return repr(flags)
    refused = next((use.spec.name for use in parsed.flags if not use.spec.project), None)
    if refused is not None:
        return refused
    plain = parsed.flags and not (parsed.problems or parsed.operands or parsed.subcommand)
    return None if plain else repr(flags)


def flag_words(text: str) -> tuple[str, ...]:
    """One flag, or several separated by spaces. After `--x=` everything is the value.

    Raises ValueError where a quotation does not end.
    """
    head = text.strip().partition("=")[0]
    if head.startswith("--") and " " not in head and "=" in text and " --" not in text:
        return (text.strip(),)
    return tuple(shlex.split(text))
