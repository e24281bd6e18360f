"""Canonical JSON, SHA-256 and keyed digests: the only hashing in the tree.

`hashlib` loads OpenSSL, which takes milliseconds and which most short commands do not need.
"""

import msgspec

from oraclepack.system.printable import screen_json


def sha256_text(text: str) -> str:
    """Lower-case hex digest of the UTF-8 bytes of a text."""
    return sha256_bytes(text.encode("utf-8", "surrogatepass"))


def sha256_value(value: object) -> str:
    """Lower-case hex digest of the canonical line of a value."""
    return sha256_bytes(canonical_line(value))


def sha256_bytes(data: bytes) -> str:
    """Lower-case hex digest of some bytes."""
    import hashlib

    return hashlib.sha256(data).hexdigest()


def keyed_digest(key: bytes, purpose: str, *parts: bytes) -> str:
    """A MAC over several parts: keyed BLAKE2b, 128 bits, in hex.

    The purpose keeps a MAC of one kind of record from passing for that of another.
    """
    import hashlib

    digest = hashlib.blake2b(key=key, digest_size=16, person=purpose.encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def same_digest(one: str, other: str) -> bool:
    """Compare two digests in constant time."""
    from hmac import compare_digest

    return compare_digest(one.encode(), other.encode())


def chained_digest(before: bytes, data: bytes) -> bytes:
    """The digest of data that follows what already has a digest."""
    import hashlib

    return hashlib.blake2b(before + data, digest_size=32).digest()


def canonical_line(value: object) -> bytes:
    """One line of JSON with sorted keys and no spaces: the form that is hashed and journaled."""
    return msgspec.json.encode(msgspec.to_builtins(value), order="sorted")


def canonical_file(value: object) -> bytes:
    """The form of every JSON file we own: two spaces, sorted keys, a newline at the end.

    Unlike the line it is made for people too, so characters that steer a screen are escaped.
    """
    return screen_json(msgspec.json.format(canonical_line(value), indent=2)) + b"\n"


def canonical_reply(value: object) -> bytes:
    """The same on one line: for programs that pay for every character."""
    return screen_json(canonical_line(value)) + b"\n"
