"""The stand-ins for the tools on a step's PATH, and the gate. They import nothing of ours."""
