"""How often a command asks the kernel for something, counted by strace: no clock, no noise."""

import re
import subprocess
import tempfile
from collections.abc import Mapping

from bench.scene import Contender, Place

SYSCALLS = ("fsync", "fdatasync", "execve")
LINE = re.compile(r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)(?:\s+(\d+))?\s+(\w+)$", re.MULTILINE)


def counted(one: Contender, place: Place) -> Mapping[str, int]:
    """The successful calls of a command and of all it starts; empty without strace."""
    if not place.found("strace"):
        return {}
    one.before()
    with tempfile.NamedTemporaryFile("r") as summary:
        strace = ["strace", "-f", "-c", "-o", summary.name, "-e", f"trace={','.join(SYSCALLS)}"]
        env = {**place.env, **one.env}
        done = subprocess.run([*strace, *one.argv], env=env, check=False, capture_output=True)
        lines = LINE.findall(summary.read())
    if done.returncode:
        return {}
    found = {name: int(count) - int(failed or 0) for count, failed, name in lines}
    return {name: found.get(name, 0) for name in SYSCALLS}
