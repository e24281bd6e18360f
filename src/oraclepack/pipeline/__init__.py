"""validate, run, verify and actionize in one command, and its reports."""
