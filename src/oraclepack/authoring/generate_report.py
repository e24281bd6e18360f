"""What `generate` says about the packs it made: the report, the manifest, the notices."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from oraclepack.authoring.generate_request import GenerateRequest
from oraclepack.authoring.generation import (
    GeneratedPack,
    GeneratedStep,
    GenerateReport,
    PackGroup,
    PackListing,
)
from oraclepack.authoring.git_repository import GitRepository
from oraclepack.authoring.pack_writing import (
    PackQuestion,
    PackStyle,
    attached_files,
    output_paths,
    quote_line,
)
from oraclepack.authoring.question_candidate import QuestionCandidate
from oraclepack.authoring.repository_survey import RepositorySurvey
from oraclepack.authoring.syntax_tables import GRAMMARS
from oraclepack.authoring.ticket_questions import TicketText
from oraclepack.run.transaction import TransactionReport

SHORT_SHA = 12


@dataclass(frozen=True, slots=True)
class UnwrittenPack:
    """A pack before it is put in place."""

    group: str
    target: Path
    style: PackStyle
    questions: tuple[PackQuestion, ...]
    text: str


@dataclass(frozen=True, slots=True)
class PackMaterial:
    """What the packs are made from."""

    repository: GitRepository
    survey: RepositorySurvey
    candidates: tuple[QuestionCandidate, ...]
    tickets: Mapping[str, list[TicketText]] = field(default_factory=dict)


def group_manifest(
    request: GenerateRequest, material: PackMaterial, packs: list[UnwrittenPack], day: str | None
) -> tuple[Path, bytes] | None:
    if not request.group:
        return None
    listings = tuple(
        PackListing(
            group=pack.group,
            path=display_path(pack.target, request.root),
            out_dir=pack.style.out_dir,
            questions=len(pack.questions),
            references=tuple(sorted({q.candidate.reference for q in pack.questions})),
        )
        for pack in packs
    )
    group = PackGroup(material.repository.sha, request.group, listings)
    name = "-".join(["oracle-packs", *([day] if day else [])])
    content = msgspec.json.format(msgspec.json.encode(group), indent=2) + b"\n"
    return packs[0].target.parent / f"{name}.json", content


def display_path(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _steps(material: PackMaterial, pack: UnwrittenPack) -> tuple[GeneratedStep, ...]:
    return tuple(
        GeneratedStep(
            step_id=one.step_id,
            question_id=one.key,
            category=one.candidate.category,
            reference=one.candidate.reference,
            roi=one.selected.score.roi / 100,
            attachments=attached_files(one, pack.style),
            outputs=output_paths(one, pack.style),
            question=one.candidate.question,
            evidence=tuple(
                f"{place.path}:{place.line}  {quote_line(material.survey.line(*place))}"
                for place in one.candidate.evidence
            ),
            score=one.selected.score.reasons,
        )
        for one in pack.questions
    )


def report_of(
    request: GenerateRequest,
    material: PackMaterial,
    day: str | None,
    packs: list[UnwrittenPack],
    written: TransactionReport,
    same: frozenset[Path],
    manifest: str | None,
) -> GenerateReport:
    first = packs[0] if packs else None
    grouped = tuple(
        GeneratedPack(
            group=pack.group,
            path=display_path(pack.target, request.root),
            out_dir=pack.style.out_dir,
            unchanged=pack.target in same,
            steps=_steps(material, pack),
        )
        for pack in packs
        if request.group
    )
    return GenerateReport(
        path=display_path(first.target, request.root) if first else "",
        commit=material.repository.sha,
        date=day,
        out_dir=first.style.out_dir if first else "",
        unchanged=bool(packs) and all(pack.target in same for pack in packs),
        steps=_steps(material, first) if first else (),
        packs=grouped,
        manifest=manifest,
        **{name: getattr(written, name) for name in written.__struct_fields__},
    )


def notices_of(
    request: GenerateRequest, material: PackMaterial, packs: list[UnwrittenPack]
) -> tuple[str, ...]:
    repository, survey = material.repository, material.survey
    notices: list[str] = []
    if repository.is_dirty and repository.sha:
        short = repository.sha[:SHORT_SHA]
        notices.append(f"the work tree differs from the commit; the pack describes {short}")
    if repository.is_shallow:
        notices.append(
            "this clone is shallow and a full one may give another pack; "
            "`git fetch --unshallow` brings the history"
        )
    notices += _unread(survey)
    if survey.left_out and not survey.subjects:
        places = ", ".join(f"{count} in {name}" for name, count in survey.left_out.items())
        notices.append(
            f"not read, as built or copied from elsewhere: source files, {places};"
            " questions need the sources that they were made of"
        )
    if survey.unparsed:
        notices.append(
            f"{survey.unparsed} source files were not parsed, as the repository is very large;"
            " those that are imported or changed most were; `--focus` and `--exclude` choose others"
        )
    silent = [name for name in material.tickets if name not in {pack.group for pack in packs}]
    if request.group and packs and silent:
        notices.append(f"no question about the tickets of: {', '.join(sorted(silent))}")
    if request.since and not survey.changed:
        since = f"no file that exists was edited since the fork point from {request.since}"
        notices.append(f"{since}; no pack was written")
    elif not packs:
        notices.append(
            "nothing here gives evidence for a question, so no pack was written;"
            " `oraclepack new PACK` writes one for questions of your own"
        )
    elif not request.group and len(packs[0].questions) < request.count:
        count_found = len(packs[0].questions)
        notices.append(
            f"the evidence carries {count_found} of {request.count} questions; no others were made"
            " up, and `validate --strict` requires twenty"
        )
    return tuple(notices)


def _unread(survey: RepositorySurvey) -> Iterator[str]:
    """Which languages could not be read, and what would help."""
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
            yield f"not read because the grammar is missing: {languages} files{remedy}"
