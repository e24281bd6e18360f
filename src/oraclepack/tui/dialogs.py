"""Small windows over a screen: a question, how to stop, a line, a note, a choice, a text."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from oraclepack.tui.screen_text import block, cell

T = TypeVar("T")

CANCEL = Binding("escape", "cancel", "Cancel", id="dialog.cancel")


class Dialog(ModalScreen[T]):
    """A window with a question; its parts come from `body`."""

    BINDINGS: ClassVar[list[BindingType]] = [CANCEL]
    TALL = False

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog tall" if self.TALL else "dialog"):
            yield Label(cell(self._question, "bold"), markup=False)
            yield from self.body()

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def action_cancel(self) -> None:
        self.dismiss(None)


class AnswerDialog(Dialog[str | None]):
    """A question that is answered by a key or a button; None is no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "cancel", "No", id="dialog.no"),
    ]

    def __init__(self, question: str, detail: Text | str, answers: Mapping[str, str]) -> None:
        """`answers` are the buttons by what they answer, each with its key."""
        super().__init__(question)
        self._answers = answers
        self._detail = detail if isinstance(detail, Text) else block(detail)

    def body(self) -> ComposeResult:
        if self._detail.plain:
            with VerticalScroll(classes="dialog-text"):
                yield Static(self._detail, markup=False)
        with Horizontal(classes="buttons"):
            for answer, label in self._answers.items():
                variant: Literal["error", "primary"] = "error" if answer == "now" else "primary"
                yield Button(label, id=answer, variant=variant)
            yield Button("No (n)", id="no")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(None if event.button.id == "no" else event.button.id)

    def action_answer(self, answer: str) -> None:
        self.dismiss(answer)


class ConfirmDialog(AnswerDialog):
    """A question that is answered by yes or no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('yes')", "Yes", id="dialog.yes"),
    ]

    def __init__(self, question: str, detail: Text | str = "", yes: str = "Yes") -> None:
        super().__init__(question, detail, {"yes": f"{yes} (y)"})


class StopDialog(AnswerDialog):
    """Whether and how to stop: `wait` for calls that are being asked, or `now`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('wait')", "Stop", id="dialog.stop"),
        Binding("exclamation_mark", "answer('now')", "Stop now", key_display="!", id="dialog.now"),
    ]

    def __init__(self, question: str, detail: str) -> None:
        super().__init__(question, detail, {"wait": "Stop (y)", "now": "Stop now (!)"})


class LineDialog(Dialog[str | None]):
    """One line of text."""

    def __init__(self, question: str, value: str = "", hint: str = "") -> None:
        super().__init__(question)
        self._value, self._hint = value, hint

    def body(self) -> ComposeResult:
        yield Input(self._value, id="line")
        yield Label(cell(self._hint or "enter: go on, escape: cancel", "dim"), markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip() or None)


class NoteDialog(Dialog[str | None]):
    """A text of several lines."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+o", "save", "Save", id="dialog.save", priority=True),
    ]
    TALL = True

    def __init__(self, title: str, text: str) -> None:
        super().__init__(title)
        self._text = text

    def body(self) -> ComposeResult:
        yield TextArea(self._text, id="note")
        with Horizontal(classes="buttons"):
            yield Button("Save (ctrl+o)", id="save", variant="primary")
            yield Button("Cancel (escape)", id="cancel")

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.action_save() if event.button.id == "save" else self.action_cancel()

    def action_save(self) -> None:
        self.dismiss(self.query_one("#note", TextArea).text)


class ChoiceDialog(Dialog[str | None]):
    """One of several."""

    def __init__(self, question: str, choices: Sequence[tuple[str, str]]) -> None:
        """`choices` are values, each with the line that is shown for it."""
        super().__init__(question)
        self._choices = tuple(choices)

    def body(self) -> ComposeResult:
        yield OptionList(*(Option(cell(line)) for _, line in self._choices), id="choices")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(self._choices[event.option_index][0])


class TextDialog(Dialog[None]):
    """A text to read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,enter", "cancel", "Close", id="dialog.close"),
        Binding("y", "copy", "Copy", id="dialog.copy"),
    ]
    TALL = True

    def __init__(self, title: str, text: Text) -> None:
        super().__init__(title)
        self._text = text

    def body(self) -> ComposeResult:
        with VerticalScroll(classes="dialog-text", can_focus=True):
            yield Static(self._text, markup=False)
        yield Label(cell("escape: close, y: copy", "dim"), markup=False)

    def action_copy(self) -> None:
        self.app.copy_to_clipboard(self._text.plain)


DIALOGS = (
    *(Dialog, AnswerDialog, ConfirmDialog, StopDialog),
    *(LineDialog, NoteDialog, ChoiceDialog, TextDialog),
)
