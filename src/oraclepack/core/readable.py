"""Words from a shell may hold bytes that are no text; records are UTF-8 all the same."""


def readable(text: str) -> str:
    """The text with every byte that is none spelled out, so that it can be written anywhere."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text
