"""Which steps run, why, and in which order. Pure."""
