"""Everything that is wrong with the arguments of a command, at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from oraclepack.errors import did_you_mean

_MOST_ROUNDS = 20
"""Unknown options that are looked for; the rest is noticed the next time."""


class ArgumentsError(click.UsageError):
    """Several things are wrong with the arguments."""

    def __init__(self, faults: Sequence[click.UsageError], ctx: click.Context) -> None:
        super().__init__(f"{len(faults)} arguments cannot be used", ctx)
        self.lines = tuple(map(_line, faults))


def all_faults(
    command: click.Command, ctx: click.Context, args: Sequence[str], first: click.UsageError
) -> click.UsageError:
    """Click stops at the first fault; this goes through the arguments once more for the others."""
    faults = list(_faults(command, ctx, list(args)))
    if len(faults) < 2:
        return first
    return ArgumentsError(faults, ctx)


def _faults(
    command: click.Command, ctx: click.Context, args: list[str]
) -> Iterator[click.UsageError]:
    fresh = click.Context(command, parent=ctx.parent, info_name=ctx.info_name)
    for _ in range(_MOST_ROUNDS):
        try:
            values, rest, _order = command.make_parser(fresh).parse_args(list(args))
        except click.NoSuchOption as unknown:
            yield unknown
            left = [word for word in args if word.partition("=")[0] != unknown.option_name]
            if len(left) == len(args):
                return
            args = left
        except click.UsageError as fault:
            yield fault
            return
        else:
            break
    else:
        return
    for param in command.get_params(fresh):
        if param.is_eager:
            continue
        try:
            _, rest = param.handle_parse_result(fresh, values, rest)
        except click.UsageError as fault:
            yield fault
    if rest:
        yield click.UsageError(f"Got unexpected extra argument{'s' * (len(rest) > 1)} "
                               f"({' '.join(rest)})", ctx)  # fmt: skip


def _line(fault: click.UsageError) -> str:
    if isinstance(fault, click.NoSuchOption):
        hint = did_you_mean(fault.option_name, fault.possibilities or ())
        return f"{fault.message}{f' ({hint})' if hint else ''}"
    return " ".join(fault.format_message().split())
