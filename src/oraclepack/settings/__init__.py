"""Typed settings, their sources and their precedence."""
