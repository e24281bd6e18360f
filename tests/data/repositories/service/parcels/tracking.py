"""The way of a parcel."""

from enum import Enum


class Status(Enum):
    """Where a parcel is."""

    NEW = "new"
    PICKED = "picked"
    MOVING = "moving"
    DONE = "done"
    LOST = "lost"


def next_status(status, event):
    """The status after an event of the carrier."""
    if event == "scan" and status is Status.NEW:
        return Status.PICKED
    if event == "scan" and status is Status.PICKED:
        return Status.MOVING
    if event == "delivered":
        return Status.DONE
    if event == "search" and status is Status.MOVING:
        return Status.LOST
    if event == "return" and status in (Status.NEW, Status.PICKED):
        return Status.NEW
    if event == "hold":
        return status
    if event == "release" and status is Status.MOVING:
        return Status.MOVING
    return status
