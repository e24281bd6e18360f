"""Calls that mean something wherever they stand: requests, checks and changes of files."""

import re
from functools import cache
from pathlib import Path

import msgspec

from oraclepack.authoring.source_facts import Mark


class _Calls(msgspec.Struct, frozen=True):
    """The tables of `calls.toml`."""

    file_changes: frozenset[str]
    file_methods: frozenset[str]
    opening: frozenset[str]
    existence: frozenset[str]
    existence_methods: frozenset[str]
    exit_handlers: frozenset[str]
    waiting_processes: frozenset[str]
    requests: dict[str, frozenset[str]]


@cache
def _tables() -> _Calls:
    return msgspec.toml.decode((Path(__file__).parent / "calls.toml").read_bytes(), type=_Calls)


_FOR_WRITING = re.compile(r"[\"'][wax]b?\+?[\"']")


def is_plain(name: str) -> bool:
    """Whether a call is about its first argument, not about the object before the dot."""
    tables = _tables()
    return name in tables.file_changes | tables.opening | tables.existence


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


def is_file_change(call: Mark, line: str) -> bool:
    """Whether a call changes the file or directory that its first argument names."""
    if call.name in _tables().opening:
        return _FOR_WRITING.search(line) is not None
    is_method = method(call.name) in _tables().file_methods and "." in call.name
    return call.name in _tables().file_changes or is_method


def is_existence_check(call: Mark) -> bool:
    is_method = method(call.name) in _tables().existence_methods and "." in call.name
    return call.name in _tables().existence or is_method
