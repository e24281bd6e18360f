"""The stand-ins for the tools on a step's PATH. They import nothing of ours."""
