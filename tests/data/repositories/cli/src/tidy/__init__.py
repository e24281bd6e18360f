"""Sort files into folders."""
