"""Prepare a run: steps, engine, flags and limits; then the forecast, then the start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Button, Footer, Header, Input, Label, OptionList, Select, Static
from textual.widgets.option_list import Option

from oraclepack.journal.costs import calls_text, money
from oraclepack.lint.finding import Severity
from oraclepack.lint.validate import validate_packs
from oraclepack.run.forecast import CostForecast
from oraclepack.run.plan_costs import forecast_run
from oraclepack.run.planning.plan import Decision
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.start_run import StartedRun, start_run
from oraclepack.run.step_content import check_overrides
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.loading import save_page
from oraclepack.settings.registry import Settings
from oraclepack.tui.dialogs import ConfirmDialog, LineDialog
from oraclepack.tui.pack_screen import PackScreen
from oraclepack.tui.screen_text import block, cell, field, heading, joined
from oraclepack.view.report import figures
from oraclepack.view.report.github import cost_words

if TYPE_CHECKING:
    from collections.abc import Sequence

_ENGINES = ("pack", "api", "browser", "rehearsal")
_OTHER_PAGE = "other"
_PACK_PAGE = "pack"


class PrepareScreen(PackScreen):
    """What the next run does: steps, engine, flags, limits. f forecasts, asks, then starts."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "forecast", "Forecast and start", id="prepare.forecast"),
        Binding("a", "add_flag", "Add a flag", id="prepare.add"),
        Binding("d", "remove_flag", "Remove the flag", id="prepare.remove"),
    ]

    def __init__(self, pack: str, selected: Sequence[str], values: dict[str, object]) -> None:
        super().__init__()
        self.pack = pack
        self._selected = tuple(selected)
        self._values = values
        """Shared with the screen of the steps, so that its commands show the same flags."""
        self._flags: list[str] = [str(one) for one in _texts(values.get(cs.OVERRIDE.name))]

    def compose(self) -> ComposeResult:
        settings = self.program.load_settings(self.pack, self._values)
        chosen = ", ".join(self._selected)
        which = [(f"selected: {chosen}", "selected")] if chosen else []
        which += [("all that are not done", "open"), ("failed ones again", "failed")]
        which += [(f"selected again: {chosen}", "again")] if chosen else []
        pages = [("as the pack says", _PACK_PAGE)]
        pages += [(f"{name}: {url}", name) for name, url in settings[cs.CHATGPT_URLS].items()]
        pages.append(("another URL…", _OTHER_PAGE))
        yield Header(icon="≡")
        with VerticalScroll(id="prepare"):
            yield Label("Steps")
            yield Select(which, value=which[0][1], allow_blank=False, compact=True, id="which")
            yield Label("Engine")
            engines = [(name, name) for name in _ENGINES]
            yield Select(
                engines, value=settings[cs.ENGINE], allow_blank=False, compact=True, id="engine"
            )
            yield Label("Model (empty: as the pack says)")
            yield Input(str(self._values.get("model", "")), id="model", compact=True)
            yield Label("ChatGPT page, for browser calls")
            yield Select(pages, value=_PACK_PAGE, allow_blank=False, compact=True, id="page")
            yield Label("Steps at once")
            parallel = str(settings[rs.MAX_PARALLEL])
            yield Input(parallel, id="parallel", compact=True)
            yield Label("Most US dollars for this run (empty: no limit of its own)")
            limit = settings[cs.MAX_COST]
            yield Input("" if limit is None else str(limit), id="cost", compact=True)
            yield Label("Other flags: STEPS:FLAG, or FLAG for all steps")
            yield OptionList(id="flags")
            with Horizontal(classes="buttons"):
                yield Button("Forecast and start (f)", id="forecast", variant="primary")
                yield Button("Add a flag (a)", id="add")
        yield Static("", id="prepare-note", classes="note", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self.title = f"Prepare – {Path(self.pack).name}"
        self._show_flags()
        self.query_one("#which").focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "forecast":
            self.action_forecast()
        else:
            self.action_add_flag()

    # Flags

    def _show_flags(self) -> None:
        options = self.query_one("#flags", OptionList)
        options.clear_options()
        options.add_options(Option(cell(flag)) for flag in self._flags)

    @work(group="dialog")
    async def action_add_flag(self) -> None:
        hint = "--reasoning-effort=high for all, or 03,07:--model=gpt-5.2"
        text = await self.app.push_screen_wait(LineDialog("Flag of oracle", hint=hint))
        if text is not None:
            values = {**self.chosen_values(), **_flag_values([*self._flags, text])}
            settings = self.program.load_settings(self.pack, values)
            self.start(
                "flag",
                lambda: check_overrides(self.pack, settings),
                lambda _: self._add(text),
            )

    def _add(self, text: str) -> None:
        self._flags.append(text)
        self._show_flags()
        self.chosen_values()
        self._note(f"flags: {', '.join(self._flags)}")

    def action_remove_flag(self) -> None:
        options = self.query_one("#flags", OptionList)
        if options.highlighted is None or not self._flags:
            self.say("choose a flag in the list first")
            return
        del self._flags[options.highlighted]
        self._show_flags()

    # The choices

    def on_select_changed(self, event: Select.Changed) -> None:
        if event.select.id == "page" and event.value == _OTHER_PAGE:
            self._ask_page()

    @work(group="dialog")
    async def _ask_page(self) -> None:
        dialog = LineDialog("URL of the ChatGPT page", "https://chatgpt.com/")
        url = await self.app.push_screen_wait(dialog)
        select = self.query_one("#page", Select)
        if url is None:
            select.value = _PACK_PAGE
            return
        name = await self.app.push_screen_wait(
            LineDialog("A name to keep it under", hint="escape: only for this run")
        )
        if name is not None:
            self.start(
                "page",
                lambda: str(save_page(name, url)),
                lambda file: self.say(f"{name} is in {file}"),
            )
        self._values[cs.CHATGPT_URL.name] = url

    def chosen_values(self) -> dict[str, object]:
        """The settings of the form; they hold for the screen of the steps, too."""
        values: dict[str, object] = {cs.ENGINE.name: str(self.query_one("#engine", Select).value)}
        model = self.query_one("#model", Input).value.strip()
        flags = [*self._flags, *([f"--model={model}"] if model else [])]
        values |= _flag_values(flags)
        page = str(self.query_one("#page", Select).value)
        if page not in {_PACK_PAGE, _OTHER_PAGE}:
            values[cs.CHATGPT_URL.name] = page
        elif page == _OTHER_PAGE and cs.CHATGPT_URL.name in self._values:
            values[cs.CHATGPT_URL.name] = self._values[cs.CHATGPT_URL.name]
        parallel = self.query_one("#parallel", Input).value.strip()
        values |= {rs.MAX_PARALLEL.name: parallel} if parallel else {}
        limit = self.query_one("#cost", Input).value.strip()
        values |= {cs.MAX_COST.name: limit} if limit else {}
        self._values.clear()
        self._values.update(values)
        return values

    def arguments(self) -> RunArguments:
        ids = ",".join(self._selected)
        match str(self.query_one("#which", Select).value):
            case "selected":
                return RunArguments(steps=ids)
            case "again":
                return RunArguments(rerun=ids)
            case "failed":
                return RunArguments(rerun="failed")
            case _:
                return RunArguments()

    # The start

    def action_forecast(self) -> None:
        self._note("Checking the pack, then rehearsing it in a copy; nothing is asked…")
        values, arguments = self.chosen_values(), self.arguments()

        settings = self.program.load_settings(self.pack, values)

        def look() -> str | tuple[str, Text]:
            return confirmation(self.pack, settings, arguments)

        def confirm(found: str | tuple[str, Text]) -> None:
            self._ask_to_start(found, settings, arguments)

        self.start("forecast", look, confirm)

    @work(group="dialog")
    async def _ask_to_start(
        self, found: str | tuple[str, Text], settings: Settings, arguments: RunArguments
    ) -> None:
        if isinstance(found, str):
            self._note(found, "bold red")
            return
        self._note("")
        if await self.app.push_screen_wait(ConfirmDialog(*found, "Start")):
            self._note("Starting…")
            pack = self.pack

            def watch(run: StartedRun) -> None:
                self.program.open_watch(pack, run.name)

            self.start(
                "start", lambda: start_run(pack, settings, arguments, more=("--yes",)), watch
            )

    def failed(self, group: str, message: str) -> None:
        self._note(message, "bold red")

    def _note(self, text: str, style: str = "") -> None:
        self.query_one("#prepare-note", Static).update(block(text, style))


def confirmation(pack: str, settings: Settings, arguments: RunArguments) -> str | tuple[str, Text]:
    """The question and its details for a person, or why the run cannot begin.

    Validate, then forecast: what `validate` or the plan refuses is never started.
    """
    checked = validate_packs(pack, settings).checked[0]
    errors = [one for one in checked.report.findings if one.severity is Severity.ERROR]
    if errors:
        count = figures.count(len(errors), "error")
        first = f"line {errors[0].line}: {errors[0].message}"
        return f"{count}, so this pack does not run: {first}"
    forecast, warnings = forecast_run(pack, settings, arguments)
    running = [one for one in forecast.steps if one.decision == Decision.RUN]
    if not running:
        return "there is nothing to run: every chosen step is done"
    asked = figures.count(forecast.to_ask + forecast.adopted, "call")
    question = f"Run {figures.count(len(running), 'step')}, {asked}? {_price(forecast)}"
    return question, forecast_detail(forecast, warnings)


def _price(forecast: CostForecast) -> str:
    if forecast.cost is None and not forecast.unpriced_calls:
        return "nothing: no call is to be asked"
    likely = "likely " if forecast.cost else ""
    return likely + cost_words(forecast.cost, forecast.unpriced_calls)


def forecast_detail(forecast: CostForecast, warnings: Sequence[str]) -> Text:
    """The forecast of `plan` as text."""
    parts: list[Text | str] = []
    parts += [block(f"! {text}\n", "yellow") for text in (*warnings, *forecast.missing)]
    parts += [block(f"! call {one} is longer than its model takes\n") for one in forecast.too_long]
    parts += [
        field("calls", calls_text(forecast.to_ask, forecast.cached, forecast.adopted)),
        field("refused", forecast.refused) if forecast.refused else "",
        field("tokens", f"about {forecast.input_tokens:,} in"),
        field("cost", _price(forecast)),
        field("time", f"about {figures.duration(round(forecast.seconds * 1000))}"),
        field("at once", forecast.max_parallel),
        "\n",
        heading("Steps"),
    ]
    for step in forecast.steps:
        cost = f"~{money(step.cost.likely)}" if step.cost else ""
        problem = f"  {step.problem}" if step.problem else ""
        line = f"{step.step_id} {step.decision:<8} {cost:>8}  {step.title}{problem}"
        parts += [cell(line, "bold red" if problem else ""), "\n"]
    if forecast.assumptions:
        parts += ["\n", heading("Assumptions")]
        parts += [block(f"{text}\n", "dim") for text in forecast.assumptions]
    return joined(parts)


def _texts(value: object) -> tuple[object, ...]:
    return tuple(value) if isinstance(value, list | tuple) else ()


def _flag_values(flags: Sequence[str]) -> dict[str, object]:
    """Flags as settings: those that begin with step numbers are overrides of these steps."""
    per_step = [flag for flag in flags if flag[:1].isdigit()]
    everywhere = [flag for flag in flags if not flag[:1].isdigit()]
    values: dict[str, object] = {}
    values |= {cs.OVERRIDE.name: per_step} if per_step else {}
    values |= {cs.ORACLE_FLAG.name: everywhere} if everywhere else {}
    return values
