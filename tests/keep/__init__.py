"""What keeps the repository good: pages that run, facts that are told, files that load for ever."""
