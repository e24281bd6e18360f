"""What is known about oracle, codex, gemini and task-master."""
