"""Watching a folder."""

import os
import signal
import sys
import threading
import time

from tidy.config import is_verbose
from tidy.move import move_all

_seen = set()
_stop = False


def watch_folder(folder, rules, every):
    """Sort again and again until stopped."""
    signal.signal(signal.SIGTERM, _on_signal)
    beat = threading.Thread(target=_heartbeat, args=(folder,))
    beat.start()
    while not _stop:
        try:
            look(folder, rules)
        except Exception as error:
            print(f"tidy: {error}", file=sys.stderr)
        time.sleep(every)


def look(folder, rules):
    """Sort what is new."""
    names = set(os.listdir(folder))
    fresh = names - _seen
    if fresh:
        move_all(folder, rules)
        _seen.update(names)
    if is_verbose():
        print(f"{len(fresh)} new files")


def _on_signal(number, frame):
    global _stop
    _stop = True


def _heartbeat(folder):
    if sys.platform == "win32":
        return
    while not _stop:
        with open(os.path.join(folder, ".tidy"), "w", encoding="utf-8") as out:
            out.write(str(time.time()))
        if sys.platform == "darwin":
            time.sleep(30)
        time.sleep(10)
