"""One intercepted call of a tool: server, key, cache, claims, limits, asking, adopting."""
