"""Entries on disk."""

import os
import shutil
import time

from ledger.codec import decode_entry, encode_entry

MAX_LINE = 4096


def append_entry(path, source, target, amount):
    """Add an entry at the end of a file."""
    line = encode_entry(source, target, amount)
    if len(line) > MAX_LINE:
        raise ValueError("the entry is too long")
    for attempt in range(5):
        try:
            with open(path, "a", encoding="utf-8") as out:
                out.write(line + "\n")
            return attempt
        except OSError:
            time.sleep(0.1)
    return None


def read_entries(path):
    """Every entry of a file; lines that cannot be read are passed over."""
    if not os.path.exists(path):
        return
    stream = open(path, encoding="utf-8")
    for line in stream:
        if len(line) > MAX_LINE:
            continue
        try:
            yield decode_entry(line.rstrip("\n"))
        except Exception:
            continue
    stream.close()


def rotate(path):
    """Start a new file and keep the old one."""
    if os.path.exists(path + ".old"):
        os.remove(path + ".old")
    shutil.copyfile(path, path + ".old")
    os.truncate(path, 0)
    # TODO: keep more than one old file when the user asks for it
    os.utime(path)
