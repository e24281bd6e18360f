"""Calls that mean something wherever they stand: requests, checks and changes of files."""

from functools import cache
from pathlib import Path

import msgspec

from oraclepack.authoring.source_facts import Mark


class _Calls(msgspec.Struct, frozen=True):
    """The tables of `calls.toml`."""

    exit_handlers: frozenset[str]
    waiting_processes: frozenset[str]
    requests: dict[str, frozenset[str]]


@cache
def _tables() -> _Calls:
    return msgspec.toml.decode((Path(__file__).parent / "calls.toml").read_bytes(), type=_Calls)


def is_exit_handler(call: Mark) -> bool:
    """Whether a call installs what runs on a signal or at the end."""
    return call.name in _tables().exit_handlers


def label(name: str) -> str:
    """The name of a call as a question writes it, without what stands for an expression."""
    return name.removeprefix("().")


def method(name: str) -> str:
    """The last part of a dotted name."""
    return name.replace("::", ".").rpartition(".")[2]


def is_unlimited_request(language: str, call: Mark) -> bool:
    """Whether a call waits for another machine, as far as its own arguments say without a limit."""
    limits = {"kw:timeout", "kw:signal", "kw:**"}
    return call.name in _tables().requests.get(language, ()) and not limits & call.flags


def is_unlimited_process(call: Mark) -> bool:
    """Whether a call waits for a program that it starts, without a limit."""
    return call.name in _tables().waiting_processes and not {"kw:timeout", "kw:**"} & call.flags
