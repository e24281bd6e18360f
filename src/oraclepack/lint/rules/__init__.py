"""The rules, one family per file, each with its table at the bottom."""
