"""Every setting, declared once, and how the layers that may give it are resolved.

A declaration gives the flag, the `ORACLEPACK_*` variable, the key in `.env` and TOML,
the default, the check and the documentation. Adding a setting is one entry below.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, cast

import msgspec

from oraclepack.errors import UsageError, combined, did_you_mean
from oraclepack.settings import call_settings, notify_settings, run_settings
from oraclepack.settings.declaration import (
    NOT_A_FLAG,
    OWN,
    OWN_NOT_A_FLAG,
    PREFIX,
    Setting,
    T,
    ValueSource,
    switch,
    variable_of,
)
from oraclepack.settings.project_rules import (
    ADDED_NAMES,
    FREE,
    TRUE,
    USER_ONLY,
    SettingScope,
    Verdict,
)
from oraclepack.settings.value_kinds import Choice, Names, Path, Text, Texts
from oraclepack.system.environment import (
    DETACHED_VARIABLE,
    MARKER_VARIABLE,
    MCP_VARIABLES,
    REQUEST_VARIABLE,
    TRUST_KEY_VARIABLE,
    WEBHOOK_SIGNER_VARIABLE,
)
from oraclepack.system.machine import MACHINE_VARIABLE

CONFIG_VARIABLE = "ORACLEPACK_CONFIG"
"""Names the user's own config file in place of the usual one; not a setting itself."""

_MOST_HINTS = 20
"""How many unknown variables are reported one by one; finding the nearest name takes time."""
_NOT_SETTINGS = frozenset(
    {CONFIG_VARIABLE, DETACHED_VARIABLE, MACHINE_VARIABLE, MARKER_VARIABLE, REQUEST_VARIABLE}
    | {TRUST_KEY_VARIABLE, WEBHOOK_SIGNER_VARIABLE, *MCP_VARIABLES}
)


OUTPUT = Setting(
    "output",
    Choice(("text", "json", "jsonl")),
    "text",
    "Output format: text for people, json or jsonl for programs; jsonl also prints events.",
    project=FREE,
)
COLOR = Setting(
    "color",
    Choice(("auto", "always", "never")),
    "auto",
    "When to use colour; auto means on a terminal, unless NO_COLOR is set.",
    project=FREE,
)
CWD = Setting(
    "cwd",
    Path(),
    "",
    "The project root; by default the git top level of the pack, else the current directory.",
    sources=frozenset({ValueSource.DEFAULT, ValueSource.ENVIRONMENT, ValueSource.FLAG}),
    project=USER_ONLY,
)
STRICT = switch(
    "strict",
    "Demand 20 steps with full headers; no doubtful answers, no unexpected changes.",
    project=TRUE,
)
LINT_SELECT = Setting(
    "lint.select",
    Names(),
    (),
    "Check only these rules (ids or prefixes, as OP2).",
    "--select",
    project=FREE,
)
LINT_IGNORE = Setting(
    "lint.ignore",
    Names(),
    (),
    "Leave these rules out (ids or prefixes, as OP2).",
    "--ignore",
    project=FREE,
)
SECRET_NAMES: Setting[tuple[str, ...]] = Setting(
    "secret_names",
    Names(),
    (),
    "More variables whose values are kept out of records and output: names, or patterns as MY_*.",
    sources=NOT_A_FLAG,
    project=ADDED_NAMES,
)
ALLOW_PROJECT_PROGRAMS = switch(
    "allow_project_programs",
    "Let a repository's own config name programs and hosts, and its links what is sent.",
    sources=frozenset({ValueSource.DEFAULT, ValueSource.USER}),
    project=USER_ONLY,
)

TRUST_KEY_FILE = Setting(
    "trust_key_file",
    Path(),
    "",
    "A file with a key that several machines share, in place of the one in the state directory.",
    sources=frozenset({ValueSource.DEFAULT, ValueSource.USER}),
    project=USER_ONLY,
)

GITHUB_API_URL = Setting(
    "github_api_url",
    Text(),
    "https://api.github.com",
    "Where `publish github` sends its requests and your token; for an own server, its /api/v3.",
    sources=OWN,
    project=USER_ONLY,
)

TUI_KEYS: Setting[tuple[str, ...]] = Setting(
    "tui.keys",
    Texts(),
    (),
    "Other keys for the screens of `tui`, as copy=ctrl+y; `?` there lists the names.",
    sources=OWN_NOT_A_FLAG,
    project=USER_ONLY,
)
TUI_THEME = Setting(
    "tui.theme",
    Text(),
    "textual-dark",
    "The colours of `tui`: textual-dark, textual-light, nord, gruvbox, textual-ansi, …",
    sources=OWN_NOT_A_FLAG,
    project=USER_ONLY,
)

_DECLARED = (vars(one).values() for one in (call_settings, run_settings, notify_settings))
SETTINGS: tuple[Setting[Any], ...] = tuple(
    sorted(
        (
            *(one for one in [*chain(*_DECLARED), *globals().values()] if isinstance(one, Setting)),
            *call_settings.PROVIDER_SETTINGS,
        ),
        key=lambda setting: setting.name,
    )
)
"""Every setting there is."""
BY_NAME = {setting.name: setting for setting in SETTINGS}
BY_INVERSE = {setting.inverse: setting for setting in SETTINGS if setting.inverse}
"""Settings by their earlier key, which meant the opposite."""


class SettingValue(msgspec.Struct, frozen=True):
    """A value as written, and where: a file and key, a variable or a flag."""

    value: object
    where: str


class Layer(msgspec.Struct, frozen=True):
    """Everything one source gives, by setting name."""

    source: ValueSource
    values: Mapping[str, SettingValue]
    is_trusted: Callable[[], bool] = lambda: False
    """Whether a file of the project is the user's own; asked where it is less strict."""


class ValueOrigin(msgspec.Struct, frozen=True):
    """Where a resolved value came from."""

    source: ValueSource
    where: str


class Settings(msgspec.Struct, frozen=True):
    """Every setting's value for one command, frozen, each with its origin."""

    values: Mapping[str, object] = {}
    origins: Mapping[str, ValueOrigin] = {}
    warnings: tuple[str, ...] = ()
    root: str = "."
    """The project root, as an absolute path."""
    ignored: tuple["IgnoredSetting", ...] = ()
    """What the project set and may not set."""

    def __getitem__(self, setting: Setting[T]) -> T:
        return cast("T", self.values.get(setting.name, setting.default))

    def is_given(self, setting: Setting[Any]) -> bool:
        """It was given: it is not the default."""
        return self.origin(setting).source is not ValueSource.DEFAULT

    def origin(self, setting: Setting[Any]) -> ValueOrigin:
        return self.origins.get(setting.name, ValueOrigin(ValueSource.DEFAULT, "default"))


class IgnoredSetting(msgspec.Struct, frozen=True):
    """A project's value that was not taken, or not as a whole."""

    name: str
    where: str
    """The file and key, or the variable in `.env`."""
    reason: str
    can_be_trusted: bool = False
    """`config trust` makes it count."""

    @property
    def message(self) -> str:
        trust = " or `oraclepack config trust`" if self.can_be_trusted else ""
        return f"{self.where}: ignored: {self.reason}; {_places(BY_NAME[self.name])}{trust}"


def resolve(layers: Iterable[Layer]) -> Settings:
    """The value of each setting by precedence. A bad value is an error that names its source.

    Every layer is checked, also where a stronger one hides it: otherwise a mistake would only
    appear when the stronger value is removed.

    A project's value counts as far as the setting's rule allows, measured by the user's own
    config file or the default; a trusted layer may be less strict. A value that is not allowed is
    ignored, not an error: a repository must not be able to stop its user's commands.
    """
    values: dict[str, object] = {}
    origins: dict[str, ValueOrigin] = {}
    ignored: list[IgnoredSetting] = []
    faults: list[UsageError] = []
    own: Settings | None = None
    for layer in sorted(map(_with_current_names, layers), key=lambda layer: layer.source):
        if layer.source not in OWN and own is None:
            own = Settings(dict(values))
        for name in sorted(layer.values):
            given = layer.values[name]
            setting = _known(name, given)
            if layer.source in OWN or own is None:
                try:
                    _refuse_wrong_place(setting, layer.source, given)
                    value = _read(setting, given)
                except UsageError as fault:
                    faults.append(fault)
                    continue
                # A value of the user overrides it, so it has no effect.
                ignored = [one for one in ignored if one.name != name]
            else:
                verdict = _judge(setting, given, own)
                if not (verdict.is_loosening and layer.is_trusted()):
                    ignored += [
                        IgnoredSetting(name, given.where, reason, verdict.is_loosening)
                        for reason in verdict.reasons
                    ]
                    if not verdict.is_accepted:
                        continue
                value = verdict.value
            values[name] = value
            origins[name] = ValueOrigin(layer.source, given.where)
    if faults:
        raise combined(faults)
    return Settings(values, origins, ignored=tuple(ignored))


def _judge(setting: Setting[Any], given: SettingValue, own: "Settings") -> Verdict:
    rule = setting.project
    if rule.unless_allowed and own[ALLOW_PROJECT_PROGRAMS]:
        return Verdict(_read(setting, given))
    if rule.scope is SettingScope.USER_ONLY:
        return rule.judge(given.value, own[setting])
    return rule.judge(_read(setting, given), own[setting])


def flatten(table: Mapping[str, object], where: str, above: str = "") -> dict[str, SettingValue]:
    """A TOML table as dotted names. Only the tables that hold settings are looked into."""
    tables = {
        ".".join(parts[:count])
        for parts in (name.split(".") for name in BY_NAME)
        for count in range(1, len(parts))
    }
    flat: dict[str, SettingValue] = {}
    for key, value in table.items():
        name = f"{above}{key}"
        if name in tables and isinstance(value, dict):
            flat |= flatten(value, where, f"{name}.")
        else:
            flat[name] = SettingValue(value, f"{where}: {name}")
    return flat


def from_variables(
    variables: Mapping[str, str], where: str = ""
) -> tuple[dict[str, SettingValue], tuple[str, ...]]:
    """The settings among `ORACLEPACK_*` variables, and a warning for each one we do not know."""
    known = {setting.variable: setting.name for setting in SETTINGS}
    known |= {variable_of(name): name for name in BY_INVERSE}
    given: dict[str, SettingValue] = {}
    warnings: list[str] = []
    unknown = 0
    for name in sorted(variables):
        if name in known:
            place = f"{where}: {name}" if where else name
            given[known[name]] = SettingValue(variables[name], place)
        elif name == TRUST_KEY_VARIABLE and where:
            warnings.append(f"{where}: {name} is not read from here, only from the environment")
        elif name.startswith(PREFIX) and name not in _NOT_SETTINGS:
            unknown += 1
            if unknown > _MOST_HINTS:
                continue
            place = f" in {where}" if where else ""
            hint = did_you_mean(name, known)
            warnings.append(f"unknown variable {name}{place}" + (f"; {hint}" if hint else ""))
    if unknown > _MOST_HINTS:
        warnings.append(f"{unknown - _MOST_HINTS} more unknown variables {where}".rstrip())
    return given, tuple(warnings)


def _with_current_names(layer: Layer) -> Layer:
    """The layer with every earlier key replaced by the setting that means its opposite."""
    values = dict(layer.values)
    for name in sorted(values.keys() & BY_INVERSE.keys()):
        setting, given = BY_INVERSE[name], values.pop(name)
        if setting.name in values:
            raise UsageError(
                f"{given.where}: contradicts or repeats {values[setting.name].where}",
                hint=f"keep {setting.name}; {name} is its earlier name and means the opposite",
            )
        values[setting.name] = SettingValue(not _read(setting, given), given.where)
    return Layer(layer.source, values, layer.is_trusted)


def _known(name: str, given: SettingValue) -> Setting[Any]:
    setting = BY_NAME.get(name)
    if setting is None:
        hint = did_you_mean(name, BY_NAME) or "`oraclepack config show` lists every setting"
        raise UsageError(f"{given.where}: unknown setting", hint=hint)
    return setting


def _refuse_wrong_place(setting: Setting[Any], source: ValueSource, given: SettingValue) -> None:
    if source not in setting.sources:
        raise UsageError(f"{given.where}: {setting.name} cannot be set here", hint=_places(setting))


def _places(setting: Setting[Any]) -> str:
    spelled = {
        ValueSource.FLAG: setting.flag,
        ValueSource.ENVIRONMENT: setting.variable,
        ValueSource.USER: "your own config file",
    }
    return "use " + " or ".join(spelled[s] for s in spelled if s in setting.sources)


def _read(setting: Setting[T], given: SettingValue) -> T:
    try:
        return setting.kind.read(given.value)
    except ValueError as reason:
        raise UsageError(f"{given.where}: {reason}, not {given.value!r}") from None


class SettingReport(msgspec.Struct, frozen=True):
    """A setting as `config show` prints it."""

    name: str
    value: Any
    source: str
    """The rank: default, user, project, dotenv, environment or flag."""
    where: str
    """The file and key, the variable or the flag."""
    flag: str | None
    variable: str | None
    help: str
    scope: str = SettingScope.FREE
    """What a project may do with it: free, tighten-only or user-only."""
    limit: str = ""
    """What holds for a project's value: what is stricter, or what is accepted."""


class ConfigReport(msgspec.Struct, frozen=True):
    """Every setting, its value, and where that came from."""

    root: str
    settings: tuple[SettingReport, ...]
    ignored: tuple[IgnoredSetting, ...] = ()
    """What the project set and may not set."""


def config_report(settings: Settings) -> ConfigReport:
    rows = tuple(
        SettingReport(
            name=setting.name,
            value=settings[setting],
            source=settings.origin(setting).source.name.lower(),
            where=settings.origin(setting).where,
            flag=setting.flag if ValueSource.FLAG in setting.sources else None,
            variable=setting.variable if ValueSource.ENVIRONMENT in setting.sources else None,
            help=setting.help,
            scope=setting.project.scope,
            limit=setting.project.limit,
        )
        for setting in SETTINGS
    )
    return ConfigReport(settings.root, rows, settings.ignored)
