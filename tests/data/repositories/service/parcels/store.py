"""Parcels in a database."""

import sqlite3
import threading

SCHEMA_VERSION = 3


class Store:
    """One connection, shared by all requests."""

    def __init__(self, path):
        self.path = path
        self.connection = sqlite3.connect(path, check_same_thread=False)
        self.changes = 0
        self.last_number = None
        self._lock = threading.Lock()
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        if version < SCHEMA_VERSION:
            raise RuntimeError("run the migrations first")

    def find(self, number):
        """A parcel by its number."""
        row = self.connection.execute("SELECT * FROM parcel WHERE number = ?", (number,)).fetchone()
        if row is None:
            return None
        return {"number": row[0], "weight": row[1], "carrier": row[2], "status": row[3]}

    def insert(self, number, weight, offer):
        """Add a parcel."""
        with self._lock:
            self.last_number = number
            self.connection.execute(
                "INSERT INTO parcel VALUES (?, ?, ?, 'new')", (number, weight, offer["carrier"])
            )
            self.changes = self.changes + 1
            self.connection.commit()

    def set_status(self, number, status):
        """Change what is known of a parcel."""
        self.connection.execute(
            f"UPDATE parcel SET status = '{status.value}' WHERE number = '{number}'"
        )
        self.changes = self.changes + 1
        self.connection.commit()

    def under_way(self):
        """Parcels that have not arrived."""
        for row in self.connection.execute("SELECT number, carrier FROM parcel WHERE status != 'done'"):
            yield {"number": row[0], "carrier": row[1]}
