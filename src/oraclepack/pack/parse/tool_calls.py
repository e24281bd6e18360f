"""The calls of known tools in a script."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from oraclepack.pack.model import META_BLOCK, META_OPENS, PromptMeta
from oraclepack.pack.parse.bash_script import read_script
from oraclepack.pack.parse.locate import Locator
from oraclepack.pack.parse.variables import Variables
from oraclepack.pack.script import Expansion, ExpansionKind, Script, SimpleCommand, Word
from oraclepack.pack.tool_call import (
    Attachment,
    AttachmentKind,
    Prompt,
    ToolCall,
)
from oraclepack.tools.argv import ArgvWord, PartialWord, parse_argv, split_list
from oraclepack.tools.flag_tables import Role, table_of
from oraclepack.tools.tool_names import ORACLE, SPELLINGS
from oraclepack.tools.wrappers import UnwrappedCommand, unwrap

_PAIR = re.compile(r"^\s*(?P<key>[A-Za-z]+)\s*:\s*(?P<value>.*?)\s*$")
_ITEM = re.compile(r"^\s*[-*]\s+(?P<value>.+?)\s*$")


def meta_of(calls: Iterable[ToolCall]) -> PromptMeta:
    """The metadata of the first prompt that carries some."""
    for call in calls:
        text = call.prompt.text if call.prompt else ""
        match = META_BLOCK.search(text) if META_OPENS in text else None
        if match is not None:
            return _meta(match["body"])
    return PromptMeta()


def _meta(body: str) -> PromptMeta:
    values: dict[str, str] = {}
    items: dict[str, list[str]] = {}
    key = ""
    for line in body.splitlines():
        pair, item = _PAIR.match(line), _ITEM.match(line)
        if item is not None and key:
            items.setdefault(key, []).append(item["value"])
        elif pair is not None:
            key = pair["key"].lower()
            if pair["value"]:
                values.setdefault(key, pair["value"])
    artifacts = items.get("expectedartifacts")
    if artifacts is None and "expectedartifacts" in values:
        listed = values["expectedartifacts"].strip("[]").split(",")
        artifacts = [name.strip().strip("\"'`") for name in listed if name.strip()]
    return PromptMeta(
        question_id=values.get("questionid"),
        category=values.get("category"),
        reference=values.get("reference"),
        expected_artifacts=tuple(artifacts) if artifacts is not None else None,
    )


_GLOB_SIGNS = frozenset("*?[{")
_RUNS_MORE = re.compile(r"`|\$\(")
_MOST_CALLS = 500
"""What one function stands for at most: functions that use each other twice double each time."""
_QUESTIONS = {"command": {"-v", "-V"}, "type": None, "hash": None, "which": None}


class CallScope(msgspec.Struct):
    """Finds calls, and knows what the text before gives to them: functions and guards."""

    functions: dict[str, tuple[ToolCall, ...]] = msgspec.field(default_factory=dict)
    guarded: set[str] = msgspec.field(default_factory=set)
    texts: dict[str, tuple[Expansion, ...]] = msgspec.field(default_factory=dict)
    """What is expanded in the texts of variables, which functions may ask with."""

    def copy(self) -> "CallScope":
        return CallScope(dict(self.functions), set(self.guarded), dict(self.texts))

    def calls_in(self, script: Script) -> tuple[ToolCall, ...]:
        """The calls that a script makes outside its functions, which are known from now on."""
        self.texts.update(script.texts)
        calls: list[ToolCall] = []
        for command in script.commands:
            self.guarded.update(_required_tools(command))
            own_calls = self._calls_of(command)
            if command.function:
                known = self.functions.get(command.function, ())
                self.functions[command.function] = (*known, *own_calls)[:_MOST_CALLS]
            else:
                calls.extend(own_calls)
        return tuple(calls)

    def _calls_of(self, command: SimpleCommand) -> list[ToolCall]:
        # A function named like a tool passes its words on: `oracle() { command oracle -v "$@"; }`.
        if (
            command.name is not None
            and command.name in self.functions
            and command.name not in SPELLINGS
        ):
            via = f"function {command.name}"
            return [
                replace(
                    call,
                    span=command.span,
                    wrappers=(via, *call.wrappers),
                    places=call.places | command.places,
                    expansions=_handed_on(call, command, self.texts),
                )
                for call in self.functions[command.name]
            ]
        unwrapped = unwrap([_argv_word(word) for word in command.words])
        if unwrapped is None:
            return []
        if unwrapped.tool is not None and unwrapped.at is not None:
            return [_call(command, unwrapped.tool, unwrapped.at, unwrapped, self.guarded)]
        return self._inner_calls(command, unwrapped)

    def _inner_calls(self, command: SimpleCommand, unwrapped: UnwrappedCommand) -> list[ToolCall]:
        """The calls of `sh -c '…'`, all placed at the outer command."""
        word = command.words[unwrapped.script_at] if unwrapped.script_at is not None else None
        if word is None or (word.value is None and _RUNS_MORE.search(word.template)):
            return []
        lines = word.display_text.split("\n")
        place = Locator(tuple(line.encode() for line in lines), 1, (0,) * len(lines))
        script, _ = read_script(place, Variables())
        # Its variables are its own.
        inner_scope = CallScope(self.functions, self.guarded)
        inner: list[ToolCall] = []
        signs = [_mark_of_xargs(command, unwrapped), "$" if word.value is None else None]
        for inner_command in script.commands:
            nested = inner_command
            for sign in filter(None, signs):
                nested = replace(nested, words=_doubted(nested.words, sign, splits=True))
            inner_scope.guarded.update(_required_tools(nested))
            inner.extend(inner_scope._calls_of(nested))
        return [
            replace(
                call,
                span=command.span,
                wrappers=(*unwrapped.wrappers, *call.wrappers),
                escapes=unwrapped.escapes or call.escapes,
                places=call.places | command.places,
                expansions=tuple(_nested(call, command)),
            )
            for call in inner
        ]


def _required_tools(command: SimpleCommand) -> Iterable[str]:
    """The tools that a command asks for: `command -v codex`."""
    if not command.words or command.words[0].value not in _QUESTIONS:
        return ()
    words = [word.value or "" for word in command.words]
    needed = _QUESTIONS[words[0]]
    if needed is not None and not needed & set(words[1:]):
        return ()
    return {SPELLINGS[word] for word in words[1:] if word in SPELLINGS}


def _handed_on(
    call: ToolCall, command: SimpleCommand, texts: Mapping[str, tuple[Expansion, ...]]
) -> tuple[Expansion, ...]:
    """What is expanded in the texts of a call that a function makes, those it is given included."""
    expansions = dict.fromkeys(call.expansions)
    for each in call.expansions:
        if each.kind is not ExpansionKind.VARIABLE:
            continue
        words = command.words[1:]
        if each.name.isdecimal():
            words = command.words[int(each.name[:3]) :][:1] if each.name != "0" else ()
        elif each.name not in {"@", "*"}:
            words = ()
            expansions.update(dict.fromkeys(texts.get(each.name, ())))
        expansions.update(dict.fromkeys(one for word in words for one in word.expansions))
    return tuple(expansions)


def _nested(call: ToolCall, command: SimpleCommand) -> Iterator[Expansion]:
    """What the inner shell expands: its variables are its own, its places those of the outer."""
    for each in call.expansions:
        if each.kind is not ExpansionKind.VARIABLE:
            yield replace(each, span=command.span, text=command.span, is_nested=True)


def _doubted(words: Sequence[Word], sign: str, *, splits: bool) -> tuple[Word, ...]:
    """The words, those with a certain sign unknown: something else is put in its place."""
    return tuple(
        replace(word, value=None, splits=word.splits or splits) if sign in word.source else word
        for word in words
    )


def _mark_of_xargs(command: SimpleCommand, unwrapped: UnwrappedCommand) -> str | None:
    """What `xargs -I{}` replaces by what it reads."""
    at = unwrapped.at if unwrapped.script_at is None else unwrapped.script_at
    own = [word.value or "" for word in command.words[:at]] if "xargs" in unwrapped.wrappers else []
    flag = next((index for index, word in enumerate(own) if word.startswith("-I")), None)
    if flag is None:
        return None
    return own[flag].removeprefix("-I") or "".join(own[flag + 1 : flag + 2])


def _call(
    command: SimpleCommand, tool: str, at: int, unwrapped: UnwrappedCommand, guarded: set[str]
) -> ToolCall:
    argv, mark = command.words[at + 1 :], _mark_of_xargs(command, unwrapped)
    if mark is not None:
        argv = _doubted(argv, mark, splits=False)
    loose = [index for index, word in enumerate(argv) if word.splits]
    call = ToolCall(
        tool=tool,
        spelled=command.words[at].source,
        argv=argv,
        parsed=parse_argv(table_of(tool), [_argv_word(word) for word in argv], loose),
        redirects=command.redirects,
        heredocs=command.heredocs,
        places=command.places,
        span=command.span,
        wrappers=unwrapped.wrappers,
        escapes=unwrapped.escapes,
        guarded=tool in guarded,
    )
    named = call.given(Role.PROMPT)
    texts = (*named, *call.operands, *(w for w in argv if w.splits and "[" in w.source))
    # A word that may be several is an array, which holds the prompt among other arguments.
    expansions = dict.fromkeys(each for word in texts for each in word.expansions)
    call = replace(call, expansions=tuple(dict.fromkeys((*expansions, *command.fed))))
    if tool != ORACLE:
        return call
    call = replace(call, attachments=tuple(_attachments(call)))
    sure = [argv[at] for at in call.parsed.operands if at not in call.parsed.uncertain]
    if not named and not sure:
        return call
    word = named[-1] if named else sure[0]
    if word.value == "-" and command.heredocs:
        last = command.heredocs[-1]
        return replace(call, prompt=Prompt(last.body, last.span, complete=last.quoted))
    complete = word.value is not None
    return replace(call, prompt=Prompt(word.template, word.origin or word.span, complete=complete))


def _argv_word(word: Word) -> ArgvWord:
    """The word as far as the text shows it: whole, its beginning, or not at all."""
    if word.value is not None:
        return word.value
    return PartialWord(word.beginning) if word.beginning else None


def _attachments(call: ToolCall) -> Iterator[Attachment]:
    for use in call.parsed.with_role(Role.ATTACHMENT):
        word = call.value(use)
        if word is None:
            continue
        if word.value is None:
            yield Attachment(word.template, AttachmentKind.UNKNOWN, word)
            continue
        for part in split_list(use.spec, word.value):
            yield Attachment(part, _kind(part), word)


def _kind(value: str) -> AttachmentKind:
    if value.startswith("!"):
        return AttachmentKind.EXCLUSION
    return AttachmentKind.GLOB if set(value) & _GLOB_SIGNS else AttachmentKind.LITERAL
