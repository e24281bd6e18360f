"""What a pack is and how it is read."""
