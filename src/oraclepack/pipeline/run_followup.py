"""`followup` as a whole: read a run, write the pack that asks its open questions again."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from posixpath import basename

import msgspec

from oraclepack.authoring.answer_contract import answer_format
from oraclepack.authoring.pack_writing import ORACLE_FLAGS, coverage, quoted
from oraclepack.authoring.question_candidate import on_one_line
from oraclepack.errors import AlreadyExistsError, NotFoundError, UsageError
from oraclepack.lint.rules.attachment_rules import LARGEST, looks_secret
from oraclepack.pack.model import CATEGORIES
from oraclepack.pack.output_names import slug
from oraclepack.system import environment as env
from oraclepack.system import files, git
from oraclepack.system.path_jail import inside
from oraclepack.system.secrets import Redactor
from oraclepack.tools.oracle_attachments import IGNORED_DIRECTORIES, glob, names_one_file
from oraclepack.work.backlog import Issue, PackAnswers, Record, WorkStatus
from oraclepack.work.load_answers import from_run, newest_run, refuse_foreign
from oraclepack.work.records import actionize

MOST_FILES = 6
"""Attached to one question; a pattern such as `**/*.py` would attach everything."""
_OLD_FILES = 3
"""Files of the question itself are added again up to so many."""
_LONGEST_TEXT = 600
_LONGEST_NAME = 48
_DEFAULT_CATEGORY = "invariants"


SizeOf = Callable[[str], int | None]
"""The size of a file of the project; None where there is no regular file."""


class FollowupQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question that is asked again."""

    step_id: str
    """Its number in the new pack."""
    original_step: str
    reasons: tuple[str, ...]
    """`cut off`, `blocked` or `conflict`."""
    files: tuple[str, ...]
    output: str
    unmatched: tuple[str, ...] = ()
    """Missing evidence that names no file of the repository."""
    refused: tuple[str, ...] = ()
    """Files that match and look as if they held a secret, or are too large."""
    not_attached: int = 0
    """How many more files match."""


class MatchedEvidence(msgspec.Struct, frozen=True):
    """What the names and patterns of missing evidence come to in a repository."""

    files: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


def match_evidence(
    patterns: Iterable[str], paths: Sequence[str], size_of: SizeOf
) -> MatchedEvidence:
    """The files that patterns mean; exact names first, then the fewest matches."""
    located: list[tuple[int, str]] = []
    unmatched: list[str] = []
    refused: dict[str, None] = {}
    for pattern in patterns:
        matches = _matches(pattern, paths)
        good = []
        for path in matches:
            size = size_of(path)
            if looks_secret(path) or size is None or size > LARGEST:
                refused[path] = None
            else:
                good.append(path)
        if not matches:
            unmatched.append(pattern)
        located += [(len(good), path) for path in good]
    ordered = dict.fromkeys(path for _, path in sorted(located))
    return MatchedEvidence(tuple(ordered), tuple(unmatched), tuple(refused))


def _matches(pattern: str, paths: Sequence[str]) -> list[str]:
    bare = pattern.strip().strip("`").removeprefix("./").split("#")[0]
    bare = re.sub(r":\d+(?:-\d+)?$", "", bare)
    if not bare or " " in bare or bare.startswith("/") or ".." in bare.split("/"):
        return []
    exact = [path for path in paths if path == bare]
    if exact:
        return exact
    below = f"{bare.rstrip('/')}/"
    matches_glob = glob(bare)
    anywhere = glob(f"**/{bare}") if "/" not in bare else matches_glob
    return [
        path
        for path in paths
        if path.startswith(below) or matches_glob.fullmatch(path) or anywhere.fullmatch(path)
    ]


def usable_paths(paths: Iterable[str]) -> list[str]:
    """The files of a repository that a pack may attach."""
    return sorted(
        path
        for path in paths
        if names_one_file(path)
        and not path.startswith(".oraclepack/")
        and not IGNORED_DIRECTORIES & set(path.split("/")[:-1])
    )


def open_questions(issues: Sequence[Issue]) -> list[tuple[Issue, tuple[str, ...]]]:
    """The questions to ask again, and why."""
    questions = []
    for issue in issues:
        statuses = {record.status for record in issue.records}
        reasons = [
            *(["cut off"] if issue.cut else []),
            *(["blocked"] if WorkStatus.BLOCKED in statuses else []),
            *(["conflict"] if WorkStatus.CONFLICT in statuses else []),
        ]
        if reasons:
            questions.append((issue, tuple(reasons)))
    return questions


def plan_questions(
    pack: PackAnswers,
    issues: Sequence[Issue],
    paths: Sequence[str],
    size_of: SizeOf,
    out_dir: str,
) -> list[tuple[Issue, FollowupQuestion]]:
    """Each open question with the files that it needs."""
    attached = {
        step.question.step_id: [file.path for file in step.attached or ()] for step in pack.steps
    }
    known = frozenset(paths)
    planned = []
    for number, (issue, reasons) in enumerate(open_questions(issues), start=1):
        evidence = match_evidence(issue.missing_inputs, paths, size_of)
        first = [path for path in (_reference_path(issue),) if path in known]
        cited = [
            citation.path
            for record in issue.records
            if record.status is WorkStatus.CONFLICT
            for citation in record.evidence.citations
        ]
        attachments = list(dict.fromkeys([*first, *evidence.files, *cited]))
        old = [path for path in attached.get(issue.step_id, []) if path not in attachments]
        attachments += old[: max(0, _OLD_FILES - len(attachments))]
        usable = [
            path
            for path in attachments
            if path in known and not looks_secret(path) and (size_of(path) or 0) <= LARGEST
        ]
        name = slug(issue.title.replace(".", "-"))[:_LONGEST_NAME].strip("-") or "question"
        planned.append(
            (
                issue,
                FollowupQuestion(
                    step_id=f"{number:02}",
                    original_step=issue.step_id,
                    reasons=reasons,
                    files=tuple(usable[:MOST_FILES]),
                    output=f"{out_dir}/{number:02}-{name}.md",
                    unmatched=evidence.unmatched,
                    refused=evidence.refused,
                    not_attached=max(0, len(usable) - MOST_FILES),
                ),
            )
        )
    return planned


def write_followup(
    pack: PackAnswers, planned: Sequence[tuple[Issue, FollowupQuestion]], out_dir: str
) -> str:
    """The Markdown file of the pack."""
    scores = {
        step.question.step_id: (step.question.roi or 1.0, step.question.effort or 1.0)
        for step in pack.steps
    }
    steps = "\n\n".join(_step(issue, one, scores) for issue, one in planned)
    run = f" of run {pack.pack_id}" if pack.pack_id else ""
    return f"""\
# Oracle pack: follow-up{run}

Made by `oraclepack new --from-run`: the questions whose answers were cut off, could not decide or
contradict each other, with the evidence that was missing. Check it with `oraclepack validate`,
run it with `oraclepack run`.

## Commands

```bash
set -euo pipefail
mkdir -p {quoted(out_dir)}

{steps}
```

## Coverage check
{coverage((_category(issue), one.step_id) for issue, one in planned)}
"""


def _category(issue: Issue) -> str:
    return issue.category if issue.category in CATEGORIES else _DEFAULT_CATEGORY


def _step(issue: Issue, one: FollowupQuestion, scores: Mapping[str, tuple[float, float]]) -> str:
    roi, effort = scores.get(one.original_step, (1.0, 1.0))
    reference = (one.files or ("unknown",))[0]
    words = ["oracle", ORACLE_FLAGS, f"--write-output {quoted(one.output)}"]
    words += [f"-f {quoted(path)}" for path in one.files]
    header = (
        f"# {one.step_id}) ROI={roi:g} effort={effort:g} category={_category(issue)}"
        f" reference={reference.replace(' ', '%20')}"
    )
    return "\n".join(
        [
            header,
            "IFS= read -r -d '' prompt <<'PROMPT' || true",
            *_prompt(issue, one, reference),
            "PROMPT",
            " ".join([*words, '-p "$prompt"']),
        ]
    )


def _prompt(issue: Issue, one: FollowupQuestion, reference: str) -> Iterator[str]:
    """Every text of an answer is on one line behind a mark, so it cannot end the heredoc."""
    yield "[oraclepack-meta]"
    yield f"QuestionId: {basename(one.output)[3:].removesuffix('.md')}"
    yield f"Category: {_category(issue)}"
    yield f"Reference: {reference}"
    yield "[/oraclepack-meta]"
    yield ""
    yield "Question:"
    yield _line(issue.question) or _line(issue.title) or f"What was open in {issue.issue_id}?"
    yield ""
    yield f"It was asked before ({issue.issue_id}), and the answer was {', '.join(one.reasons)}."
    yield "What is known so far, to be checked and not to be repeated:"
    yield from _listed(_known(issue)) or ["- nothing"]
    yield ""
    yield "Attached:"
    names = [f"{path}: {_why(path, issue)}" for path in one.files]
    yield from _listed(names) or ["- nothing"]
    missing = [*one.unmatched, *(f"{path} (not to be sent)" for path in one.refused)]
    if missing:
        yield ""
        yield "Not available; say what follows without it:"
        yield from _listed(missing)
    yield ""
    yield "Answer format:"
    yield answer_format()


def _why(path: str, issue: Issue) -> str:
    if path == _reference_path(issue):
        return "the reference"
    return "evidence that was missing or cited"


def _reference_path(issue: Issue) -> str:
    """The file of a reference such as `src/pool.py:Pool.put`."""
    path, colon, symbol = (issue.reference or "").strip().rpartition(":")
    return path if colon and "/" not in symbol else symbol


def _known(issue: Issue) -> Iterator[str]:
    if issue.answer:
        yield f"Answer: {issue.answer}"
    if issue.cut:
        yield f"The answer is cut off: {issue.cut}"
    for record in issue.records:
        yield from _record_lines(record)
    yield from (f"Risk: {text}" for text in issue.risks)


def _record_lines(record: Record) -> Iterator[str]:
    match record.status:
        case WorkStatus.CONFLICT:
            for side in record.statements:
                yield f"Question {side.step_id} was answered: {side.text}"
            yield "These statements contradict each other: say which holds, and why"
        case WorkStatus.ACTIONABLE:
            yield f"Already noted as work: {record.title}"
        case _:
            yield from record.remarks


def _listed(lines: Iterable[str]) -> list[str]:
    return [f"- {_line(line)}" for line in lines]


def _line(text: str) -> str:
    flat = on_one_line(text)
    return flat if len(flat) <= _LONGEST_TEXT else f"{flat[:_LONGEST_TEXT].rstrip()} …"


class FollowupReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `followup` wrote; `pack` is empty where nothing is open."""

    run_dir: str
    pack: str
    changed: bool
    questions: tuple[FollowupQuestion, ...]


class FollowupResult(msgspec.Struct, frozen=True):
    """The report, with warnings."""

    report: FollowupReport
    warnings: tuple[str, ...] = ()


def followup_run(run_dir: str, root: Path, out: str = "", *, force: bool = False) -> FollowupResult:
    """Write a pack of the cut-off, blocked and conflicting questions of a run, or the newest."""
    place = Path(run_dir) if run_dir else newest_run(root)
    if not place.is_dir():
        raise NotFoundError(f"--run-dir {place}: no such directory")
    refuse_foreign(place)
    project = (env.project_of(place) or root).resolve()
    loaded = from_run(place, project)
    if loaded.answers.rehearsal:
        raise UsageError(
            "these answers come from a rehearsal, in which no model was asked",
            hint="run the pack with a real engine first",
        )
    target = Path(out) if out else project / _default_name(loaded.answers.pack_name)
    relative = inside(str(project), str(target.absolute()))
    if relative is None:
        raise UsageError(
            f"--out {out}: lies outside of the project", hint=f"name a file below {project}"
        )
    env.refuse_to_write_out(target.parent)
    out_dir = f"{relative.removesuffix('.md')}-answers"
    paths = usable_paths(_paths(project))

    def size_of(path: str) -> int | None:
        there = project / path
        return there.stat().st_size if there.is_file() and not there.is_symlink() else None

    planned = plan_questions(
        loaded.answers, actionize(loaded.answers).issues, paths, size_of, out_dir
    )
    questions = tuple(one for _, one in planned)
    if not planned:
        report = FollowupReport(run_dir=run_dir, pack="", changed=False, questions=())
        return FollowupResult(report, loaded.warnings)
    text = Redactor.of(env.environment()).clean(write_followup(loaded.answers, planned, out_dir))
    changed = _write(target, text.encode(), force=force)
    report = FollowupReport(
        run_dir=run_dir, pack=target.as_posix(), changed=changed, questions=questions
    )
    return FollowupResult(report, loaded.warnings)


def _default_name(pack_name: str) -> str:
    return f"{pack_name.removesuffix('.md') or 'pack'}-followup.md"


def _paths(project: Path) -> list[str]:
    """What git tracks, or every file where there is no repository."""
    tracked = git.tracked(project, env.environment(), ".")
    if tracked is not None:
        return list(tracked)
    return [
        (Path(parent) / name).relative_to(project).as_posix()
        for parent, _, names in files.walk(project)
        for name in names
    ]


def _write(target: Path, data: bytes, *, force: bool) -> bool:
    existing = files.read(target)
    if existing == data:
        return False
    if existing is not None and not force:
        raise AlreadyExistsError(f"{target} exists", hint="pass --force, or choose another --out")
    files.make_directories(target.absolute().parent)
    files.write_atomic(target.absolute(), data, mode=files.PUBLIC_FILE)
    return True
