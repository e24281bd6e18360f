"""Answers to work: normalize, check, dedupe, rank, render. No model, no clock, no chance."""
