"""The live table of a run, for a person at a terminal."""
