"""The screens of `oraclepack tui`, over the same api as the command line."""
