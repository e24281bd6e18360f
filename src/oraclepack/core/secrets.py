"""Secrets, known by the names of the variables that hold them, kept out of every record."""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TypeVar, cast

import msgspec

NAMES = ("*_KEY", "*_TOKEN", "*_SECRET", "*PASSWORD*")
"""Variables whose values are secret, whatever the case of their names."""
SHORTEST = 6
"""Shorter values are left alone: `1` or `test` as a password would blot out every text."""
BLOT = "[redacted]"

Record = TypeVar("Record", bound=msgspec.Struct)


def is_secret_name(name: str) -> bool:
    return any(fnmatchcase(name.upper(), pattern) for pattern in NAMES)


class Redactor:
    """Replaces every known secret in a text, also where JSON has escaped it."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = frozenset(value for value in values if len(value) >= SHORTEST)
        spelled = {form for value in self._values for form in _forms(value)}
        # The longest first: a secret that begins with another one is blotted out as a whole.
        ordered = sorted(spelled, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Redactor":
        """The redactor for the secret-named variables of an environment."""
        return cls(value for name, value in environment.items() if is_secret_name(name))

    def also(self, environment: Mapping[str, str]) -> "Redactor":
        """One that knows the secrets of another environment too."""
        more = {value for name, value in environment.items() if is_secret_name(name)}
        return self if more <= self._values else Redactor(self._values | more)

    def clean(self, text: str) -> str:
        return self._pattern.sub(BLOT, text) if self._pattern else text

    def clean_record(self, record: Record) -> Record:
        """The record with every string in it clean; keys of mappings and all shapes stay."""
        return cast("Record", self._cleaned(record)) if self._pattern else record

    def _cleaned(self, value: object) -> object:
        # Exactly `str`: a member of an enum is a word of ours, not a text from outside.
        if type(value) is str:
            return self.clean(value)
        match value:
            case msgspec.Struct():
                return self._cleaned_struct(value)
            case tuple() | list():
                return type(value)(self._cleaned(item) for item in value)
            case dict():
                return {key: self._cleaned(item) for key, item in value.items()}
            case _:
                return value

    def _cleaned_struct(self, record: msgspec.Struct) -> msgspec.Struct:
        before = {name: getattr(record, name) for name in record.__struct_fields__}
        after = {name: self._cleaned(value) for name, value in before.items()}
        return record if after == before else msgspec.structs.replace(record, **after)


def _forms(value: str) -> tuple[str, str]:
    return (value, msgspec.json.encode(value).decode()[1:-1])


NOTHING_SECRET = Redactor()
