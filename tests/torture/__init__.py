"""Attacks on the promise: what was paid for is never paid for again, lost or taken unverified."""
