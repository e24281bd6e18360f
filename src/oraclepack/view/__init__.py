"""Runs and steps as files, lists and screens show them: one view, computed from the journal."""
