"""File system, path jail, git, environment, clock, terminal, secrets, digests."""
