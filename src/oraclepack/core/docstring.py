"""Docstrings as text for people."""


def cleaned(text: str) -> str:
    """As `inspect.cleandoc`; loading `inspect` takes half as long as starting Python."""
    first, *rest = text.expandtabs().split("\n")
    indents = [len(line) - len(line.lstrip()) for line in rest if line.strip()]
    margin = min(indents, default=0)
    return "\n".join((first.lstrip(), *(line[margin:] for line in rest))).strip("\n")
