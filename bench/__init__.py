"""Measurements: ratios between things that ran side by side, never times alone."""
