"""What happened in a run: events, their file, and the state they fold to."""
