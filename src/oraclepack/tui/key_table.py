"""The keys of the screens: every binding has an id, so that settings can give it another key.

No key is one that tmux or screen commonly takes (ctrl-a, ctrl-b), that stops a terminal (ctrl-s)
or that is a line end (ctrl-j).
"""

from textual.binding import Binding, BindingType

from oraclepack.errors import UsageError, did_you_mean

PROGRAM: list[BindingType] = [
    Binding("question_mark", "show_help", "Help", key_display="?", id="help", show=False),
    Binding("q", "quit", "Quit", id="quit"),
]
# Help comes first: where the footer is too short for all keys, it shows the first ones.
EVERY_SCREEN: list[BindingType] = [
    Binding("question_mark", "app.show_help", "Help", key_display="?", id="help"),
    Binding("escape", "back", "Back", id="back"),
    Binding("y", "copy_text", "Copy", id="copy", show=False),
    Binding("o", "open_pager", "Open in the pager", id="pager", show=False),
    Binding("e", "open_editor", "Edit", id="editor", show=False),
    Binding("f5", "reload", "Reload", id="reload", show=False),
]

_NEVER = frozenset({"ctrl+a", "ctrl+b", "ctrl+s", "ctrl+j"})


def keymap(pairs: tuple[str, ...], known: frozenset[str]) -> dict[str, str]:
    """`ID=KEY` of the settings as Textual takes it; several keys are joined by `/`."""
    chosen: dict[str, str] = {}
    for pair in pairs:
        name, equals, keys = pair.partition("=")
        if not equals or not keys.strip():
            raise UsageError(f"tui.keys: {pair}: must be ID=KEY", hint="as in copy=ctrl+y")
        if name.strip() not in known:
            near = did_you_mean(name.strip(), known)
            listed = f"there are {', '.join(sorted(known))}"
            raise UsageError(f"tui.keys: there is no key named {name.strip()}", hint=near or listed)
        words = [key.strip() for key in keys.split("/") if key.strip()]
        refused = [key for key in words if key in _NEVER]
        if refused:
            raise UsageError(
                f"tui.keys: {refused[0]} is used by tmux, by the terminal or as a line end",
                hint="choose another key",
            )
        chosen[name.strip()] = ",".join(words)
    return chosen
