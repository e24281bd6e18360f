"""Gathers every layer of settings and resolves them once per command."""

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import cast

import msgspec
from msgspec.structs import replace

from oraclepack.errors import AlreadyExistsError, InputError, UsageError
from oraclepack.settings.call_settings import CHATGPT_URLS
from oraclepack.settings.declaration import PREFIX, ValueSource
from oraclepack.settings.registry import (
    COLOR,
    CONFIG_VARIABLE,
    CWD,
    SECRET_NAMES,
    TRUST_KEY_FILE,
    Layer,
    Settings,
    SettingValue,
    flatten,
    from_variables,
    resolve,
)
from oraclepack.system import files
from oraclepack.system.digests import canonical_line, sha256_bytes
from oraclepack.system.environment import config_directory, project_root
from oraclepack.system.ownership import is_tracked, is_untracked
from oraclepack.system.path_jail import refuse_own_links_out
from oraclepack.system.trust_key import use_file
from oraclepack.system.user_secrets import make_secret, read_secret, secret_file

NO_COLOR = "NO_COLOR"
COMPLETION_VARIABLE = "_ORACLEPACK_COMPLETE"


def own_variables() -> dict[str, str]:
    """Our own variables, and the two foreign ones that concern the screen."""
    names = (NO_COLOR, "TERM")
    return {k: v for k, v in os.environ.items() if k.startswith(PREFIX) or k in names}


def set_variable(name: str, value: str) -> None:
    """Set one of our variables for the rest of this process and for what it starts."""
    os.environ[name] = value


def is_completing() -> bool:
    """The shell asks for completions; there is no command to run."""
    return COMPLETION_VARIABLE in os.environ


def named_user_file() -> str | None:
    """The user's own config file, where a variable names it."""
    return os.environ.get(CONFIG_VARIABLE) or None


MOST_DOTS = 100
"""In one line, outside quotes; keys of ours have at most three."""
_QUOTED = re.compile(rb"\"[^\"]*\"|'[^']*'")

PROJECT_FILE = "oraclepack.toml"
DOTENV = ".env"
GO_PAGES = ".chatgpt-urls.json"
"""How the files end in which the Go tool saves ChatGPT pages."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
LARGEST = 1024 * 1024
"""Bytes. Settings are a page of text."""


def dotenv(root: str) -> dict[str, str]:
    """The `ORACLEPACK_*` keys of the project's `.env`."""
    path = Path(root) / DOTENV
    raw = _content(path)
    if raw is None:
        return {}
    from dotenv import dotenv_values

    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as trouble:
        raise InputError(f"{path}: cannot be read: {trouble}") from None
    values = dotenv_values(stream=StringIO(text), interpolate=False)
    return {k: v for k, v in values.items() if k.startswith(PREFIX) and v is not None}


def project_tables(root: str) -> list[tuple[Path, Mapping[str, object]]]:
    """The project's own settings: oraclepack.toml, and [tool.oraclepack] of pyproject.toml."""
    tables: list[tuple[Path, Mapping[str, object]]] = []
    own = _toml(Path(root) / PROJECT_FILE)
    if own is not None:
        tables.append((Path(root) / PROJECT_FILE, own))
    shared = _pyproject(Path(root) / "pyproject.toml")
    if shared is not None:
        tables.append((Path(root) / "pyproject.toml", shared))
    return tables


def user_table(root: str) -> tuple[Path, Mapping[str, object]] | None:
    """The user's own settings. Raises InputError where they are the repository's."""
    named = named_user_file()
    path = Path(named) if named else _user_config()
    table = _toml(path)
    if table is not None and not named and _is_of_project(path, root):
        raise InputError(
            f"{path} is not taken for your own settings: it came with the project",
            hint=f"name your config file in {CONFIG_VARIABLE}, or set HOME to another directory",
        )
    if table is None and named:
        raise InputError(f"{CONFIG_VARIABLE}: {named}: no such file")
    return None if table is None else (path, table)


def _is_of_project(path: Path, root: str) -> bool:
    """Where a home lies in the project, a clone may bring this file too."""
    return path.is_relative_to(root) and is_tracked(path)


def user_config_file() -> Path:
    """The user's own config file: the one that a variable names, else the usual one."""
    named = named_user_file()
    return Path(named) if named else _user_config()


def _user_config() -> Path:
    return config_directory() / "config.toml"


def _pyproject(path: Path) -> Mapping[str, object] | None:
    table = _toml(path, marker=b"oraclepack")
    tool = table.get("tool") if table else None
    own = tool.get("oraclepack") if isinstance(tool, dict) else None
    return own if isinstance(own, dict) else None


def _content(path: Path) -> bytes | None:
    try:
        return files.read_regular(path, LARGEST)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as trouble:
        raise InputError(
            f"{path}: cannot be read: {trouble.strerror}",
            hint="a config file is a regular file of at most 1 MiB",
        ) from None


def _refuse_long_keys(path: Path, raw: bytes) -> None:
    """The time that the parser takes grows with the square of the parts of a key."""
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.count(b".") > MOST_DOTS and _QUOTED.sub(b"", line).count(b".") > MOST_DOTS:
            raise InputError(f"{path}: line {number} has a key of more than {MOST_DOTS} parts")


def _toml(path: Path, marker: bytes = b"") -> dict[str, object] | None:
    """A TOML file, or None when there is none. Without the marker it is not worth parsing."""
    raw = _content(path)
    if raw is None or marker not in raw:
        return None
    import tomllib

    _refuse_long_keys(path, raw)
    try:
        return tomllib.loads(raw.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as trouble:
        raise InputError(f"{path}: not valid TOML: {trouble}") from None


def load_settings(
    pack: str | Path | None = None,
    values: Mapping[str, object] | None = None,
    *,
    reads_config: bool = True,
) -> Settings:
    """The settings that hold for a pack, or for the current directory.

    `values` are by name, as `config show` lists them, and outrank variables and config files. A
    `SettingValue` also says where the value was written.
    """
    flags = {
        name: value if isinstance(value, SettingValue) else SettingValue(value, name)
        for name, value in (values or {}).items()
    }
    settings = _loaded(flags, None if pack is None else str(pack), reads_config=reads_config)
    use_file(settings[TRUST_KEY_FILE])
    return settings


def _loaded(
    flags: Mapping[str, SettingValue], pack_path: str | None, *, reads_config: bool
) -> Settings:
    variables = own_variables()
    given, warnings = from_variables(variables)
    if variables.get(NO_COLOR) and COLOR.name not in given:
        given[COLOR.name] = SettingValue("never", NO_COLOR)
    own = [Layer(ValueSource.FLAG, flags), Layer(ValueSource.ENVIRONMENT, given)]
    resolved = resolve(own)
    if not reads_config:
        return replace(resolved, warnings=warnings)
    # Commands that only describe the program start without these.
    place = project_root(pack_path, str(resolved.values.get(CWD.name, "")))
    refuse_own_links_out(place)
    root = str(place)
    files, more = _files(root, pack_path)
    resolved = resolve([*own, *files])
    settings = replace(resolved, warnings=warnings + more, root=root)
    names = settings[SECRET_NAMES]
    if names:
        # Whatever cleans a text knows the environment, in the processes of the steps too.
        set_variable(SECRET_NAMES.variable, ",".join(names))
    return settings


def _files(root: str, pack_path: str | None) -> tuple[list[Layer], tuple[str, ...]]:
    layers: list[Layer] = []
    warnings: tuple[str, ...] = ()
    user = user_table(root)
    own_values = flatten(user[1], str(user[0])) if user is not None else {}
    layers.append(Layer(ValueSource.USER, _with_pages(own_values, _go_pages_of_user(root))))
    tables = project_tables(root)
    pages = Path(root, f"{Path(pack_path).stem}{GO_PAGES}") if pack_path else None
    path, table = tables[0] if tables else (Path(root, PROJECT_FILE), {})
    trust = cache(partial(is_trusted, Path(root), path.name, table))
    values = _with_pages(flatten(table, path.name), pages)
    layers.append(Layer(ValueSource.PROJECT, values, trust))
    if len(tables) > 1:
        warnings += (f"{tables[0][0].name} hides [tool.oraclepack] of {tables[1][0].name}",)
    variables = dotenv(root)
    given, unknown = from_variables(variables, DOTENV)
    own = cache(partial(_is_own_dotenv, root, variables))
    layers.append(Layer(ValueSource.DOTENV, given, own))
    return layers, warnings + unknown


def _go_pages_of_user(root: str) -> Path | None:
    path = Path("~/.oraclepack").expanduser() / GO_PAGES.removeprefix(".")
    return None if _is_of_project(path, root) else path


def _with_pages(
    values: dict[str, SettingValue], go_file: Path | None
) -> Mapping[str, SettingValue]:
    """The settings of a layer, with the ChatGPT pages that the Go tool saved beside them."""
    saved = _go_pages(go_file) if go_file is not None else {}
    given = values.get(CHATGPT_URLS.name)
    if go_file is None or not saved or (given and not isinstance(given.value, Mapping)):
        return values
    pages = saved if given is None else {**saved, **cast("Mapping[str, object]", given.value)}
    where = go_file.name if given is None else given.where
    return {**values, CHATGPT_URLS.name: SettingValue(pages, where)}


def _go_pages(path: Path) -> dict[str, str]:
    """The pages in a file of the Go tool, by names as ours may be; what is no page is left out."""
    pages: dict[str, str] = {}
    with suppress(msgspec.DecodeError):
        for item in msgspec.json.decode(_content(path) or b"{}", type=_GoPages).items:
            name = _NOT_IN_NAMES.sub("-", item.name.strip()).strip("-")
            with suppress(ValueError):
                pages |= CHATGPT_URLS.kind.read({name: item.url.strip()})
    return pages


class _GoPage(msgspec.Struct, frozen=True):
    name: str = ""
    url: str = ""


class _GoPages(msgspec.Struct, frozen=True):
    """What the Go tool saves; its `default` is only where its screen begins."""

    items: tuple[_GoPage, ...] = ()


def _is_own_dotenv(root: str, variables: Mapping[str, str]) -> bool:
    """A clone cannot bring a file that git does not track."""
    return is_untracked(Path(root, DOTENV)) or is_trusted(Path(root), DOTENV, variables)


# Settings files that the user trusts

_WHAT = "the record of trusted settings"


class TrustedFile(msgspec.Struct, frozen=True):
    """A settings file, and what it may set once it is trusted."""

    path: str
    """Relative to the project root."""
    settings: tuple[str, ...]
    """What it sets less strictly than the user, or than the default."""


class SettingsTrust(msgspec.Struct, frozen=True):
    """What `config trust` trusts."""

    root: str
    files: tuple[TrustedFile, ...] = ()


def find_untrusted(settings: Settings) -> SettingsTrust:
    """The settings files of the project that would be less strict, and are not trusted."""
    names: dict[str, list[str]] = {}
    for one in settings.ignored:
        if one.can_be_trusted:
            names.setdefault(one.where.partition(":")[0], []).append(one.name)
    files = (TrustedFile(file, tuple(wanted)) for file, wanted in sorted(names.items()))
    return SettingsTrust(settings.root, tuple(files))


def record_trust(root: Path, name: str, content: Mapping[str, object]) -> None:
    """Trust a settings file of a project while its settings are these."""
    make_secret(_record(root, name, content), _WHAT)


def is_trusted(root: Path, name: str, content: Mapping[str, object]) -> bool:
    return read_secret(_record(root, name, content), _WHAT) is not None


def _record(root: Path, name: str, content: Mapping[str, object]) -> Path:
    digest = sha256_bytes(canonical_line([str(root.resolve()), name, content]))
    return secret_file(f"trusted-settings/{digest}", _WHAT)


def trust_settings(found: SettingsTrust) -> None:
    """Let settings files be less strict than the user, as long as their settings stay the same."""
    contents: dict[str, Mapping[str, object]] = {DOTENV: dotenv(found.root)}
    contents |= {path.name: table for path, table in project_tables(found.root)}
    for file in found.files:
        record_trust(Path(found.root), file.path, contents[file.path])


def save_page(name: str, url: str) -> Path:
    """Add a name to `chatgpt_urls` of the user's config file; nothing else in it changes."""
    import tomllib

    try:
        CHATGPT_URLS.kind.read({name: url})
    except ValueError as reason:
        raise UsageError(f"chatgpt_urls: {reason}") from None
    place = user_config_file()
    text = (files.read(place) or b"").decode("utf-8-sig")
    before = tomllib.loads(text)
    pages = before.get(CHATGPT_URLS.name, {})
    if isinstance(pages, dict) and name in pages:
        raise AlreadyExistsError(f"{place}: {name} is {pages[name]}", hint="choose another name")
    changed = with_page(text, name, url)
    if tomllib.loads(changed) != {**before, CHATGPT_URLS.name: {**pages, name: url}}:
        raise InputError(
            f"{place}: {CHATGPT_URLS.name} has an unusual form", hint="edit it by hand"
        )
    files.make_directories(place.parent)
    files.write_atomic(place, changed.encode())
    return place


def with_page(text: str, name: str, url: str) -> str:
    """The text of a config file with one more page."""
    line = f'{name} = "{url}"'
    header, lines = f"[{CHATGPT_URLS.name}]", text.split("\n")
    for at, one in enumerate(lines):
        if one.strip() == header:
            return "\n".join([*lines[: at + 1], line, *lines[at + 1 :]])
    head = f"{text.rstrip()}\n\n" if text.strip() else ""
    return f"{head}{header}\n{line}\n"
