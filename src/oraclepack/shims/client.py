"""Stands on a step's PATH in a tool's place: hands the call to oraclepack and does as it is told.

A copy of this file lies in the private directory of a run, beside the socket `gateway`, and is
called by the names of the tools. It never starts a tool on its own account: without the gateway
it fails.

The call is sent as a length (4 bytes) and fields that end in NUL, with stdin, stdout and stderr
as descriptors. While the call lasts, each byte sent is the number of a signal that came. The
reply is `x` and an exit code, or `e` and the path of a program to become.
"""

# A call pays for every import, so these are the built-in halves of os, signal and socket: with
# the whole modules the client takes twice as long to start.
import _signal  # type: ignore[import-not-found]
import _socket
import posix
import sys

PROTOCOL = b"1"
GONE = 125
"""The exit code when oraclepack is not there to answer; `timeout` and `env` use it likewise."""
FORWARDED = (_signal.SIGHUP, _signal.SIGINT, _signal.SIGQUIT, _signal.SIGTERM)


def main() -> int:
    if _signal.getsignal(_signal.SIGINT) is not _signal.SIG_IGN:
        # Until there is someone to pass it on to, an interrupt simply ends us.
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    if sys.argv[0].endswith("/client.py"):
        del sys.argv[0]  # started by a line of sh, because the interpreter's path fits no shebang
    folder, _, name = sys.argv[0].rpartition("/")
    keep_standard_descriptors()
    words = [encode(word) for word in sys.argv[1:]]
    gateway = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
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
    """Have nothing else take the numbers 0 to 2, should the caller have closed one of them."""
    while (descriptor := posix.open("/dev/null", posix.O_RDWR)) <= len(("in", "out")):
        pass
    posix.close(descriptor)


def send_call(gateway: _socket.socket, name: bytes, words: list[bytes]) -> None:
    mask = posix.umask(0o077)
    posix.umask(mask)
    fields = [PROTOCOL, name, working_directory(), b"%o" % mask, b"%d" % len(words), *words]
    call = b"\0".join([*fields, environment()])
    streams = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
    rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)
    gateway.sendmsg([len(call).to_bytes(4, "big")], [rights])
    gateway.sendall(call)


def working_directory() -> bytes:
    try:
        return posix.getcwdb()
    except OSError:
        return b""  # removed under the caller's feet; the gateway says so


def environment() -> bytes:
    """The environment as it was given, `NAME=value` and NUL each.

    Python adds LC_CTYPE to its own when the locale is C, so the kernel is asked first.
    """
    try:
        descriptor = posix.open("/proc/self/environ", posix.O_RDONLY)
    except OSError:
        return b"".join(b"%b=%b\0" % pair for pair in posix.environ.items())
    parts = []
    while part := posix.read(descriptor, 1 << 16):
        parts.append(part)
    posix.close(descriptor)
    return b"".join(parts)


def forward_signals(gateway: _socket.socket) -> None:
    """Pass on what reaches us; what the caller ignores (`nohup`, a background job) stays so."""

    def forward(number: int, _frame: object) -> None:
        try:
            gateway.send(bytes((number,)))
        except OSError:
            # The gateway is gone; the read of the reply finds that out and says so.
            return

    for number in FORWARDED:
        if _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, forward)


def receive(gateway: _socket.socket) -> bytes:
    parts = []
    while part := gateway.recv(4096):
        parts.append(part)
    return b"".join(parts)


def become(program: bytes, argv: list[bytes]) -> int:
    """Let another program take our place."""
    for number in FORWARDED:
        if _signal.getsignal(number) is not _signal.SIG_IGN:
            _signal.signal(number, _signal.SIG_DFL)
    pairs = (pair.partition(b"=") for pair in environment().split(b"\0") if pair)
    try:
        posix.execve(program, argv, {name: value for name, _, value in pairs})
    except OSError as trouble:
        return fail(decode(argv[0]), f"cannot start {decode(program)}: {trouble.strerror}")


def fail(name: str, what: str) -> int:
    posix.write(2, encode(f"{name}: oraclepack, which stands in its place here, {what}\n"))
    return GONE


def encode(text: str) -> bytes:
    return text.encode(sys.getfilesystemencoding(), "surrogateescape")


def decode(data: bytes) -> str:
    return data.decode(sys.getfilesystemencoding(), "surrogateescape")


if __name__ == "__main__":
    # Nothing is buffered, so the interpreter need not tidy up.
    posix._exit(main())  # noqa: SLF001  public as os._exit
