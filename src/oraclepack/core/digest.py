"""Canonical JSON and SHA-256: the only hashing in the tree."""

import msgspec

# hashlib loads OpenSSL, which takes as long as reading a short pack. These are its own built-in
# halves, by the names they have had: slower by the megabyte, so they are for what is short.
try:
    from _sha2 import sha256 as _short  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    try:
        from _sha256 import sha256 as _short  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        from hashlib import sha256 as _short


def sha256_text(text: str) -> str:
    """Lower-case hex digest of the UTF-8 bytes of a text that somebody wrote."""
    return str(_short(text.encode("utf-8", "surrogatepass")).hexdigest())


def sha256_value(value: object) -> str:
    """Lower-case hex digest of the canonical line of a value."""
    return str(_short(canonical_line(value)).hexdigest())


def sha256_bytes(data: bytes) -> str:
    """Lower-case hex digest of a file, however long."""
    import hashlib  # noqa: PLC0415 - see above

    return hashlib.sha256(data).hexdigest()


def canonical_line(value: object) -> bytes:
    """One line of JSON with sorted keys and no spaces: the form that is hashed and journaled."""
    return msgspec.json.encode(msgspec.to_builtins(value), order="sorted")


def canonical_file(value: object) -> bytes:
    """The form of every JSON file we own: two spaces, sorted keys, a newline at the end."""
    return msgspec.json.format(canonical_line(value), indent=2) + b"\n"
