"""What to do with one call of a tool: its meaning, its key, its truth, its failures."""
