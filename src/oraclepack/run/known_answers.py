"""Which calls would be answered without asking, for the forecasts. Only reads."""

from pathlib import Path

from oraclepack.calls.cache import GOOD
from oraclepack.calls.file_store import answer_caches, run_answers
from oraclepack.calls.key import Parts
from oraclepack.calls.unmet_answers import find_unmet
from oraclepack.settings import call_settings as cs
from oraclepack.settings.registry import Settings


class KnownAnswers:
    """The answers that a run of a pack would use: of the cache, of the user, and of itself."""

    def __init__(self, root: Path, run_dir: Path, settings: Settings) -> None:
        self._settings = settings
        self._caches = answer_caches(root, user=settings[cs.ANSWERS] == "user")
        own = run_answers(root, run_dir)
        self._places = (*self._caches, own) if settings[cs.CACHE] else (own,)

    def parts(self, key: str) -> Parts | None:
        """What made the key of a question that was answered; None where no answer is known."""
        if self._settings[cs.REFRESH]:
            return None
        looked = (place.get(key) for place in self._places)
        found = next((one for one in looked if one is not None and one.state == GOOD), None)
        if found is None and self._settings[cs.CACHE]:
            found = find_unmet(self._caches, key)
        return None if found is None else found.entry.parts

    def has(self, key: str) -> bool:
        """Whether a call would be answered with what is there."""
        return self.parts(key) is not None
