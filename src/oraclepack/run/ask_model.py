"""Questions of oraclepack itself to a model: an ordinary pack, run by Stage 2.

`actionize --ask` and `generate --ask` put their questions here. The pack is written below
`.oraclepack/asks` under the hash of its content, so that the same questions continue the same run:
cache, budget, retries and adoption hold for them without a second engine. What a prompt quotes
stands in a here-document and nowhere else in the pack.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec

from oraclepack.calls.call_budget import CommandLedger
from oraclepack.errors import ExitCode, InputError, UsageError
from oraclepack.journal.statuses import Status
from oraclepack.run.planning.selection import Existing, RunArguments, Selection
from oraclepack.run.request import RunRequest, read_request
from oraclepack.run.run import expected_cost, preview_run, run_pack
from oraclepack.run.run_display import RunFrontEnd
from oraclepack.run.run_packs import FrontEnds
from oraclepack.run.run_report import RunOutcome, run_outcome
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import STRICT, Settings
from oraclepack.system import files
from oraclepack.system.digests import sha256_text
from oraclepack.system.path_jail import content_at
from oraclepack.system.printable import one_line
from oraclepack.tools.oracle_attachments import names_one_file

FOLDER = ".oraclepack/asks"
LONGEST_PROMPT = 120_000
"""Bytes: Linux takes 131,072 for one argument of a program."""
_MOST_STEPS = 99
_GOES_ON = frozenset({ExitCode.DONE, ExitCode.STEP_FAILED})
_FOR_THE_PACK_OF_A_USER: dict[str, Any] = {
    rs.LEGACY_FILES.name: False,
    rs.OUT_DIR.name: "",
    rs.ROLLBACK_ON_FAILURE.name: False,
    STRICT.name: False,
}
"""Settings that are about packs of twenty questions and their files, and the values here."""


class ModelQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One question: what the screen calls it, its prompt, the files that go with it."""

    title: str
    prompt: str
    files: tuple[str, ...] = ()
    """Paths relative to the project root, one file each."""


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
            with self._front_end(pack, number, len(packs)) as front_end:
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

    def _front_end(
        self, pack: Path, number: int, count: int
    ) -> AbstractContextManager[RunFrontEnd | None]:
        return nullcontext() if self._front_ends is None else self._front_ends(pack, number, count)

    def _write(self, questions: Sequence[ModelQuestion]) -> tuple[Path, tuple[str, ...]]:
        """Write the pack; its path and those of the replies."""
        name = sha256_text(question_pack(questions, self._command, self._model, ""))[:16]
        folder = f"{FOLDER}/{name}"
        text = question_pack(questions, self._command, self._model, folder)
        pack = self._root / FOLDER / f"{name}.md"
        files.make_private(pack.parent)
        if files.read(pack) != text.encode():
            files.write_atomic(pack, text.encode(), mode=0o600)
        return pack, tuple(_outputs(folder, len(questions)))

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


def question_pack(questions: Sequence[ModelQuestion], command: str, model: str, folder: str) -> str:
    """The text of the pack.

    The delimiter of the here-documents is made of what they hold, so nobody who wrote a part of
    that could know it; the fence is longer than any in a prompt.
    """
    prompts = [
        one.prompt.replace("\r\n", "\n").replace("\r", "\n").strip("\n") for one in questions
    ]
    end = f"PROMPT_{sha256_text(chr(0).join(prompts))[:24]}"
    steps: list[str] = []
    outputs = _outputs(folder, len(questions))
    for number, (one, prompt, output) in enumerate(
        zip(questions, prompts, outputs, strict=True), 1
    ):
        _refuse_unusable(one, prompt, end)
        attached = "".join(f" --file {quote(path)}" for path in one.files)
        flags = f" --model {quote(model)}" if model else ""
        steps.append(
            f"# {number:02}) {_title(one.title)}\n"
            "# oraclepack: contract=none\n"
            f"mkdir -p -- {quote(folder or '.')}\n"
            f"IFS= read -r -d '' PROMPT <<'{end}' || true\n{prompt}\n{end}\n"
            f'oracle --prompt "$PROMPT"{attached}{flags} --write-output {quote(output)}'
        )
    body = "\n\n".join(steps)
    longest = max((len(ticks) for ticks in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    head = f"# Questions of oraclepack\n\nMade by `oraclepack {command}`."
    return f"{head}\n\n{fence}bash\n{body}\n{fence}\n"


def _parts(questions: Sequence[ModelQuestion]) -> Iterator[Sequence[ModelQuestion]]:
    """As many questions at a time as a pack has numbers for."""
    starts = range(0, len(questions), _MOST_STEPS)
    return (questions[start : start + _MOST_STEPS] for start in starts)


def _outputs(folder: str, count: int) -> Iterator[str]:
    return (f"{folder}/{number:02}.md" for number in range(1, count + 1))


def _title(title: str) -> str:
    """A comment of bash: nothing of it runs, and it has no attributes of a header."""
    return one_line(title).replace("`", "'").replace("=", " ")[:80].strip()


def _refuse_unusable(question: ModelQuestion, prompt: str, end: str) -> None:
    if end in prompt.split("\n") or "\0" in prompt:
        raise InputError(f"{question.title}: the prompt holds what would end it in the pack")
    if len(prompt.encode()) > LONGEST_PROMPT:
        raise InputError(
            f"{question.title}: the prompt is longer than {LONGEST_PROMPT} bytes",
            hint="attach long texts as files",
        )
    for path in question.files:
        if not names_one_file(path):
            raise InputError(f"{path}: oracle would read this name as a list or a pattern")
