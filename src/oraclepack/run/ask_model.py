"""Questions of oraclepack itself to a model: an ordinary pack, run by Stage 2.

`actionize --ask` and `generate --ask` put their questions here. The pack is written below
`.oraclepack/asks` under the hash of its content, so that the same questions continue the same run:
cache, budget, retries and adoption hold for them without a second engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import msgspec

from oraclepack.calls.budget import CommandLedger
from oraclepack.errors import ExitCode, UsageError
from oraclepack.journal.statuses import Status
from oraclepack.run.planning.selection import Existing, RunArguments, Selection
from oraclepack.run.preview import expected_cost, preview_run
from oraclepack.run.question_pack import ModelQuestion, question_pack, reply_paths, write_pack
from oraclepack.run.request import RunRequest, read_request
from oraclepack.run.run import run_pack
from oraclepack.run.run_display import RunFrontEnd
from oraclepack.run.run_packs import FrontEnds
from oraclepack.run.run_report import RunOutcome, run_outcome
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import STRICT, Settings
from oraclepack.system.digests import sha256_text
from oraclepack.system.path_jail import content_at

FOLDER = ".oraclepack/asks"
_MOST_STEPS = 99
_GOES_ON = frozenset({ExitCode.DONE, ExitCode.STEP_FAILED})
_FOR_THE_PACK_OF_A_USER: dict[str, Any] = {
    rs.LEGACY_FILES.name: False,
    rs.OUT_DIR.name: "",
    rs.ROLLBACK_ON_FAILURE.name: False,
    STRICT.name: False,
}
"""Settings that are about packs of twenty questions and their files, and the values here."""


class AskedModel(msgspec.Struct, frozen=True, kw_only=True):
    """What came back."""

    replies: tuple[str | None, ...]
    """In the order of the questions; None where the question was not answered."""
    outcomes: tuple[RunOutcome, ...] = ()
    """Of the packs that asked them."""

    @property
    def failed(self) -> RunOutcome | None:
        """The run that ended the command: stopped, over budget, or with an unknown payment.

        What is answered by then is kept, and the same command goes on. A question that merely
        failed does not end it.
        """
        ended = (one for one in self.outcomes if one.exit_code not in _GOES_ON)
        return next(ended, None)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(text for one in self.outcomes for text in one.warnings)


class ModelAsker:
    """Asks a model for one command, in one or several rounds, under the budget of that command."""

    def __init__(
        self,
        settings: Settings,
        *,
        command: str,
        model: str = "",
        front_ends: FrontEnds | None = None,
        argv: Sequence[str] = (),
    ) -> None:
        """`command` is the command line that asks, such as `actionize --ask`."""
        if settings[rs.CI] and settings[cs.MAX_COST] is None:
            raise UsageError(
                f"{command} spends money, and with --ci it needs a limit",
                hint="add --max-cost USD",
            )
        self._settings = msgspec.structs.replace(
            settings, values={**settings.values, **_FOR_THE_PACK_OF_A_USER}
        )
        self._root = Path(settings.root)
        self._command = command
        self._model = model
        self._front_ends = front_ends
        self._argv = tuple(argv)
        self._ledger = CommandLedger()

    def ask(self, questions: Sequence[ModelQuestion]) -> AskedModel:
        """Ask; what was answered before is not asked again."""
        packs = list(map(self._write, _parts(questions)))
        outcomes: list[RunOutcome] = []
        replies: list[str | None] = []
        for number, (pack, outputs) in enumerate(packs, 1):
            made = self._front_ends and self._front_ends(pack, number, len(packs))
            with made or nullcontext() as front_end:
                request = self._request(pack, front_end)
                stop = front_end.stop if front_end is not None else None
                outcomes.append(run_outcome(request, run_pack(request, stop=stop)))
            replies += self._read(outcomes[-1], outputs)
            if outcomes[-1].exit_code not in _GOES_ON:
                break
        replies += [None] * (len(questions) - len(replies))
        return AskedModel(replies=tuple(replies), outcomes=tuple(outcomes))

    def price(self, questions: Sequence[ModelQuestion]) -> tuple[str, ...]:
        """What asking would cost, one line a pack; asks nothing."""
        lines: list[str] = []
        for part in _parts(questions):
            request = self._request(self._write(part)[0], None)
            selected, planned = preview_run(request)
            expected = expected_cost(request, selected, planned)
            lines.append(expected.text if expected is not None else "nothing to ask")
        return tuple(lines)

    def _write(self, questions: Sequence[ModelQuestion]) -> tuple[Path, tuple[str, ...]]:
        """Write the pack; its path and those of the replies."""
        name = sha256_text(question_pack(questions, self._command, self._model, ""))[:16]
        folder = f"{FOLDER}/{name}"
        text = question_pack(questions, self._command, self._model, folder)
        pack = write_pack(self._root, f"{FOLDER}/{name}.md", text)
        return pack, tuple(reply_paths(folder, len(questions)))

    def _request(self, pack: Path, front_end: RunFrontEnd | None) -> RunRequest:
        # Files that no record of ours knows are no replies, whoever put them there.
        arguments = RunArguments(existing=Existing.REPLACE, argv=self._argv)
        ask = front_end.ask if front_end is not None else None
        request = read_request(pack, self._settings, arguments, front_end, ask)
        return msgspec.structs.replace(
            request,
            selection=Selection(refresh=self._settings[cs.REFRESH]),
            ledger=self._ledger,
            keep_going=True,
        )

    def _read(self, outcome: RunOutcome, outputs: Sequence[str]) -> Iterator[str | None]:
        done = {step.step_id for step in outcome.report.steps if step.status == Status.OK}
        for number, output in enumerate(outputs, 1):
            data = content_at(self._root, output).data if f"{number:02}" in done else None
            yield None if data is None else data.decode("utf-8", "replace")


def _parts(questions: Sequence[ModelQuestion]) -> Iterator[Sequence[ModelQuestion]]:
    """As many questions at a time as a pack has numbers for."""
    starts = range(0, len(questions), _MOST_STEPS)
    return (questions[start : start + _MOST_STEPS] for start in starts)
