"""One module per command: options in, a use case called, a reply out."""
