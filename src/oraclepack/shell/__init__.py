"""bash, processes, signals and termination."""
