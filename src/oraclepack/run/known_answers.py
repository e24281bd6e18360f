"""Which calls would be answered without asking, for the forecasts. Only reads."""

from pathlib import Path

from oraclepack.calls.answer_files import lacking
from oraclepack.calls.cache import GOOD
from oraclepack.calls.file_store import project_cache, run_answers
from oraclepack.calls.key import Parts
from oraclepack.calls.other_runs import HeldAnswer, HeldQuestion, asked_parts, held_answer
from oraclepack.calls.truth import contract_of_call
from oraclepack.pack.contract import ChunkMode, ContractMode
from oraclepack.pack.model import Pack
from oraclepack.pack.questions import asking_calls
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import Settings
from oraclepack.system.path_jail import AllowedPath, jail


class KnownAnswers:
    """The answers that a run of a pack would use: of the cache, of itself, and of other runs."""

    def __init__(self, root: Path, run_dir: Path, pack: Pack, settings: Settings) -> None:
        self._root, self._pack, self._settings = root, pack, settings
        self._cache = project_cache(root)
        own = run_answers(root, run_dir)
        self._places = (self._cache, own) if settings[cs.CACHE] else (own,)

    def parts(self, key: str) -> Parts | None:
        """What made the key of a question that was answered; None where no answer is known."""
        return self._stored(key) or asked_parts(self._root, key, self._noted_runs(key))

    def has(self, key: str, step_id: str, call: int, output_path: str | None) -> bool:
        """Whether a call would be answered with what is there."""
        return self._stored(key) is not None or self._is_held(key, step_id, call, output_path)

    def _stored(self, key: str) -> Parts | None:
        """The parts of a key with a verified answer."""
        if self._settings[cs.REFRESH]:
            return None
        looked = (place.get(key) for place in self._places)
        found = (one.entry.parts for one in looked if one is not None and one.state == GOOD)
        return next(found, None)

    def _noted_runs(self, key: str) -> tuple[str, ...]:
        """The runs with an answer that is not in the cache, under the settings that use it."""
        is_used = self._settings[cs.CACHE] and not self._settings[cs.REFRESH]
        return self._cache.unmet_runs(key) if is_used else ()

    def _is_held(self, key: str, step_id: str, call: int, output_path: str | None) -> bool:
        run_ids = self._noted_runs(key)
        output = jail(self._root, output_path) if run_ids and output_path else None
        if not isinstance(output, AllowedPath):
            return False
        prompt = self._prompt(step_id, call)
        held = held_answer(HeldQuestion(self._root, key, output, prompt), run_ids)
        return held is not None and not self._is_asked_again(held, step_id, output, prompt)

    def _prompt(self, step_id: str, call: int) -> str:
        """As the text of the step has it: journals do not hold whole prompts."""
        step = self._pack.step(step_id)
        calls = tuple(asking_calls(step)) if step is not None else ()
        prompt = calls[call - 1].prompt if call <= len(calls) else None
        return prompt.text if prompt is not None else ""

    def _is_asked_again(
        self, held: HeldAnswer, step_id: str, output: AllowedPath, prompt: str
    ) -> bool:
        """Whether a retry of an answer that misses its contract was interrupted, and goes on."""
        settings = self._settings
        if held.retry is None or held.retry.number > settings[cs.OUTPUT_RETRIES]:
            return False
        contract = contract_of_call(
            self._pack.step(step_id),
            output.relative,
            prompt,
            chunks=ChunkMode(settings[rs.OUTPUT_CHUNK_MODE]),
            mode=ContractMode(settings[rs.OUTPUT_CONTRACT]),
        )
        headings = settings[rs.OUTPUT_REQUIRE_HEADINGS]
        return settings[rs.OUTPUT_VERIFY] and bool(
            lacking([contract], [held.data], require_headings=headings)
        )
