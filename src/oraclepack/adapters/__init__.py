"""The world: the only place that touches disk, processes, clock and environment."""
