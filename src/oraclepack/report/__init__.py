"""Values into the formats that other programs read."""
