"""The digests are SHA-256, whichever half of Python computes them."""

import hashlib

import pytest

from oraclepack.system.digests import canonical_line, sha256_bytes, sha256_text, sha256_value


@pytest.mark.parametrize("text", ["", "a", "ä\udcff", "x" * 10_000])
def test_a_text_has_the_digest_of_its_bytes(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")

    assert sha256_text(text) == sha256_bytes(data) == hashlib.sha256(data).hexdigest()


def test_a_value_has_the_digest_of_its_line() -> None:
    value = {"b": 1, "a": ["x"]}

    assert sha256_value(value) == hashlib.sha256(canonical_line(value)).hexdigest()
