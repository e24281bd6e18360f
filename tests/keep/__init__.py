"""Checks of the repository: pages that run, facts that are documented, files that load for ever."""
