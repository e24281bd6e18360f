"""Which machine this is, and whether a recorded process can be looked up on it.

A process number means something only under the kernel and in the process namespace where it was
written down. Two machines, or two containers, may share a project directory.
"""

import os
from enum import StrEnum
from functools import cache
from pathlib import Path

import msgspec

from oraclepack.system.environment import environment, host

MACHINE_VARIABLE = "ORACLEPACK_MACHINE"
"""`HOST/BOOT`: another identity than the system reports, for clusters whose hosts share a name."""
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_NAMESPACE = "/proc/self/ns/pid"
_FIRST_NAMESPACE = "pid:[4026531836]"
"""The process namespace that every Linux kernel starts with: no container."""


class Machine(msgspec.Struct, frozen=True):
    """Where process numbers are valid. An empty text: the system does not say."""

    host: str
    boot: str = ""
    """Changes with every start of the kernel."""
    namespace: str = ""
    """The process namespace, where it is not the kernel's first one: a container."""


class ProcessLocation(StrEnum):
    """What this machine can say about a process that was recorded with its machine."""

    HERE = "here"
    """Its number can be looked up."""
    GONE = "gone"
    """It ran here before the machine was started again, so it has ended."""
    ELSEWHERE = "elsewhere"
    """Another machine or container: nothing can be said from here."""


@cache
def this_machine() -> Machine:
    given = environment().get(MACHINE_VARIABLE, "")
    if given:
        name, _, boot = given.partition("/")
        return Machine(name, boot)
    try:
        boot = _BOOT_ID.read_text("ascii").strip()
        namespace = os.readlink(_NAMESPACE)
    except OSError:
        return Machine(host())
    return Machine(host(), boot, "" if namespace == _FIRST_NAMESPACE else namespace)


def process_location(recorded: Machine | None, here: Machine) -> ProcessLocation:
    """Whether a process of the recorded machine can be looked up here.

    Records of 0.1.0 name no machine; they were made where they are read.
    """
    if recorded is None or recorded == here:
        return ProcessLocation.HERE
    is_restarted = recorded.boot != here.boot and bool(recorded.boot and here.boot)
    is_container = bool(recorded.namespace or here.namespace)
    if recorded.host == here.host and is_restarted and not is_container:
        return ProcessLocation.GONE
    return ProcessLocation.ELSEWHERE
