"""Outputs and their contracts, into what is missing."""
