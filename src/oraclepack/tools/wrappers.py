"""Finds the tool behind wrappers such as `env`, `timeout`, `npx` and `sh -c`."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from oraclepack.tools.argv import ArgvWord, PartialWord
from oraclepack.tools.tool_names import SPELLINGS


class UnwrappedCommand(msgspec.Struct, frozen=True):
    """What a simple command really calls: a tool, or a script text for another shell."""

    tool: str | None = None
    """The name we know the tool by; None when the command runs a script text."""
    at: int | None = None
    """Which word names the tool; its arguments begin after it."""
    script_at: int | None = None
    """Which word is the script text of `sh -c`."""
    wrappers: tuple[str, ...] = ()
    """Outermost first, as in `env`, `timeout`, `bash -lc`."""
    escapes: str | None = None
    """Why this call cannot be intercepted."""
    more_arguments: bool = False
    """The wrapper adds arguments of its own at the end (`xargs`)."""


class _Wrapper(msgspec.Struct, frozen=True):
    """How a program's own options end and the command it runs begins."""

    valued: str = ""
    """Short options with a value."""
    valued_long: tuple[str, ...] = ()
    operands: int = 0
    """Words of its own before the command (the duration of `timeout`)."""
    assignments: bool = False
    questions: str = ""
    """Short options that print the command instead of running it."""
    escapes: str | None = None
    adds_arguments: bool = False


_WRAPPERS = {
    "builtin": _Wrapper(),
    "command": _Wrapper(questions="vV"),
    "env": _Wrapper("uCaS", ("--unset", "--chdir", "--argv0", "--split-string"), assignments=True),
    "exec": _Wrapper("a"),
    "ionice": _Wrapper("cn", ("--class", "--classdata"), questions="pPu"),
    "nice": _Wrapper("n", ("--adjustment",)),
    "nohup": _Wrapper(),
    "setsid": _Wrapper(),
    "stdbuf": _Wrapper("ioe", ("--input", "--output", "--error")),
    "sudo": _Wrapper(
        "ugpCDhRTtUr",
        ("--user", "--group", "--prompt", "--chdir", "--host", "--chroot", "--role", "--type"),
        assignments=True,
        questions="lvVkK",
        escapes="sudo starts from an environment of its own",
    ),
    "time": _Wrapper("fo", ("--format", "--output")),
    "timeout": _Wrapper("ks", ("--kill-after", "--signal"), operands=1),
    "xargs": _Wrapper(
        "adEILnPs",
        (
            "--arg-file",
            "--delimiter",
            "--max-lines",
            "--max-args",
            "--max-procs",
            "--max-chars",
            "--process-slot-var",
        ),
        adds_arguments=True,
    ),
}
_SHELL = _Wrapper("oO", ("--rcfile", "--init-file"))
_SHELLS = ("bash", "dash", "ksh", "sh", "zsh")
_PACKAGES = {
    "@steipete/oracle": "oracle",
    "@openai/codex": "codex",
    "@google/gemini-cli": "gemini",
    "task-master-ai": "task-master",
}
_RUNNER = _Wrapper("pcw", ("--package", "--call", "--workspace"))
_RUNNERS = ("npx", "bunx", "pnpx")
_RUN_WORDS = {"pnpm": ("dlx", "exec"), "yarn": ("dlx",), "npm": ("exec", "x"), "bun": ("x",)}
"""Package managers that run a package's program after a word of their own."""


PACKAGE_RUNNERS = frozenset((*_RUNNERS, *_RUN_WORDS))
"""Programs that fetch the tool themselves: it need not be installed."""


def runs_a_package(words: Sequence[str]) -> bool:
    """Whether a call of a package runner starts some package's program (`npx x`, `pnpm dlx x`)."""
    name, *rest = words
    first = next((word for word in rest if not word.startswith("-")), "")
    return name in _RUNNERS or first in _RUN_WORDS.get(name, ())


def unwrap(command: Sequence[ArgvWord]) -> UnwrappedCommand | None:
    """The tool or script text that a simple command runs, or None if it is neither.

    None among the words is one that only the running shell knows. Total on every list.
    """
    words = [_known(word) for word in command]
    at, unwrapped, names = 0, UnwrappedCommand(), list[str]()
    while at < len(words) and (name := words[at]) is not None:
        base = name.rpartition("/")[2]
        if base in _WRAPPERS:
            wrapper = _WRAPPERS[base]
            own = _own_words(words, at + 1, wrapper)
            if own is None:
                return None
            names.append(base)
            at, unwrapped = (
                own.end,
                replace(
                    unwrapped,
                    script_at=own.value_at("-S", "--split-string") if base == "env" else None,
                    escapes=unwrapped.escapes or wrapper.escapes or _escape(base, own),
                    more_arguments=unwrapped.more_arguments or wrapper.adds_arguments,
                ),
            )
            if unwrapped.script_at is not None:
                return replace(unwrapped, wrappers=tuple(names))
        else:
            return _without_wrapper(words, at, name, replace(unwrapped, wrappers=tuple(names)))
    return None


def _known(word: ArgvWord) -> str | None:
    """Of a half known word, `PATH=/opt:$PATH`, the name is all we need."""
    if isinstance(word, PartialWord):
        return word.text if "=" in word.text else None
    return word


def _without_wrapper(
    words: Sequence[str | None], at: int, name: str, unwrapped: UnwrappedCommand
) -> UnwrappedCommand | None:
    """A word that is no wrapper: a tool, a shell, a package runner, or nothing of ours."""
    base = name.rpartition("/")[2]
    following = words[at + 1] if at + 1 < len(words) else None
    if base in SPELLINGS:
        return _called_by(name, replace(unwrapped, tool=SPELLINGS[base], at=at))
    if base in _SHELLS:
        return _shell(words, at, base, unwrapped)
    if base in _RUNNERS:
        return _package(words, at + 1, base, _called_by(name, unwrapped))
    if following is not None and following in _RUN_WORDS.get(base, ()):
        return _package(words, at + 2, f"{base} {following}", unwrapped)
    return None


def _called_by(name: str, unwrapped: UnwrappedCommand) -> UnwrappedCommand:
    """A program named with a slash is not looked for on PATH."""
    if "/" in name and unwrapped.escapes is None:
        return replace(unwrapped, escapes=f"{name} is a path, so PATH is not asked")
    return unwrapped


def _escape(base: str, own: "_WrapperOptions") -> str | None:
    empties = {"env": ("-i", "-", "--ignore-environment"), "exec": ("-c",)}.get(base, ())
    if own.has(*empties):
        return f"{base} {empties[0]} empties the environment"
    if any(word.startswith("PATH=") for word in own.assignments):
        return f"{base} sets a PATH of its own"
    return None


class _WrapperOptions(msgspec.Struct, frozen=True):
    """A wrapper's options, each with the place of its value, and where the command begins."""

    options: tuple[tuple[str, int | None], ...]
    assignments: tuple[str, ...]
    end: int

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)

    def value_at(self, *names: str) -> int | None:
        """Which word is the value of one of these options; None also where it is left out."""
        values = (at for name, at in self.options if name in names and at is not None)
        return next((at for at in values if at < self.end), None)


def _own_words(words: Sequence[str | None], at: int, wrapper: _Wrapper) -> _WrapperOptions | None:
    """Read a wrapper's own words; None when it answers a question instead of running anything."""
    options: list[tuple[str, int | None]] = []
    assignments: list[str] = []
    operands, only_words = wrapper.operands, False
    while at < len(words):
        word = words[at]
        if word is not None and word.startswith("-") and not only_words:
            only_words = word == "--"
            options += (read := _options_of(word, at, wrapper))
            at += 2 if any(value == at + 1 for _, value in read) else 1
            continue
        # env 'A=$b' is a hidden word here; the command after env is not written that way.
        if wrapper.assignments and (word is None or _is_assignment(word)):
            assignments.append(word or "")
        elif operands:
            operands -= 1
        else:
            break
        at += 1
    if any(name[1:] in wrapper.questions for name, _ in options if len(name) == len("-v")):
        return None
    return _WrapperOptions(tuple(options), tuple(assignments), min(at, len(words)))


def _options_of(word: str, at: int, wrapper: _Wrapper) -> list[tuple[str, int | None]]:
    """The options in one word, each with the index of the word that holds its value, if any."""
    if word.startswith("--") or len(word) == 1:
        name, equals, _ = word.partition("=")
        takes_next = name in wrapper.valued_long and not equals
        return [(name, at + 1 if takes_next else None)]
    options: list[tuple[str, int | None]] = []
    for position, letter in enumerate(word[1:], start=2):
        takes_value = letter in wrapper.valued
        takes_next = takes_value and position == len(word)
        options.append((f"-{letter}", at + 1 if takes_next else None))
        if takes_value:
            break
    return options


def _is_assignment(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.isidentifier()


def _shell(
    words: Sequence[str | None], at: int, base: str, unwrapped: UnwrappedCommand
) -> UnwrappedCommand | None:
    """`bash -lc TEXT`: the text is a script of its own. A file is not read."""
    own = _own_words(words, at + 1, _SHELL)
    if own is None or not own.has("-c") or own.end >= len(words):
        return None
    login = own.has("-l", "--login")
    # Only bash reads BASH_ENV after the profile, and so finds our shims.
    escapes = f"{base} -l reads the login profile, which may reset PATH"
    return replace(
        unwrapped,
        script_at=own.end,
        wrappers=(*unwrapped.wrappers, f"{base} -{'l' if login else ''}c"),
        escapes=unwrapped.escapes or (escapes if login and base != "bash" else None),
    )


def _package(
    words: Sequence[str | None], at: int, runner: str, unwrapped: UnwrappedCommand
) -> UnwrappedCommand | None:
    """`npx -y @steipete/oracle@1 …`: the tool by its package, or by its name out of one."""
    own = _own_words(words, at, _RUNNER)
    assert own is not None, "package runners answer no questions"
    unwrapped = replace(unwrapped, wrappers=(*unwrapped.wrappers, runner))
    if runner != "npx":
        unwrapped = replace(
            unwrapped, escapes=unwrapped.escapes or f"{runner} starts the package itself"
        )
    if (text_at := own.value_at("-c", "--call")) is not None:
        why = f"{runner} -c puts the package's programs first on PATH"
        return replace(unwrapped, script_at=text_at, escapes=unwrapped.escapes or why)
    name = words[own.end] if own.end < len(words) else None
    scope, _, rest = (name or "").rpartition("/")
    package = f"{scope}/{rest.partition('@')[0]}" if scope else rest.partition("@")[0]
    tool = _PACKAGES.get(package) or SPELLINGS.get(package)
    return replace(unwrapped, tool=tool, at=own.end) if tool is not None else None
