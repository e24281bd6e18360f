"""Small windows over a screen: a question, how to stop, a line, a note, a choice, a text."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from oraclepack.tui.screen_text import block, cell

CANCEL = Binding("escape", "cancel", "Cancel", id="dialog.cancel")


class ConfirmDialog(ModalScreen[bool]):
    """A question that is answered by yes or no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", id="dialog.yes"),
        Binding("n,escape", "answer(False)", "No", id="dialog.no"),
    ]

    def __init__(self, question: str, detail: Text | str = "", yes: str = "Yes") -> None:
        super().__init__()
        self._question, self._detail, self._yes = question, detail, yes

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Label(cell(self._question, "bold"), markup=False)
            detail = self._detail if isinstance(self._detail, Text) else block(self._detail)
            if detail.plain:
                with VerticalScroll(classes="dialog-text"):
                    yield Static(detail, markup=False)
            with Horizontal(classes="buttons"):
                yield Button(f"{self._yes} (y)", id="yes", variant="primary")
                yield Button("No (n)", id="no")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


class StopDialog(ModalScreen[str | None]):
    """Whether and how to stop: `wait` for calls that are being asked, or `now`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('wait')", "Stop", id="dialog.stop"),
        Binding("exclamation_mark", "answer('now')", "Stop now", key_display="!", id="dialog.now"),
        Binding("n,escape", "answer('')", "No", id="dialog.no"),
    ]

    def __init__(self, question: str, detail: str) -> None:
        super().__init__()
        self._question, self._detail = question, detail

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Label(cell(self._question, "bold"), markup=False)
            with VerticalScroll(classes="dialog-text"):
                yield Static(block(self._detail), markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Stop (y)", id="wait", variant="primary")
                yield Button("Stop now (!)", id="now", variant="error")
                yield Button("No (n)", id="no")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.action_answer("" if event.button.id == "no" else str(event.button.id))

    def action_answer(self, answer: str) -> None:
        self.dismiss(answer or None)


class LineDialog(ModalScreen[str | None]):
    """One line of text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", id="dialog.cancel")
    ]

    def __init__(self, question: str, value: str = "", hint: str = "") -> None:
        super().__init__()
        self._question, self._value, self._hint = question, value, hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Label(cell(self._question, "bold"), markup=False)
            yield Input(self._value, id="line")
            yield Label(cell(self._hint or "enter: go on, escape: cancel", "dim"), markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip() or None)

    def action_cancel(self) -> None:
        self.dismiss(None)


class NoteDialog(ModalScreen[str | None]):
    """A text of several lines."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "save", "Save", id="dialog.save", priority=True),
        Binding("escape", "cancel", "Cancel", id="dialog.cancel"),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall"):
            yield Label(cell(self._title, "bold"), markup=False)
            yield TextArea(self._text, id="note")
            with Horizontal(classes="buttons"):
                yield Button("Save (ctrl+o)", id="save", variant="primary")
                yield Button("Cancel (escape)", id="cancel")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.action_save() if event.button.id == "save" else self.action_cancel()

    def action_save(self) -> None:
        self.dismiss(self.query_one("#note", TextArea).text)

    def action_cancel(self) -> None:
        self.dismiss(None)


class ChoiceDialog(ModalScreen[str | None]):
    """One of several."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", id="dialog.cancel")
    ]

    def __init__(self, question: str, choices: Sequence[tuple[str, str]]) -> None:
        """`choices` are values, each with the line that is shown for it."""
        super().__init__()
        self._question, self._choices = question, tuple(choices)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Label(cell(self._question, "bold"), markup=False)
            yield OptionList(*(Option(cell(line)) for _, line in self._choices), id="choices")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._choices[event.option_index][0])

    def action_cancel(self) -> None:
        self.dismiss(None)


class TextDialog(ModalScreen[None]):
    """A text to read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "close", "Close", id="dialog.close"),
        Binding("y", "copy", "Copy", id="dialog.copy"),
    ]

    def __init__(self, title: str, text: Text) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall"):
            yield Label(cell(self._title, "bold"), markup=False)
            with VerticalScroll(classes="dialog-text", can_focus=True):
                yield Static(self._text, markup=False)
            yield Label(cell("escape: close, y: copy", "dim"), markup=False)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._text.plain)


DIALOGS = (ConfirmDialog, StopDialog, LineDialog, NoteDialog, ChoiceDialog, TextDialog)
