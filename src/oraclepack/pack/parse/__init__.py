"""From the text of a pack to its model."""
