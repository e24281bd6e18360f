"""Reading and checking answers."""
