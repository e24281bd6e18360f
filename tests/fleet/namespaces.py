"""Machines as network namespaces: each reaches the head over a cable that can be pulled."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

HEAD = "10.77.0.1"
"""The address of the database and the scheduler."""


class NoNamespacesError(Exception):
    """Network namespaces cannot be made here."""


class Namespace:
    """A machine with a network of its own."""

    def __init__(self, number: int) -> None:
        base = f"op{os.getpid() % 100000}"
        self.name = f"{base}n{number}"
        self._cable = f"{base}v{number}"
        self._near, self._far = f"10.77.{number + 1}.1", f"10.77.{number + 1}.2"

    @property
    def address(self) -> str:
        return self._far

    @property
    def inside(self) -> Sequence[str]:
        """The words before a command that runs there."""
        return ("ip", "netns", "exec", self.name)

    def make(self) -> None:
        peer = f"{self._cable}p"
        _ip("netns", "add", self.name)
        _ip("link", "add", self._cable, "type", "veth", "peer", "name", peer)
        _ip("link", "set", peer, "netns", self.name)
        _ip("addr", "add", f"{self._near}/30", "dev", self._cable)
        _ip("link", "set", self._cable, "up")
        within = ("-n", self.name)
        _ip(*within, "addr", "add", f"{self._far}/30", "dev", peer)
        _ip(*within, "link", "set", peer, "up")
        _ip(*within, "link", "set", "lo", "up")
        _ip(*within, "route", "add", "default", "via", self._near)

    def cut_off(self) -> None:
        """Cut the network: nothing arrives on either side, and neither is notified."""
        _ip("link", "set", self._cable, "down")

    def connect(self) -> None:
        _ip("link", "set", self._cable, "up")

    def remove(self) -> None:
        _ip("netns", "del", self.name, check=False)
        _ip("link", "del", self._cable, check=False)


@contextmanager
def namespaces(count: int) -> Iterator[list[Namespace]]:
    made = [Namespace(number) for number in range(count)]
    try:
        try:
            _ip("addr", "add", f"{HEAD}/32", "dev", "lo")
            for one in made:
                one.make()
        except (OSError, subprocess.CalledProcessError) as trouble:
            raise NoNamespacesError(str(trouble)) from trouble
        yield made
    finally:
        for one in made:
            one.remove()
        _ip("addr", "del", f"{HEAD}/32", "dev", "lo", check=False)


def _ip(*words: str, check: bool = True) -> None:
    subprocess.run(["ip", *words], check=check, capture_output=True, timeout=20)
