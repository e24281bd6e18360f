"""What runs beside the service."""

import atexit
import os
import shutil
import signal
import threading

from parcels.carriers import sync_all
from parcels.store import Store

_timers = []


def start(path):
    """Start the nightly work."""
    timer = threading.Timer(3600, nightly, args=(path,))
    _timers.append(timer)
    timer.start()
    atexit.register(stop)
    signal.signal(signal.SIGTERM, lambda *_: stop())


def stop():
    """Stop what has not begun."""
    for timer in _timers:
        timer.cancel()


def nightly(path):
    """Back up, ask the carriers, clean up."""
    back_up(path)
    sync_all(path)
    clean(path)
    start(path)


def back_up(path):
    """A copy of the database."""
    os.makedirs("backup", exist_ok=True)
    if os.path.exists("backup/parcels.db"):
        os.remove("backup/parcels.db")
    shutil.copyfile(path, "backup/parcels.db")


def clean(path):
    """Forget parcels that arrived."""
    store = Store(path)
    try:
        store.connection.execute("DELETE FROM parcel WHERE status = 'done'")
    except Exception:
        pass
