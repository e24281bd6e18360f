"""Runs and findings in the formats of other programs."""
