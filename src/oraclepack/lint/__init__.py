"""Rules, findings, suppressions, fixes and external checks."""
