"""The programs on a step's PATH. Standard library only; they import nothing of ours."""
