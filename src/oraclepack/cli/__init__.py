"""The command line: where people and programs come in."""
