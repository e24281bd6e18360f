"""The real oracle, from npm, on a loopback provider."""
