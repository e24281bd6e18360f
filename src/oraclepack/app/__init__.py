"""Use cases: one per command, and the only place that knows both the verbs and the world."""
