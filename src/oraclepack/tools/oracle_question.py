"""What a call of oracle asks: its prompt, its files, whom, and where the answer goes."""

import posixpath
from collections.abc import Mapping, Sequence

import msgspec

from oraclepack.tools.argv import ParsedArgv, split_list
from oraclepack.tools.flag_tables import Effect, Role

STDIN = "-"
"""A prompt of this text stands for what is read from stdin."""

_OWN_PARTS = frozenset(("--prompt", "--file", "--model", "--models", "--engine", "--browser"))
_PAID_COMMANDS = frozenset(("restart",))


class OracleQuestion(msgspec.Struct, frozen=True):
    """A call of oracle, read as oracle reads it."""

    prompt: str
    """Trimmed, as oracle sends it; empty when there is none."""
    files: tuple[str, ...] = ()
    """The values of `--file`, cut at commas, each once."""
    output: str | None = None
    model: str | None = None
    models: tuple[str, ...] = ()
    """Only where several models are asked at once."""
    engine: str | None = None
    flags: Mapping[str, tuple[str, ...]] = {}
    """Every other flag that changes the answer, with its values."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """The files the answer is promised in."""
        if self.output is None:
            return ()
        if not self.models:
            return (self.output,)
        return tuple(model_output(self.output, model) for model in self.models)


def asks_a_model(parsed: ParsedArgv, argv: Sequence[str]) -> bool:
    """Whether a call of oracle may cost anything at all."""
    if parsed.subcommand is not None:
        return parsed.subcommand in _PAID_COMMANDS
    return bool(argv) and not any(use.spec.effect is Effect.INSPECT for use in parsed.flags)


def reads_stdin(parsed: ParsedArgv, argv: Sequence[str]) -> bool:
    return _raw_prompt(parsed, argv) == STDIN


def read_question(parsed: ParsedArgv, argv: Sequence[str], stdin: str = "") -> OracleQuestion:
    """The question of a call; `stdin` is what `-p -` would read."""
    raw = _raw_prompt(parsed, argv)
    named = parsed.last("--models")
    models = split_list(named.spec, named.value) if named and named.value else ()
    attached = (
        piece
        for use in parsed.with_role(Role.ATTACHMENT)
        for piece in split_list(use.spec, use.value or "")
    )
    single = models[0] if len(models) == 1 else _value(parsed, "--model")
    return OracleQuestion(
        prompt=(stdin if raw == STDIN else raw).strip(),
        files=tuple(dict.fromkeys(attached)),
        output=_value(parsed, "--write-output"),
        model=None if len(models) > 1 else single,
        models=models if len(models) > 1 else (),
        engine="browser" if parsed.last("--browser") else _value(parsed, "--engine"),
        flags=_answer_flags(parsed),
    )


def model_output(path: str, model: str) -> str:
    """Where the answer of one of several models goes: `x.md` becomes `x.<model>.md`."""
    stem, extension = posixpath.splitext(path)
    return f"{stem}.{model}{extension}"


def written_paths(parsed: ParsedArgv) -> tuple[tuple[str, str], ...]:
    """Every flag by which a call, of whatever tool, names a path it writes to, and the path."""
    return tuple(
        (use.spelled, use.value)
        for use in parsed.flags
        if use.spec.role in {Role.OUTPUT, Role.SIDE_FILE} and use.value is not None
    )


def _raw_prompt(parsed: ParsedArgv, argv: Sequence[str]) -> str:
    given = [use.value for use in parsed.with_role(Role.PROMPT) if use.value is not None]
    if given:
        return given[-1]
    return argv[parsed.operands[0]] if parsed.operands and parsed.subcommand is None else ""


def _value(parsed: ParsedArgv, name: str) -> str | None:
    use = parsed.last(name)
    return use.value if use else None


def _answer_flags(parsed: ParsedArgv) -> dict[str, tuple[str, ...]]:
    flags: dict[str, tuple[str, ...]] = {}
    for use in parsed.flags:
        if use.spec.effect is not Effect.ANSWER or use.name in _OWN_PARTS:
            continue
        # Of these all values count, not only the last one.
        repeats = use.spec.variadic or use.name == "--browser-follow-up"
        before = flags.get(use.name, ()) if repeats else ()
        flags[use.name] = (*before, "" if use.value is None else use.value)
    return flags
