"""New packs: generated from a repository, empty, or from old ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from oraclepack.api.settings_access import load_settings
from oraclepack.authoring import generate as authoring
from oraclepack.authoring.blank import new_pack as write_new_pack
from oraclepack.authoring.generate import GenerateResult
from oraclepack.authoring.generation import NewPack, UpgradeReport
from oraclepack.authoring.survey import SurveyReport
from oraclepack.authoring.survey import brief as survey_brief
from oraclepack.authoring.survey import survey as survey_project
from oraclepack.authoring.upgrade import upgrade_pack
from oraclepack.run.ask_model import ModelAsker
from oraclepack.run.run_packs import FrontEnds
from oraclepack.settings.registry import Settings


class GenerateOptions(TypedDict, total=False):
    """What a generated pack should be like; each has a default."""

    out: str
    """The pack."""
    out_dir: str
    """Where answers go."""
    to_stdout: bool
    """Return the text and write nothing."""
    force: bool
    """Replace the pack if it exists and is different."""
    rollback_on_failure: bool
    day: str
    """Instead of the commit's day."""
    focus: tuple[str, ...]
    """Only ask about these paths, functions or classes."""
    exclude: tuple[str, ...]
    since: str
    """Only ask about what changed since the fork point from this commit."""
    count: int
    """How many questions at most; 0 is ten, or twenty with `ask`."""
    extra_files: tuple[str, ...]
    """Attached to every question."""
    oracle_cmd: str
    oracle_flags: str
    model: str
    engine: str
    constraints: str
    non_goals: str
    chunked: bool
    """Ask for the four parts of each answer one by one."""
    progress: Callable[[int, int], None]
    """Called with how many files were read, and how many there are."""
    may_send: Callable[[str], bool]
    """With `ask`: asks the user whether files may be sent to the model."""


def generate(
    root: Path,
    *,
    settings: Settings | None = None,
    ask: bool = False,
    ask_model: str = "",
    front_ends: FrontEnds | None = None,
    argv: Sequence[str] = (),
    **options: Unpack[GenerateOptions],
) -> GenerateResult:
    """Write a pack of questions about a repository.

    With `ask` or `ask_model` a model writes them, for money; `front_ends` show that run.
    """
    asker = None
    if ask or ask_model:
        asker = ModelAsker(
            settings or load_settings(values={"cwd": str(root)}),
            command="generate --ask",
            model=ask_model,
            front_ends=front_ends,
            argv=argv,
        )
    return authoring.generate(authoring.GenerateRequest(root=root, asker=asker, **options))


class SurveyOptions(TypedDict, total=False):
    """What a survey is about; each has a default."""

    since: str
    """Also tell what changed since the fork point from this commit."""
    focus: tuple[str, ...]
    """Only facts of these paths."""
    exclude: tuple[str, ...]
    max_tokens: int
    progress: Callable[[int, int], None]


def survey(
    root: Path, **options: Unpack[SurveyOptions]
) -> tuple[SurveyReport, str, tuple[str, ...]]:
    """What a writer of questions needs to know of a repository: facts, a brief, and notices."""
    report, notices = survey_project(root, **options)
    return report, survey_brief(report), notices


def new_pack(pack: str, template: str = "single", cwd: str = "", *, force: bool = False) -> NewPack:
    """Write an empty pack that explains the format."""
    return write_new_pack(pack, template, cwd, force=force)


def upgrade(
    pack: str, settings: Settings | None = None, *, write: bool = False, work_block: bool = False
) -> UpgradeReport:
    """Propose the strict form of an old pack, with a proof."""
    settings = settings or load_settings(pack)
    return upgrade_pack(pack, settings, write=write, work_block=work_block)
