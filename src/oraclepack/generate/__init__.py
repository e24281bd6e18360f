"""Repository facts to a strict pack, without any model; and old packs to strict ones."""
