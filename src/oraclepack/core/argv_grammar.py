"""The grammars of argument lists: commander (oracle, task-master), clap (codex), yargs (gemini).

They differ in what may be a value and in when a sub-command is noticed; `RULES` says how.
"""

import re
from collections.abc import Sequence

import msgspec

from oraclepack.core.argv import ArgvProblem, ArgvWord, Begun, FlagUse, ParsedArgv
from oraclepack.core.flag_tables import Command, FlagSpec
from oraclepack.core.tool_names import FlagFault
from oraclepack.errors import nearest
from oraclepack.system.text_limits import regex

_NUMBER = regex(r"-([0-9]+|[0-9]*\.[0-9]+)([eE][+-]?[0-9]+)?")
_NUMERIC = frozenset("0123456789.")
_LONGEST_SUGGESTED = 60


class Rules(msgspec.Struct, frozen=True):
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
    "commander": Rules(any_value=True, short_equals=False, late_commands=True),
    "clap": Rules(numbers_are_values=False),
    "yargs": Rules(plain_booleans=True),
}


def nearest_flag(command: Command, spelled: str) -> str | None:
    """The known long flag that looks most like an unknown one."""
    wanted = spelled.partition("=")[0]
    if not wanted.startswith("--") or len(wanted) > _LONGEST_SUGGESTED:
        return None
    return nearest(wanted, (name for name in command.by_spelling if name.startswith("--")))


class Token(msgspec.Struct, frozen=True):
    """A word on its way through the grammar, or what is left of a group of short flags."""

    at: int
    text: str | None
    """What is known of it; None if that does not even tell whether it is a flag."""
    begun: bool = False
    """More follows that is not known."""
    cut: int = 0
    """How many characters of the word are gone, for the rest of a group."""

    @classmethod
    def of(cls, at: int, word: ArgvWord) -> "Token":
        if isinstance(word, Begun):
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

    command: Command
    rules: Rules
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
    """A hidden word stands before, with no flag since: what follows may be anything."""

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
            below = self.command.commands.get(first.whole or "")
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
        found = []
        for token in self.unknown:
            if token.whole == "--":
                break
            if token.is_flag and token.text is not None:
                spelled = token.text.rstrip("=") if token.begun else token.text
                near = nearest_flag(self.command, spelled)
                found.append(ArgvProblem(FlagFault.UNKNOWN, spelled, token.at, (), near))
        return found

    def _descend(self, below: Command, words: Sequence[Token]) -> None:
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
                # `--fi$x`: a flag, but nobody knows which.
                self._plain(Token(token.at, None))
            else:
                self.unknown.append(token)

    def _plain(self, token: Token) -> None:
        below = self.command.commands.get(token.whole or "")
        if below is not None and not self.rules.late_commands and not self.operands:
            words, self.words = self.words[::-1], []
            self._descend(below, words)
        elif self.unknown:
            self.unknown.append(token)
        else:
            self._operand(token)

    def _find(self, spelled: str) -> FlagSpec | None:
        found = self.command.by_spelling.get(spelled)
        if found is None and self.rules.plain_booleans and spelled.startswith("--"):
            kebab = re.sub(r"(?<=[a-z0-9])[A-Z]", lambda upper: "-" + upper[0].lower(), spelled)
            found = self.command.by_spelling.get(kebab)
        return found

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
