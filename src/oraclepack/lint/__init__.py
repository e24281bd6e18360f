"""A pack and what the world says of it, into findings."""
