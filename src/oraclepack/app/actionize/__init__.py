"""Answers → work: read them from a run or a plain directory, actionize, write the artifacts."""
