"""A project read once, for `survey` and `generate`: its files, its history, and what they show."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from oraclepack.authoring.duplicate_code import duplicate_questions
from oraclepack.authoring.file_roles import worth_reading
from oraclepack.authoring.git_repository import (
    GitRepository,
    changes_since,
    lines_of_commits,
    read_git_repository,
)
from oraclepack.authoring.history_questions import (
    change_questions,
    history_questions,
    often_fixed,
)
from oraclepack.authoring.question_candidate import QuestionCandidate
from oraclepack.authoring.question_kinds import code_questions
from oraclepack.authoring.question_scope import exclusion, focus_guess
from oraclepack.authoring.read_repository import survey_repository
from oraclepack.authoring.repository_survey import RepositorySurvey
from oraclepack.authoring.source_reader import GRAMMARS
from oraclepack.lint.rules.attachment_rules import LARGEST, looks_secret
from oraclepack.system.environment import environment

SHORT_SHA = 12
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Project:
    """What `survey` and `generate` know."""

    repository: GitRepository
    survey: RepositorySurvey
    line_commits: Mapping[str, list[str]]
    """For each line of some files the commit that changed it last."""

    @property
    def commit(self) -> str | None:
        return self.repository.sha[:SHORT_SHA] if self.repository.sha else None

    def candidates(self) -> Iterator[QuestionCandidate]:
        """Every question that the project gives evidence for."""
        yield from history_questions(self.survey, self.line_commits)
        yield from duplicate_questions(self.survey)
        yield from code_questions(self.survey)
        yield from change_questions(self.survey)

    def notices(self) -> list[str]:
        """What a user should know about how complete the reading is."""
        repository, survey = self.repository, self.survey
        notices: list[str] = []
        if repository.is_dirty and repository.sha:
            notices.append(f"the work tree differs from the commit; {self.commit} was read")
        if repository.is_shallow:
            notices.append(
                "this clone is shallow and a full one may give another result; "
                "`git fetch --unshallow` brings the history"
            )
        for is_known, remedy in (
            (True, '; `pip install "oraclepack[languages]"` brings it'),
            (False, ", which oraclepack has none for"),
        ):
            languages = ", ".join(
                f"{count} {name}"
                for name, count in survey.unread.items()
                if (name in GRAMMARS) is is_known
            )
            if languages:
                notices.append(
                    f"not read because the grammar is missing: {languages} files{remedy}"
                )
        if survey.left_out and not survey.subjects:
            places = ", ".join(f"{count} in {name}" for name, count in survey.left_out.items())
            notices.append(
                f"not read, as built or copied from elsewhere: source files, {places};"
                " questions need the sources that they were made of"
            )
        if survey.unparsed:
            notices.append(
                f"{survey.unparsed} source files were not parsed, as the repository is very large;"
                " those that are imported or changed most were;"
                " `--focus` and `--exclude` choose others"
            )
        return notices


def read_project(
    root: Path,
    *,
    since: str = "",
    exclude: Sequence[str] = (),
    focus: Sequence[str] = (),
    progress: Progress = lambda _done, _all: None,
) -> Project:
    """Read the commit and its history. The same commit gives the same value, wherever it lies."""
    repository = read_git_repository(root, environment(), worth_reading)
    survey = survey_repository(
        repository,
        limit=LARGEST,
        is_secret=looks_secret,
        exclude=exclusion(exclude),
        changes=changes_since(root, environment(), since) if since else None,
        is_asked_for=focus_guess(focus),
        progress=progress,
    )
    oldest = repository.commits[-1].sha if repository.commits else ""
    line_commits = {
        path: lines_of_commits(root, environment(), path, oldest) for path in often_fixed(survey)
    }
    return Project(repository, survey, line_commits)
