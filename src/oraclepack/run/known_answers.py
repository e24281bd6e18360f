"""Which calls would be answered without asking, for the forecasts. Only reads."""

from pathlib import Path

from oraclepack.calls.answers import find_unmet
from oraclepack.calls.cache import GOOD
from oraclepack.calls.file_store import answer_caches, run_answers
from oraclepack.calls.key import Parts
from oraclepack.settings import call_settings as cs
from oraclepack.settings.registry import Settings
from oraclepack.system.ownership import Foreign
from oraclepack.system.printable import quantity


class KnownAnswers:
    """The answers that a run of a pack would use: of the cache, of the user, and of itself."""

    def __init__(self, root: Path, run_dir: Path, settings: Settings) -> None:
        self._settings = settings
        self._caches = answer_caches(root, user=settings[cs.ANSWERS] == "user")
        own = run_answers(root, run_dir)
        self._places = (*self._caches, own) if settings[cs.CACHE] else (own,)
        self._unused: dict[str, Foreign] = {}
        """Answers to questions that were looked up, and why they are not used."""

    def parts(self, key: str) -> Parts | None:
        """What made the key of a question that was answered; None where no answer is known."""
        if self._settings[cs.REFRESH]:
            return None
        looked = [one for place in self._places if (one := place.get(key)) is not None]
        found = next((one for one in looked if one.state == GOOD), None)
        foreign = next((one.foreign for one in looked if one.foreign is not None), None)
        if found is None and foreign is not None:
            self._unused[key] = foreign
        if found is None and self._settings[cs.CACHE]:
            found = find_unmet(self._caches, key)
        return None if found is None else found.entry.parts

    @property
    def notice(self) -> str:
        """Why answers that are there do not count; empty where all of them do."""
        if not self._unused:
            return ""
        first = next(iter(self._unused.values()))
        number = quantity(len(self._unused), "cached answer")
        return f"{number} not used: {first.reason}; {first.way_out}"

    def has(self, key: str) -> bool:
        """Whether a call would be answered with what is there."""
        return self.parts(key) is not None
