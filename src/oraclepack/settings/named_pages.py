"""Writes names of ChatGPT pages into the user's config file."""

from pathlib import Path

from oraclepack.errors import AlreadyExistsError, InputError, UsageError
from oraclepack.settings.call_settings import CHATGPT_URLS
from oraclepack.settings.loading import user_config_file
from oraclepack.system import files

_HEADER = f"[{CHATGPT_URLS.name}]"


def save_page(name: str, url: str) -> Path:
    """Add a name to `chatgpt_urls` of the user's config file; nothing else in it changes."""
    import tomllib

    try:
        CHATGPT_URLS.kind.read({name: url})
    except ValueError as reason:
        raise UsageError(f"chatgpt_urls: {reason}") from None
    place = user_config_file()
    text = (files.read(place) or b"").decode("utf-8-sig")
    before = tomllib.loads(text)
    pages = before.get(CHATGPT_URLS.name, {})
    if isinstance(pages, dict) and name in pages:
        raise AlreadyExistsError(f"{place}: {name} is {pages[name]}", hint="choose another name")
    changed = with_page(text, name, url)
    if tomllib.loads(changed) != {**before, CHATGPT_URLS.name: {**pages, name: url}}:
        raise InputError(
            f"{place}: {CHATGPT_URLS.name} has an unusual form", hint="edit it by hand"
        )
    files.make_directories(place.parent)
    files.write_atomic(place, changed.encode())
    return place


def with_page(text: str, name: str, url: str) -> str:
    """The text of a config file with one more page."""
    line = f'{name} = "{url}"'
    lines = text.split("\n")
    for at, one in enumerate(lines):
        if one.strip() == _HEADER:
            return "\n".join([*lines[: at + 1], line, *lines[at + 1 :]])
    head = f"{text.rstrip()}\n\n" if text.strip() else ""
    return f"{head}{_HEADER}\n{line}\n"
