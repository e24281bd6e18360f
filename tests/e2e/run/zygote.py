"""Starts oraclepack again and again without paying for its imports each time.

A process of its own, with one thread: it reads requests as lines of JSON, forks, and the child
becomes the program as `python -m oraclepack` would be, in a given directory and environment.
On request the child's disk fails or kills it at a given operation, or a function of the tests
changes the child from inside: `"inside": {"tests.some.module:function": {…its arguments…}}`.
"""

import contextlib
import errno
import gc
import importlib
import json
import os
import pkgutil
import signal
import sys
from pathlib import Path
from typing import Any

import oraclepack
from oraclepack.cli import error_boundary
from oraclepack.cli.commands.run import run
from oraclepack.run import execute, request, run_report
from oraclepack.system import disk
from tests.packs import findings_of, pack_text

Request = dict[str, Any]


def serve() -> None:
    """Answer until the requests end."""
    for line in sys.stdin:
        request = json.loads(line)
        match request["do"]:
            case "start":
                reply: object = start(request)
            case "wait":
                reply = os.waitstatus_to_exitcode(os.waitpid(request["pid"], 0)[1])
            case "load":
                reply = load_everything()
            case "import":
                reply = bool(importlib.import_module(request["name"]))
            case other:
                raise ValueError(other)
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def load_everything() -> int:
    """Import every module of the program whose libraries are there; how many there are.

    For tests that run every command: a fork then imports nothing.
    """
    names = [one.name for one in pkgutil.walk_packages(oraclepack.__path__, "oraclepack.")]
    for name in names:
        if not name.endswith("__main__") and ".shim" not in name:
            with contextlib.suppress(ModuleNotFoundError):  # an extra that is not installed
                importlib.import_module(name)
    gc.freeze()  # a collection in a fork would copy every page of what was loaded
    return len(names)


def start(request: Request) -> int:
    """Fork a child that answers one command line; its process id."""
    child = os.fork()
    if child:
        return child
    try:
        become(request)
        code = error_boundary.run(request["args"], is_process=True)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001 - the child must never return to the loop
        import traceback

        traceback.print_exc()
        code = 99
    os._exit(code)


def become(request: Request) -> None:
    for descriptor, name in ((1, "out"), (2, "err")):
        opened = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, descriptor)
        os.close(opened)
    given = os.open(request.get("stdin") or os.devnull, os.O_RDONLY)
    os.dup2(given, 0)
    os.close(given)
    os.setsid()
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    fault = request.get("fault")
    if fault is not None:
        disk.set_hook(Fault(**fault))
    for name, given in request.get("inside", {}).items():
        module, _, function = name.partition(":")
        getattr(importlib.import_module(module), function)(**given)


class Fault:
    """What the disk does to the program, by the number of the operation."""

    def __init__(
        self,
        *,
        notes: str,
        kill: int = 0,
        torn: int | None = None,
        fail: int = 0,
        once: bool = False,
        code: int = errno.ENOSPC,
        only: str = "",
        path: str = "",
        after: str = "",
    ) -> None:
        self._notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._kill = kill
        self._torn = torn
        self._fail = fail
        self._once = once
        self._code = code
        self._only = only
        self._path = path
        self._after = after
        self._count = 0

    def __call__(self, operation: str, path: str) -> int | None:
        if self._after:
            self._after = "" if self._after in path else self._after
            return None
        if (self._only and operation != self._only) or self._path not in path:
            return None
        self._count += 1
        number = self._count
        os.write(self._notes, f"{operation} {Path(path).name}\n".encode())
        if self._kill and number == self._kill and operation == "write" and self._torn is not None:
            return self._torn
        if self._kill and number >= self._kill:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._fail and (number == self._fail or (number > self._fail and not self._once)):
            raise OSError(self._code, os.strerror(self._code), path)
        return None


if __name__ == "__main__":
    assert all((run, run_report, request, execute))  # loaded once, for all that is started
    findings_of(pack_text("# 01) x\ntrue\n"))  # loads what is loaded late
    serve()
