"""Turns settings and flags of the command line into a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from oraclepack.answers.verify_pack import VerifyOptions
from oraclepack.calls.budget import BudgetPolicy
from oraclepack.calls.context import CallOptions, OnUnknown
from oraclepack.calls.overrides import Overrides, read_overrides
from oraclepack.calls.retry import RetryPolicy
from oraclepack.errors import InputError, Refusal, UsageError, did_you_mean
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import RunDir, is_rehearsal
from oraclepack.journal.run_state import Ask, RunState
from oraclepack.lint.script_checks import start_reading
from oraclepack.pack.contract import ChunkMode, ContractMode
from oraclepack.pack.model import Pack
from oraclepack.pack.pack_files import RedirectedPack, directed, read_pack
from oraclepack.pack.questions import asking_calls
from oraclepack.run.open_run import IN_PLACE
from oraclepack.run.planning.schedule import OnFailure, on_failure
from oraclepack.run.planning.selection import RoiMode, RunArguments, Selection
from oraclepack.run.run_display import Display
from oraclepack.run.verify_outputs import verify_options
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.declaration import Setting, ValueSource
from oraclepack.settings.registry import ALLOW_PROJECT_PROGRAMS, STRICT, Settings
from oraclepack.settings.value_kinds import AUTO, AUTO_STEPS, MaxParallel
from oraclepack.store.limits import Limit, lanes_for
from oraclepack.store.spending import BudgetScope, Ceiling, UnknownPricePolicy
from oraclepack.system import environment
from oraclepack.system.files import HOME
from oraclepack.system.path_jail import AllowedPath, jail
from oraclepack.system.programs import named_program
from oraclepack.system.secrets import Redactor
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.tool_names import ORACLE, TOOLS

if TYPE_CHECKING:
    from oraclepack.calls.budget import CommandLedger
    from oraclepack.run.known_calls import RunForecast
    from oraclepack.run.run import RunResult

_SHA256 = re.compile("[0-9a-fA-F]{64}")


def overrides_of(settings: Settings, pack: Pack) -> Overrides:
    """The flags that the settings put over those of the pack; raises UsageError for a bad one."""
    engine = settings[cs.ENGINE]
    flags = [*settings[cs.ORACLE_FLAG]]
    if engine in {"api", "browser"}:
        flags.append(f"--engine={engine}")
    elif engine in {cs.DIRECT, cs.BATCH}:
        flags.append("--engine=api")
    page = _chatgpt_page(settings)
    if page:
        flags.append(f"--chatgpt-url={page}")
    per_step = settings[cs.OVERRIDE]
    return read_overrides(table_of(ORACLE), flags, per_step, [step.id for step in pack.steps])


def _engine(settings: Settings) -> str:
    """The name of the engine that makes the calls: oracle has two of its own."""
    chosen = settings[cs.ENGINE]
    return chosen if chosen in {cs.DIRECT, cs.BATCH, cs.REHEARSAL} else ORACLE


def _chatgpt_page(settings: Settings) -> str:
    """The URL that was given, or that a given name stands for."""
    given = settings[cs.CHATGPT_URL]
    if not given or given.startswith(("https://", "http://")):
        return given
    pages = settings[cs.CHATGPT_URLS]
    if given in pages:
        return pages[given]
    where = settings.origin(cs.CHATGPT_URL).where
    names = f"there are {', '.join(pages)}" if pages else "there are no names yet: chatgpt_urls"
    raise UsageError(
        f"{where} {given}: neither a URL nor a name", hint=did_you_mean(given, pages) or names
    )


def call_options(settings: Settings, pack: Pack, *, can_ask: bool) -> CallOptions:
    """How calls are made, from the settings."""
    unknown = OnUnknown(settings[cs.ON_UNKNOWN])
    return CallOptions(
        overrides=overrides_of(settings, pack),
        engine=_engine(settings),
        use_cache=settings[cs.CACHE],
        user_answers=settings[cs.ANSWERS] == "user",
        refresh=settings[cs.REFRESH],
        call_timeout=settings[cs.CALL_TIMEOUT] or None,
        retry=RetryPolicy(
            base=settings[cs.RETRY_BASE_SECONDS], run_tries=settings[cs.RETRY_BUDGET]
        ),
        output_retries=settings[cs.OUTPUT_RETRIES],
        on_unknown=OnUnknown.FAIL if unknown is OnUnknown.ASK and not can_ask else unknown,
        limits=limits_of(settings),
        trust_project=settings[ALLOW_PROJECT_PROGRAMS],
        verify=settings[rs.OUTPUT_VERIFY],
        require_headings=settings[rs.OUTPUT_REQUIRE_HEADINGS],
        chunks=ChunkMode(settings[rs.OUTPUT_CHUNK_MODE]),
        contracts=ContractMode(settings[rs.OUTPUT_CONTRACT]),
        prices=settings[cs.PRICES],
        budget=budget_of(settings, can_ask=can_ask),
    )


def budget_of(settings: Settings, *, can_ask: bool) -> BudgetPolicy:
    """What calls may cost, from the settings."""
    unknown = UnknownPricePolicy(settings[cs.ON_UNKNOWN_PRICE])
    ceilings = {
        BudgetScope.COMMAND: Ceiling(
            settings[cs.MAX_COST], settings[cs.MAX_CALLS], settings[cs.MAX_TOKENS]
        ),
        BudgetScope.RUN: Ceiling(settings[cs.PER_RUN]),
        BudgetScope.DAY: Ceiling(settings[cs.PER_DAY]),
        BudgetScope.MONTH: Ceiling(settings[cs.PER_MONTH]),
    }
    asks = unknown is UnknownPricePolicy.ASK
    return BudgetPolicy(
        ceilings={scope: one for scope, one in ceilings.items() if one != Ceiling()},
        on_unknown=UnknownPricePolicy.REFUSE if asks and not can_ask else unknown,
        output_tokens=settings[cs.BUDGET_OUTPUT_TOKENS],
    )


def limits_of(settings: Settings) -> dict[str, Limit]:
    return {
        name: Limit(
            settings[cs.MAX_CONCURRENT[name]] or None,
            settings[cs.REQUESTS_PER_MINUTE[name]] or None,
        )
        for name in cs.PROVIDERS
    }


def max_parallel(settings: Settings) -> MaxParallel:
    """How many steps may run at once: through a browser one, unless the user gave a number."""
    given = settings[rs.MAX_PARALLEL]
    return 1 if given == AUTO and settings[cs.ENGINE] == "browser" else given


def store_of(request: RunRequest) -> str:
    """The database that calls share with other machines; empty: the files of this one."""
    return "" if request.is_rehearsal else request.settings[cs.STORE]


def lanes_with(settings: Settings, providers: Sequence[str]) -> int | None:
    """How many steps get on at once; None where a limit per minute decides."""
    most = max_parallel(settings)
    return lanes_for(AUTO_STEPS if most == AUTO else most, limits_of(settings), providers)


class InvalidPackError(InputError):
    """The pack has errors, so nothing is run."""

    code = "INVALID_PACK"


class PackChangedError(InputError):
    """The pack is not the one that was approved, so nothing is run."""

    code = "PACK_CHANGED"


class FollowUpResult(msgspec.Struct, frozen=True):
    """What became of the stages that follow the steps."""

    exit_code: int
    """Of the whole command, unless a signal or a rollback decides it."""
    failed: bool
    """With --rollback-on-failure the command is rolled back for it."""


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for: a pack, settings and arguments, and who is told of it."""

    root: Path
    pack: Pack
    settings: Settings = msgspec.field(default_factory=Settings)
    arguments: RunArguments = msgspec.field(default_factory=RunArguments)
    selection: Selection = msgspec.field(default_factory=Selection)
    out_dir: str = ""
    """Handed to the pack as the variable `out_dir`; empty leaves the pack alone."""
    makes_out_dir: bool = False
    """The pack names or uses it, so that it must be there before the first step."""
    oracle_bin: str = ""
    """The oracle to call, where the user named one."""
    keep_going: bool = False
    notes: tuple[str, ...] = ()
    """What the user should know about the request itself."""
    recorded: Mapping[str, j.Setting] = msgspec.field(default_factory=dict)
    """The settings that the journal keeps."""
    check: Callable[[], None] | None = None
    """Raises the errors of the pack that prevent running it."""
    command: str = "run"
    then: Callable[[RunResult], FollowUpResult] | None = None
    """The stages of a longer command that follow the steps, while the run is still locked."""
    display: Display | None = None
    ask: Ask | None = None
    """Asks the person at the terminal; None where there is none."""
    ledger: CommandLedger | None = None
    """What the command has spent, where it runs several packs."""
    adjust_calls: Callable[[CallOptions], CallOptions] = lambda options: options
    """What a fleet prescribes for the calls of its jobs."""

    @property
    def is_rehearsal(self) -> bool:
        return is_rehearsal(self.settings[cs.ENGINE])

    @property
    def argv(self) -> tuple[str, ...]:
        return self.arguments.argv

    @property
    def answered(self) -> frozenset[str]:
        """Tools that oraclepack answers for itself, so that they need not be installed."""
        return frozenset(TOOLS if self.is_rehearsal else ())

    @property
    def writes_legacy_files(self) -> bool:
        return self.settings[rs.LEGACY_FILES] and not self.is_rehearsal

    @property
    def verify_options(self) -> VerifyOptions:
        """How strictly outputs are judged."""
        return replace(verify_options(self.settings), rehearsal=self.is_rehearsal)

    @property
    def call_options(self) -> CallOptions:
        can_ask = self.ask is not None or self.arguments.detached
        options = call_options(self.settings, self.pack, can_ask=can_ask)
        return self.adjust_calls(replace(options, in_place=self.arguments.in_place))

    def forecast(self, run: RunDir, state: RunState, steps: Sequence[str]) -> RunForecast | None:
        """What steps would ask and cost; None where they ask nothing, as in a rehearsal."""
        asking = {step.id for step in self.pack.steps if asking_calls(step)}
        if self.is_rehearsal or asking.isdisjoint(steps):
            return None
        # A run that has no steps left needs none of the reading of other runs.
        from oraclepack.run.known_calls import run_forecast

        return run_forecast(self.settings, self.pack, self.root, run, state, steps)


def request_for(
    pack: Pack,
    settings: Settings,
    arguments: RunArguments,
    display: Display | None = None,
    ask: Ask | None = None,
) -> RunRequest:
    """Put together what is to be done with a pack; raises what is wrong with the settings."""
    _refuse_unexpected(pack, arguments.expect_pack)
    root = Path(settings.root)
    if arguments.in_place and not is_rehearsal(settings[cs.ENGINE]):
        raise UsageError(
            "--in-place is about rehearsals, and this is a real run",
            hint="leave it out, or add --engine rehearsal",
        )
    out_dir, where = settings[rs.OUT_DIR], settings.origin(rs.OUT_DIR).where
    sent = (
        directed(pack, root, out_dir, where) if out_dir else RedirectedPack(pack, "", is_used=False)
    )
    _refuse_own_folder(root, out_dir, sent.out_dir, where)
    pack = sent.pack
    redactor = Redactor.of(environment.environment())
    request = RunRequest(
        root=root,
        pack=pack,
        settings=settings,
        arguments=replace(arguments, argv=tuple(map(redactor.clean, arguments.argv))),
        selection=Selection(
            rerun=arguments.rerun,
            steps=arguments.steps,
            resume_from=arguments.resume_from,
            roi_threshold=settings[rs.ROI_THRESHOLD] or None,
            roi_mode=RoiMode(settings[rs.ROI_MODE]),
            refresh=settings[cs.REFRESH],
        ),
        out_dir=sent.out_dir,
        makes_out_dir=sent.is_used or bool(pack.out_dir_sites),
        oracle_bin=_oracle(settings),
        keep_going=_keeps_going(settings),
        notes=tuple(_notes(sent, out_dir, where)),
        recorded=_recorded(settings) | ({IN_PLACE: True} if arguments.in_place else {}),
        check=partial(_refuse_broken, pack, root, settings) if settings[rs.VALIDATE] else None,
        display=display,
        ask=ask,
    )
    if any(settings.is_given(one) for one in (*cs.CALL_SETTINGS, *cs.PROVIDER_SETTINGS)):
        _ = request.call_options  # mistakes in them are reported now
    return request


def _keeps_going(settings: Settings) -> bool:
    policy = on_failure(
        keep_going=_given(settings, rs.KEEP_GOING),
        stop_on_fail=_given(settings, rs.STOP_ON_FAIL),
        min_completion=_accepted_share(settings),
    )
    if isinstance(policy, Refusal):
        raise policy.error()
    return policy is OnFailure.KEEP_GOING


def _notes(sent: RedirectedPack, out_dir: str, where: str) -> Iterator[str]:
    """What the user should know about the request itself."""
    if out_dir and not sent.is_used:
        literal = "the pack never says $out_dir, its paths are literal"
        yield f"{where} {out_dir} has no effect: {literal}"
    blocks = sent.pack.bash_blocks
    if len(blocks) > 1:
        lines = ", ".join(f"{block.span.line}" for block in blocks[1:])
        yield f"only the first bash block of {sent.pack.path} runs, not the one at line {lines}"


def read_request(
    pack: str | Path,
    settings: Settings,
    arguments: RunArguments | None = None,
    display: Display | None = None,
    ask: Ask | None = None,
) -> RunRequest:
    """The same for the pack at a path."""
    return request_for(read_pack(Path(pack)), settings, arguments or RunArguments(), display, ask)


def _refuse_unexpected(pack: Pack, expected: str | None) -> None:
    """The pack may have been replaced between its approval and the moment it was read."""
    if expected is None:
        return
    if not _SHA256.fullmatch(expected):
        raise UsageError(
            f"--expect-pack {expected}: not a SHA-256 in hex",
            hint=f"`oraclepack list {pack.path} --json` has the hash of the pack: pack_hash",
        )
    if expected.lower() != pack.pack_hash:
        raise PackChangedError(
            f"{pack.path} is not the pack that was approved: its hash is {pack.pack_hash}, "
            f"not {expected.lower()}",
            hint="nothing was run; read the pack again, then approve it again",
        )


def _refuse_own_folder(root: Path, named: str, out_dir: str, where: str) -> None:
    """Answers are the user's: they do not go where git ignores them and our commands remove files.

    A pack's own `out_dir=` may lie there, as that of the ticket action pack does.
    """
    verdict = jail(root, f"{out_dir}/x") if out_dir else None
    places = {out_dir, verdict.relative if isinstance(verdict, AllowedPath) else ""}
    if any(place.split("/")[0].casefold() == HOME for place in places):
        raise UsageError(
            f"{where} {named}: it lies in {HOME}, which is oraclepack's own and ignored by git",
            hint="give another directory inside the project, relative to its root",
        )


def _oracle(settings: Settings) -> str:
    """The oracle that the user named, if it is there; a rehearsal needs none."""
    named = settings[cs.ORACLE_BIN]
    if not named or is_rehearsal(settings[cs.ENGINE]):
        return ""
    program, fault = named_program(named)
    if fault:
        where = settings.origin(cs.ORACLE_BIN).where
        raise UsageError(f"{where} {named}: {fault}", hint="name the oracle program by its path")
    return program


def _accepted_share(settings: Settings) -> float:
    """The share of steps that suffices for this command.

    A config file states it for CI; it must not change what the same pack does at a terminal.
    """
    is_flag = settings.origin(rs.MIN_COMPLETION).source is ValueSource.FLAG
    return settings[rs.MIN_COMPLETION] if settings[rs.CI] or is_flag else 1.0


def _given(settings: Settings, setting: Setting[bool]) -> bool | None:
    """The value, if one was given."""
    return settings[setting] if settings.is_given(setting) else None


def _recorded(settings: Settings) -> dict[str, str | int | float | bool | list[str] | None]:
    """The settings that a run records: those that were given."""
    given = {
        setting.name: settings[setting]
        for setting in (*rs.RUN_SETTINGS, *cs.CALL_SETTINGS, *cs.PROVIDER_SETTINGS, *_LIMITS)
        if settings.is_given(setting)
    }
    return {name: _plain(value) for name, value in sorted(given.items())}


_LIMITS = (cs.PER_RUN, cs.PER_DAY, cs.PER_MONTH)


def _plain(
    value: str | float | tuple[str, ...] | Decimal | None,
) -> str | int | float | bool | list[str] | None:
    """A setting as a journal can hold it."""
    if isinstance(value, Decimal):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def _refuse_broken(pack: Pack, root: Path, settings: Settings) -> None:
    # Bash reads the block while the rules are loaded.
    bash = start_reading(pack.block) if pack.block is not None else None
    from oraclepack.lint.validate import errors_that_stop

    strict = settings[STRICT]
    errors = errors_that_stop(pack, root, bash, settings if strict else None)
    if not errors:
        return
    first = errors[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    raise InvalidPackError(
        f"{pack.path}:{first.span.line}:{first.span.column} {first.rule} {first.message}{more}",
        hint=f"oraclepack validate {'--strict ' if strict else ''}{pack.path} shows all; "
        "--no-validate runs it anyway",
    )
