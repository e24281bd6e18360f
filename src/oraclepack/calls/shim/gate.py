"""Starts a tool only when oraclepack orders it: this process waits, then becomes the tool.

It is started in the tool's place, with a socket as its only argument. Oraclepack sends the order
after it has recorded the process: a length (8 bytes), then the program, the
number of its words, the words and the environment, NUL between all of them. If oraclepack dies
before that, the socket ends early and this process ends: the tool was never started, and cost
nothing.

If the tool cannot be started, the error number is reported; otherwise nothing.
"""

import os
import signal
import sys

NO_REPLY = 125
"""The exit code when no order came."""


def main() -> int:
    socket = int(sys.argv[1])
    os.set_inheritable(socket, False)  # noqa: FBT003  the kernel closes it as the tool begins
    size = int.from_bytes(receive(socket, 8), "big")
    order = receive(socket, size)
    if not size or len(order) < size:
        return NO_REPLY
    program, count, *rest = order.split(b"\0")
    words, variables = rest[: int(count)], rest[int(count) :]
    pairs = (pair.partition(b"=") for pair in variables if pair[:1] != b"=")
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores them, and a tool would inherit it
    try:
        os.execve(program, words, {name: value for name, _, value in pairs})  # noqa: S606 - the point
    except OSError as trouble:
        os.write(socket, str(trouble.errno).encode())
    return NO_REPLY


def receive(socket: int, size: int) -> bytes:
    """As many bytes, or fewer at the end of the stream."""
    parts = []
    while size and (part := os.read(socket, min(size, 1 << 20))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


if __name__ == "__main__":
    sys.exit(main())
