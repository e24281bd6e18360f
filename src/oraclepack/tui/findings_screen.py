"""What the rules say about a pack, and the fixes that they offer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType

from oraclepack.lint.finding import Finding, Severity
from oraclepack.lint.rule_docs import RuleDoc, explain_rules
from oraclepack.lint.validate import CheckedPack, FixPreview, preview_fixes, validate_packs
from oraclepack.tui.dialogs import ConfirmDialog
from oraclepack.tui.outside_programs import OpenTarget
from oraclepack.tui.pack_screen import ListScreen
from oraclepack.tui.screen_text import (
    STATE_STYLES,
    block,
    cell,
    field,
    heading,
    joined,
    number_cell,
)
from oraclepack.view.report import figures

_AROUND = 3
"""Lines of the pack that are shown before and after the place of a finding."""


class FindingsScreen(ListScreen[Finding]):
    """The findings in a pack, each with its lines; f shows what a fix would change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "fix", "Fix…", id="findings.fix"),
    ]
    TABLE = "findings"
    COLUMNS = ("Line", "Step", "Severity", "Rule", "Finding")
    FLEXIBLE = "Finding"

    def __init__(self, pack: str) -> None:
        super().__init__(f"Findings – {Path(pack).name}")
        self.pack = pack
        self._checked: CheckedPack | None = None
        self._rules: dict[str, RuleDoc] = {}

    def load(self) -> None:
        self.start("check", self._check, self._show)

    def _check(self) -> CheckedPack:
        self._rules = {rule.rule: rule for rule in explain_rules().rules}
        settings = self.program.load_settings(self.pack)
        return validate_packs(self.pack, settings).checked[0]

    def _show(self, checked: CheckedPack) -> None:
        self._checked = checked
        findings = checked.report.findings
        errors = sum(one.severity is Severity.ERROR for one in findings)
        fixable = sum(one.fix is not None for one in findings)
        word = f"{figures.count(errors, 'error')}: run refuses this pack" if errors else "valid"
        self.show_items(
            findings, f"{word}; {figures.count(len(findings), 'finding')}, {fixable} with a fix"
        )

    def row(self, item: Finding) -> tuple[Text, ...]:
        return (
            number_cell(item.line),
            cell(item.step_id or "-"),
            cell(item.severity, STATE_STYLES.get(item.severity, "")),
            cell(f"{item.rule}{' ✎' if item.fix else ''}"),
            cell(item.message),
        )

    def detail(self, item: Finding | None) -> Text | str:
        if item is None or self._checked is None:
            return "No rule objects to this pack." if self._checked else ""
        rule = self._rules.get(item.rule)
        parts: list[Text | str] = [block(item.message, "bold"), "\n\n"]
        parts += [field("rule", f"{item.rule} {item.name}")]
        parts += [field("help", item.hint)] if item.hint else []
        parts += [field("fix", item.fix.description)] if item.fix else []
        parts += ["\n", excerpt(self._checked.pack.text, item.line), "\n"]
        if rule is not None:
            parts += [heading("About the rule"), block(f"{rule.summary}\n\nWhy: {rule.why}")]
        return joined(parts)

    def current_file(self) -> OpenTarget | None:
        return OpenTarget(Path(self.pack), self.current.line if self.current else 0)

    def action_fix(self) -> None:
        settings = self.program.load_settings(self.pack)

        def offer(preview: FixPreview) -> None:
            self._ask_to_fix(preview)

        self.start("fix", lambda: preview_fixes(self.pack, settings), offer)

    @work(group="dialog")
    async def _ask_to_fix(self, preview: FixPreview) -> None:
        if not preview.diff:
            self.say("no finding here has an automatic fix")
            return
        left = len(preview.checked.report.findings)
        question = f"Change {Path(self.pack).name}? {figures.count(left, 'finding')} would be left."
        if await self.app.push_screen_wait(ConfirmDialog(question, diff_text(preview.diff), "Fix")):
            settings = self.program.load_settings(self.pack)
            self.start(
                "fix",
                lambda: validate_packs(self.pack, settings, fix=True).checked[0],
                self._fixed,
            )

    def _fixed(self, checked: CheckedPack) -> None:
        self.say(f"fixed {checked.report.fixed}")
        self._show(checked)


def findings_text(findings: Sequence[Finding], most: int = 8) -> Text:
    """The first findings, one to a line."""
    if not findings:
        return Text("No findings.", style="green")
    parts: list[Text | str] = [heading(figures.count(len(findings), "finding"))]
    for one in findings[:most]:
        severity = cell(f"{one.severity}: ", STATE_STYLES.get(one.severity, ""))
        parts += [Text(f"line {one.span.line} ", style="dim"), severity, cell(one.message), "\n"]
    if len(findings) > most:
        parts.append(f"and {len(findings) - most} more; press v\n")
    return joined(parts)


def excerpt(text: str, line: int, around: int = _AROUND) -> Text:
    """The lines around a place, with their numbers."""
    lines = text.split("\n")
    whole = Text()
    for number in range(max(1, line - around), min(len(lines), line + around) + 1):
        is_it = number == line
        mark = "▸" if is_it else " "
        shown = block(f"{mark}{number:>5} {lines[number - 1][:400]}\n", "bold" if is_it else "dim")
        whole.append_text(shown)
    return whole


def diff_text(diff: str) -> Text:
    """A unified diff in colour; its signs say the same."""
    whole = Text()
    for line in diff.split("\n"):
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        whole.append_text(block(f"{line}\n", style))
    return whole
