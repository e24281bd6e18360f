"""Which machine this is, and whether a recorded process can be looked up on it.

A process number means something only under the kernel and in the process namespace where it was
written down. Two machines, or two containers, may share a project directory. Their names prove
nothing, since machines are copied from images: a machine is a random id in the user's state
directory, made anew under each start of the kernel.
"""

import os
import re
from contextlib import suppress
from enum import StrEnum
from functools import cache
from pathlib import Path

import msgspec

from oraclepack.errors import MachineError
from oraclepack.system.environment import environment, host, state_directory
from oraclepack.system.user_secrets import make_secret, read_secret, secret_file

MACHINE_VARIABLE = "ORACLEPACK_MACHINE"
"""`NAME/BOOT`: another identity than the system reports; NAME is unique, by the user's word."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = "/proc/self/ns/pid"
_FIRST_NAMESPACE = "pid:[4026531836]"
"""The process namespace that every Linux kernel starts with: no container."""
_FOLDER = "machines"
_WHAT = "the id of this machine"
_ID_LENGTH = 16


class Machine(msgspec.Struct, frozen=True):
    """Where process numbers are valid. An empty text: the system does not say."""

    host: str
    """A name for people; several machines may have it."""
    boot: str = ""
    """Changes with every start of the kernel."""
    namespace: str = ""
    """The process namespace, where it is not the kernel's first one: a container."""
    id: str = ""
    """Random, kept in the state directory, and another one after every start of the kernel.

    Empty in records of 0.2.0, and where no state directory can be written.
    """


class ProcessLocation(StrEnum):
    """What this machine can say about a process that was recorded with its machine."""

    HERE = "here"
    """Its number can be looked up."""
    GONE = "gone"
    """It ran here before the machine was started again, so it has ended."""
    ELSEWHERE = "elsewhere"
    """Another machine or container: nothing can be said from here."""


def this_machine() -> Machine:
    """The machine to be recorded; its id is made if there is none."""
    return _with_id(state_directory())


@cache
def _with_id(_: Path) -> Machine:
    """The machine, read once for a state directory."""
    here = _reported()
    if here.id:
        return here
    with suppress(MachineError):
        return msgspec.structs.replace(here, id=_text(make_secret(_id_file(here.boot), _WHAT)))
    return here


def process_location(recorded: Machine | None, here: Machine | None = None) -> ProcessLocation:
    """Whether a process of the recorded machine can be looked up here. Changes nothing.

    Records of 0.1.0 name no machine; they were made where they are read.
    """
    if recorded is None:
        return ProcessLocation.HERE
    if here is None:
        here = _reported()
        here = here if here.id else msgspec.structs.replace(here, id=_id_under(here.boot))
    is_same_start = (recorded.boot, recorded.namespace) == (here.boot, here.namespace)
    has_ids = bool(recorded.id and here.id)
    is_same = recorded.id == here.id if has_ids else recorded.host == here.host
    if is_same_start and is_same:
        return ProcessLocation.HERE
    is_restarted = recorded.boot != here.boot and bool(recorded.boot and here.boot)
    is_container = bool(recorded.namespace or here.namespace)
    if is_restarted and not is_container and _is_earlier_start(recorded, here):
        return ProcessLocation.GONE
    return ProcessLocation.ELSEWHERE


def _is_earlier_start(recorded: Machine, here: Machine) -> bool:
    """Whether the state directory holds the id that this machine had before it was started again.

    A copy of the machine has an id of its own. A state directory on a network file system holds
    the ids of several machines, which are told apart by their names.
    """
    if not recorded.id or recorded.host != here.host:
        return False
    return recorded.id in {here.id, _id_under(recorded.boot)}


def _reported() -> Machine:
    """What the user or the system says; the id is empty unless the user gave one."""
    given = environment().get(MACHINE_VARIABLE, "")
    if given:
        name, _, boot = given.partition("/")
        return Machine(name, boot, id=name)
    try:
        boot = _BOOT_ID.read_text("ascii").strip()
        namespace = os.readlink(_NAMESPACE)
    except OSError:
        return Machine(host())
    return Machine(host(), boot, "" if namespace == _FIRST_NAMESPACE else namespace)


def _id_file(boot: str) -> Path:
    name = boot if re.fullmatch(r"[\w-]+", boot, re.ASCII) else "unknown"
    return secret_file(f"{_FOLDER}/{name}", _WHAT)


def _id_under(boot: str) -> str:
    """The id that the state directory has for a start of the kernel; empty where it has none."""
    try:
        return _text(read_secret(_id_file(boot), _WHAT) or b"")
    except MachineError:
        return ""


def _text(secret: bytes) -> str:
    return secret.decode("ascii", "replace").strip()[:_ID_LENGTH]
