"""Text into nouns: a Markdown file becomes a `Pack`. Tolerant: content never raises."""
