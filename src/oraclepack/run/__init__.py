"""What runs, in which order, what is taken back and what it came to: decisions, never actions."""
