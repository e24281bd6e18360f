"""Processes as the tests look at them."""

from oraclepack.shell.processes import process_info


def is_running(pid: int) -> bool:
    """Whether a process still runs.

    One that has ended and whose exit code waits to be read does not: a detached process becomes the
    child of the test where an earlier test made it the reaper of orphans.
    """
    found = process_info(pid)
    return found is not None and not found.is_dead
