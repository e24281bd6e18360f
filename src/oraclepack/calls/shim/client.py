"""The shim on a step's PATH: sends the call to oraclepack and carries out the reply.

A copy of this file lies in the private directory of a run, beside the socket `gateway`, and is
called by the names of the tools. It never starts a tool on its own account: without the gateway
it fails.

The call is sent as a length (4 bytes) and fields that end in NUL, with stdin, stdout and stderr
as descriptors. While the call lasts, each byte sent is the number of a signal that came. The
reply is `x` and an exit code, or `e` and the path of a program to become.
"""

import os
import signal
import socket
import sys

PROTOCOL = b"1"
GONE = 125
"""The exit code when oraclepack is not there to answer; `timeout` and `env` use it likewise."""
FORWARDED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


def main() -> int:
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        # Until the server is connected, an interrupt ends the shim.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.argv[0].endswith("/client.py"):
        del sys.argv[0]  # started by a line of sh, because the interpreter's path fits no shebang
    folder, _, name = sys.argv[0].rpartition("/")
    keep_standard_descriptors()
    words = [encode(word) for word in sys.argv[1:]]
    gateway = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        gateway.connect(f"{folder}/gateway")
        send_call(gateway, encode(name), words)
    except OSError:
        return fail(name, "is not running any more; the call was not made")
    forward_signals(gateway)
    try:
        reply = receive(gateway)
    except OSError:
        reply = b""
    if reply[:1] == b"x" and len(reply) == len(b"x?"):
        return reply[1]
    if reply[:1] == b"e":
        return become(reply[1:], [encode(name), *words])
    return fail(name, "ended while this call was running; what became of the call is not known")


def keep_standard_descriptors() -> None:
    """Occupy the descriptors 0 to 2 that the caller closed, so that no other file gets them."""
    while (descriptor := os.open("/dev/null", os.O_RDWR)) <= len(("in", "out")):
        pass
    os.close(descriptor)


def send_call(gateway: socket.socket, name: bytes, words: list[bytes]) -> None:
    mask = os.umask(0o077)
    os.umask(mask)
    fields = [PROTOCOL, name, working_directory(), b"%o" % mask, b"%d" % len(words), *words]
    call = b"\0".join([*fields, environment()])
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)
    gateway.sendmsg([len(call).to_bytes(4, "big")], [rights])
    gateway.sendall(call)


def working_directory() -> bytes:
    try:
        return os.getcwdb()  # bytes: a name may not be text
    except OSError:
        return b""  # removed while the caller was in it; the gateway reports it


def environment() -> bytes:
    """The environment as it was given, `NAME=value` and NUL each.

    Python adds LC_CTYPE to its own when the locale is C, so the kernel is asked first.
    """
    try:
        descriptor = os.open("/proc/self/environ", os.O_RDONLY)
    except OSError:
        return b"".join(b"%b=%b\0" % pair for pair in os.environb.items())
    parts = []
    while part := os.read(descriptor, 1 << 16):
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts)


def forward_signals(gateway: socket.socket) -> None:
    """Pass on what reaches us; what the caller ignores (`nohup`, a background job) stays so."""

    def forward(number: int, _frame: object) -> None:
        try:
            gateway.send(bytes((number,)))
        except OSError:
            # The gateway is gone; the read of the reply finds that out and says so.
            return

    for number in FORWARDED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, forward)


def receive(gateway: socket.socket) -> bytes:
    parts = []
    while part := gateway.recv(4096):
        parts.append(part)
    return b"".join(parts)


def become(program: bytes, argv: list[bytes]) -> int:
    """Replace this process by another program."""
    for number in FORWARDED:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    pairs = (pair.partition(b"=") for pair in environment().split(b"\0") if pair)
    try:
        os.execve(program, argv, {name: value for name, _, value in pairs})  # noqa: S606 - the point
    except OSError as trouble:
        return fail(decode(argv[0]), f"cannot start {decode(program)}: {trouble.strerror}")


def fail(name: str, what: str) -> int:
    os.write(2, encode(f"{name}: oraclepack, which replaces it here, {what}\n"))
    return GONE


def encode(text: str) -> bytes:
    return text.encode(sys.getfilesystemencoding(), "surrogateescape")


def decode(data: bytes) -> str:
    return data.decode(sys.getfilesystemencoding(), "surrogateescape")


if __name__ == "__main__":
    sys.exit(main())
