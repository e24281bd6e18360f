"""Secrets, recognised by the names of their variables and removed from every record."""

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from itertools import islice
from typing import TypeVar, cast

import msgspec

from oraclepack.system.environment import environment
from oraclepack.system.printable import changed_texts

NAMES_VARIABLE = "ORACLEPACK_SECRET_NAMES"
"""More names and patterns of names, with commas: the setting `secret_names`."""
_ENDINGS = ("_KEY", "_TOKEN", "_SECRET", "_PAT")
_INSIDE = ("PASS", "APIKEY", "_AUTH", "CRED", "_ACCESS_KEY", "DATABASE_URL")
_HARMLESS = re.compile(
    "(?:BY|COM)PASS(?!WORD|WD)|PASS(?:THROUGH|ENGER|ED|IVE|ES)|_AUTHORS?(?![A-Z])|CREDIT|ASKPASS"
    "|_AUTH_(?:SOCK|TYPE|METHOD|MODE)"
)
"""Words that only look as if they named one: their part of a name does not count."""
_NUMBER = re.compile(r"_?\d+\Z")
"""`OPENAI_API_KEY_2` holds what `OPENAI_API_KEY` does."""
ORDINARY = frozenset(
    {"PATH", "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "TMPDIR", "TZ"}
    | {"HOSTNAME", "EDITOR", "PAGER", "DISPLAY", "VIRTUAL_ENV", "PYTHONPATH", "SHLVL", "_"}
)
"""Never secret, whatever the settings say: records consist of their values."""
_USERINFO = re.compile(
    r"\b[A-Za-z][A-Za-z0-9+.-]{0,20}://(?P<user>[^\s/?#@:]{0,256})(?::(?P<password>[^\s/?#@]{0,512}))?@"
)
"""The name and password in a URL; bounded, since a text may hold thousands of beginnings."""
_TOKEN = 20
"""So long a user name in a URL is a token."""
SHORTEST = 6
"""Shorter values are left alone: `1` or `test` as a password would blot out every text."""
OUR_WORDS = frozenset(
    {"oracle", "gemini", "task-master", "oraclepack", "rehearsal", "prelude"}
    | {"openai", "anthropic", "google", "openrouter", "browser", "pending"}
)
"""Nor are the names that records are about: without them none could be understood again."""
MOST_LINES = 100
"""So many lines of a secret are known one by one; thousands would take seconds to prepare for."""
LONG = 1000
"""Forms of so many characters are sought one by one: as parts of a pattern they take seconds."""
BLOT = "[redacted]"

Record = TypeVar("Record", bound=msgspec.Struct)


def is_secret_name(name: str, more: Iterable[str] = ()) -> bool:
    """Whether the value of such a variable is secret, whatever the case of its name.

    `more` are added names and patterns.
    """
    upper = _NUMBER.sub("", name.upper())
    if upper in ORDINARY or name.upper() in ORDINARY:
        return False
    if any(fnmatchcase(name.upper(), pattern.upper()) for pattern in more):
        return True
    # `TOKEN` alone is as secret as `MY_TOKEN`.
    upper = _HARMLESS.sub("", f"_{upper}")
    return upper.endswith(_ENDINGS) or any(word in upper for word in _INSIDE)


def secrets_of(environment: Mapping[str, str]) -> set[str]:
    """The secrets in an environment: values of secret names, and what URLs hold before the `@`.

    Of a URL it is the password or, where there is none, the name: tokens are there.
    """
    more = [word.strip() for word in environment.get(NAMES_VARIABLE, "").split(",")]
    named = {value for name, value in environment.items() if is_secret_name(name, more)}
    held = {
        match["password"] or (match["user"] if match["password"] is None else "")
        for name, value in environment.items()
        if "@" in value and name.upper() not in ORDINARY
        for match in _USERINFO.finditer(value)
    }
    return named | held


class Redactor:
    """Replaces every known secret in a text, also where JSON has escaped it.

    With `urls` also the password in any URL, and a token in the place of its user.
    """

    def __init__(self, values: Iterable[str] = (), *, urls: bool = False) -> None:
        self._values = frozenset(value for value in values if _is_long_enough(value))
        self._long, self._pattern = _sought(self._values)
        self._urls = urls

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "Redactor":
        """The redactor for the secret-named variables of an environment."""
        return cls(secrets_of(environment), urls=True)

    def also(self, environment: Mapping[str, str]) -> "Redactor":
        """One that knows the secrets of another environment too."""
        more = secrets_of(environment)
        return self if more <= self._values else Redactor(self._values | more, urls=self._urls)

    def clean(self, text: str) -> str:
        for form in self._long:
            text = text.replace(form, BLOT)
        text = self._pattern.sub(BLOT, text) if self._pattern else text
        return _USERINFO.sub(_without_password, text) if self._urls and "@" in text else text

    def clean_record(self, record: Record) -> Record:
        """The record with every string in it clean, keys of mappings too; all shapes stay."""
        known = self._values or self._urls
        return cast("Record", changed_texts(record, self.clean)) if known else record


def _without_password(url: "re.Match[str]") -> str:
    at = "password" if url["password"] is not None else "user"
    if not _is_value(url[at], SHORTEST if at == "password" else _TOKEN):
        return url[0]
    start, end = url.start(at) - url.start(), url.end(at) - url.start()
    return url[0][:start] + BLOT + url[0][end:]


def _is_value(text: str, shortest: int) -> bool:
    """It is no placeholder, such as `$PASSWORD`, `<token>` or `***`."""
    return len(text) >= shortest and not text.startswith(("$", "<", "{", "*", "["))


@lru_cache(maxsize=8)
def _sought(values: frozenset[str]) -> tuple[tuple[str, ...], re.Pattern[str] | None]:
    """The long forms, and a pattern of the others.

    Remembered: a command looks at the same environment in several places.
    """
    spelled = {form for value in values for form in _forms(value)}
    # The longest first: a secret that begins with another one is removed as a whole.
    ordered = sorted(spelled, key=lambda form: (-len(form), form))
    short = [re.escape(form) for form in ordered if len(form) < LONG]
    long = tuple(form for form in ordered if len(form) >= LONG)
    return long, re.compile("|".join(short)) if short else None


def _is_long_enough(value: str) -> bool:
    word = value.strip().lower()
    return len(value) >= SHORTEST and word != "" and word not in OUR_WORDS


def _forms(value: str) -> set[str]:
    """How a secret may be in a text: plain, as JSON or Python quote it, in a URL, by lines.

    Messages are made of single lines with single blanks, so a secret of several lines is one in
    each of its lines.
    """
    decoded = value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    forms = {value, decoded, value.encode("utf-8", "backslashreplace").decode()}
    parts = {part for form in forms for part in (*_lines(form), form.strip())}
    forms |= {part for part in parts if len(part) >= SHORTEST}
    forms |= {" ".join(form.split()) for form in forms}
    forms |= {quoted for form in forms for quoted in _quoted(form)}
    # The parts as well as the whole: a line of it may be a word of ours.
    return {form for form in forms if _is_long_enough(form)}


def _lines(text: str) -> Iterator[str]:
    """The first of its lines that are long enough."""
    return islice((line for line in text.splitlines() if len(line) >= SHORTEST), MOST_LINES)


def _quoted(text: str) -> tuple[str, ...]:
    if text.isascii() and text.replace("-", "").replace("_", "").isalnum():
        return ()
    data = text.encode("utf-8", "surrogateescape")
    return (
        msgspec.json.encode(data.decode("utf-8", "replace")).decode()[1:-1],
        text.encode("unicode_escape", "backslashreplace").decode(),
        repr(text)[1:-1],
        *("".join(map(spelling.__getitem__, data)) for spelling in _in_urls()),
    )


@cache
def _in_urls() -> tuple[tuple[str, ...], ...]:
    """How each byte is written in a URL, in every custom; made only when a secret needs it."""
    customs = (
        ("~", "%20"),  # the standard's
        ("~/", "%20"),  # that of paths
        ("~!'()*", "%20"),  # encodeURIComponent's, in JavaScript
        ("~", "+"),  # that of forms, in Python
        ("*", "+"),  # that of forms, in browsers and Node
    )
    return tuple(
        tuple(
            blank
            if byte == ord(" ")
            else sign
            if sign in _PLAIN or sign in plain
            else digits % byte
            for byte, sign in enumerate(map(chr, range(256)))
        )
        for plain, blank in customs
        for digits in ("%%%02X", "%%%02x")
    )


_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
NOTHING_SECRET = Redactor()


def redacted(text: str) -> str:
    """A text without the secrets of the environment."""
    return Redactor.of(environment()).clean(text)


def redacted_record(record: Record) -> Record:
    """A record with every text in it redacted."""
    return Redactor.of(environment()).clean_record(record)
