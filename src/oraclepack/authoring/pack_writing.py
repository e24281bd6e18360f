"""Selected questions to the text of a pack.

Every prompt is read into a variable first and `oracle` is called on one line after it: no flag
can be orphaned, and `read` does not misread apostrophes as old bash versions do in `$(cat <<…)`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oraclepack.authoring.answer_contract import RETURN_ONLY, answer_format
from oraclepack.authoring.file_roles import FileRole
from oraclepack.authoring.question_candidate import QuestionCandidate, on_one_line
from oraclepack.authoring.question_selection import SelectedQuestion
from oraclepack.authoring.repository_survey import RepositorySurvey
from oraclepack.pack.answer_sections import Section
from oraclepack.pack.model import CATEGORIES
from oraclepack.pack.output_names import slug

ORACLE_FLAGS = "--files-report --wait"
"""Pro models otherwise end at once, before their answer is there."""
LONGEST_QUOTE = 160
"""Characters of a quoted line."""
_LARGE = 400
"""Lines from which on the prompt says which part of a file matters."""
_LONGEST_KEY = 48


@dataclass(frozen=True, slots=True)
class PackStyle:
    """How the author wants the pack to be."""

    out_dir: str
    oracle_cmd: str = "oracle"
    oracle_flags: str = ORACLE_FLAGS
    model: str = ""
    engine: str = ""
    extra_files: tuple[str, ...] = ()
    constraints: str = ""
    non_goals: str = ""
    is_chunked: bool = False
    since: str = ""
    """The commit since which changes are asked about."""
    command: str = "generate"
    """The command that made the pack."""
    delimiter: str = "PROMPT"
    """What ends a prompt; for text that others wrote, one that they could not know."""


@dataclass(frozen=True, slots=True)
class PackQuestion:
    """A step of the pack: its number, its name and what it asks."""

    step_id: str
    key: str
    selected: SelectedQuestion

    @property
    def candidate(self) -> QuestionCandidate:
        return self.selected.candidate


def number_questions(selected: Sequence[SelectedQuestion]) -> tuple[PackQuestion, ...]:
    """The questions in their order, each with a number and a name of its own."""
    keys: dict[str, int] = {}
    numbered = []
    for number, one in enumerate(selected, 1):
        subject = slug(one.candidate.subject.replace(".", "-").replace("_", "-"))
        key = f"{one.candidate.key}-{subject}"[:_LONGEST_KEY].strip("-")
        keys[key] = keys.get(key, 0) + 1
        name = key if keys[key] == 1 else f"{key}-{keys[key]}"
        numbered.append(PackQuestion(f"{number:02}", name, one))
    return tuple(numbered)


def write_pack(
    survey: RepositorySurvey,
    questions: Sequence[PackQuestion],
    style: PackStyle,
    commit: str | None,
) -> str:
    """The whole Markdown file."""
    steps = "\n\n".join(_step(survey, one, style, commit) for one in questions)
    title = f"{survey.name}: changes since {style.since}" if style.since else survey.name
    count = "One question" if len(questions) == 1 else f"{len(questions)} questions"
    return f"""\
# Oracle pack: {title}

## Parsed args
{_parsed_args(survey, style, commit)}

{count}, ordered by ROI = impact × confidence ÷ effort. Made by `oraclepack {style.command}`;
check it with `oraclepack validate`, run it with `oraclepack run`.

## Commands

```bash
set -euo pipefail
mkdir -p {quoted(style.out_dir)}

{steps}
```

## Coverage check
{coverage((one.candidate.text.category, one.step_id) for one in questions)}
"""


def output_paths(one: PackQuestion, style: PackStyle) -> tuple[str, ...]:
    """Where the answer of a step goes: one file, or one for each part of the answer."""
    base = f"{style.out_dir}/{one.step_id}-{one.key}"
    return tuple(f"{base}-{part}.md" for part in Section) if style.is_chunked else (f"{base}.md",)


def attached_files(one: PackQuestion, style: PackStyle) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one.selected.attachments, *style.extra_files)))


def quote_line(line: str) -> str:
    """A line of code for a prompt: on one line, without control characters, not too long."""
    text = on_one_line(line)
    return text if len(text) <= LONGEST_QUOTE else f"{text[:LONGEST_QUOTE].rstrip()} …"


def quoted(word: str) -> str:
    """A word for bash, in double quotes."""
    for sign in '\\"$`':
        word = word.replace(sign, f"\\{sign}")
    return f'"{word}"'


def _parsed_args(survey: RepositorySurvey, style: PackStyle, commit: str | None) -> str:
    rows = {
        "codebase_name": survey.name,
        "commit": commit or "none",
        "since": style.since,
        "out_dir": style.out_dir,
        "oracle_cmd": style.oracle_cmd,
        "oracle_flags": style.oracle_flags,
        "model": style.model,
        "engine": style.engine,
        "extra_files": ", ".join(style.extra_files),
        "constraints": on_one_line(style.constraints),
        "non_goals": on_one_line(style.non_goals),
    }
    return "\n".join(f"- {key}: {value}" for key, value in rows.items() if value)


def _step(survey: RepositorySurvey, one: PackQuestion, style: PackStyle, commit: str | None) -> str:
    candidate, score = one.candidate, one.selected.score
    header = (
        f"# {one.step_id}) {score.header} category={candidate.text.category}"
        f" reference={candidate.reference}"
    )
    end = style.delimiter
    read = f"IFS= read -r -d '' prompt <<'{end}' || true"
    calls = "\n".join(_calls(one, style))
    return f"{header}\n{read}\n{_prompt(survey, one, style, commit)}\n{end}\n{calls}"


def _calls(one: PackQuestion, style: PackStyle) -> Iterable[str]:
    outputs = output_paths(one, style)
    if not style.is_chunked:
        return [_call(one, style, outputs[0], '"$prompt"')]
    parts = zip(outputs, Section, strict=True)
    return [_call(one, style, out, f'"${{prompt}}{RETURN_ONLY[part]}"') for out, part in parts]


def _call(one: PackQuestion, style: PackStyle, output: str, prompt: str) -> str:
    words = [style.oracle_cmd, style.oracle_flags]
    words += [f"--engine {quoted(style.engine)}"] if style.engine else []
    words += [f"-m {quoted(style.model)}"] if style.model else []
    words.append(f"--write-output {quoted(output)}")
    words += [f"-f {quoted(path)}" for path in attached_files(one, style)]
    return " ".join([*filter(None, words), f"-p {prompt}"])


def _prompt(
    survey: RepositorySurvey, one: PackQuestion, style: PackStyle, commit: str | None
) -> str:
    candidate = one.candidate
    quotes = [
        f"{place.path}:{place.line}  {quote_line(survey.line(place.path, place.line))}"
        for place in candidate.evidence
    ]
    extras = [f"{path}: background for every question" for path in style.extra_files]
    at = f" at commit {commit}" if commit else ""
    history = f"\nFrom the history:\n{_listed(candidate.facts)}\n" if candidate.facts else ""
    if candidate.diff:
        # Indented, so that no line of it can end the heredoc or begin a fence.
        history += "\nThe diff:\n" + "".join(f"    {line}\n" for line in candidate.diff)
    return f"""\
{_meta(survey, one)}

Question:
{candidate.question}

A good answer contains {candidate.text.good}.
Why it matters: {candidate.text.why}.

Evidence (path:line and the line{at}):
{_listed(quotes)}
{history}
Attached:
{_listed([*_attached(survey, one), *extras])}

Constraints: {on_one_line(style.constraints) or "none given"}
Non-goals: {on_one_line(style.non_goals) or "none given"}

Answer format:
{answer_format(is_chunked=style.is_chunked)}"""


def _attached(survey: RepositorySurvey, one: PackQuestion) -> Iterable[str]:
    """Every attached file with the reason why it is there, and the part that matters."""
    candidate = one.candidate
    for path in one.selected.attachments:
        file = survey.files[path]
        lines = [place.line for place in candidate.evidence if place.path == path]
        if path == candidate.reference:
            why = "the reference"
        elif lines:
            why = "holds quoted lines"
        else:
            why = "a test of the reference" if file.role is FileRole.TEST else "its neighbour"
        part = ""
        if lines and len(file.lines) > _LARGE and file.source is not None:
            around = [file.source.around(line) for line in lines]
            first = min(d.line for d in around if d) if any(around) else min(lines)
            last = max([*lines, *(min(d.end_line, d.line + 200) for d in around if d)])
            part = f"; a large file, lines {first}-{last} matter most"
        yield f"{path}: {why}{part}"


def _meta(survey: RepositorySurvey, one: PackQuestion) -> str:
    candidate = one.candidate
    tests = [p for p in one.selected.attachments if survey.files[p].role is FileRole.TEST]
    listed = "\n".join(f"- {path}" for path in dict.fromkeys((candidate.reference, *tests)))
    return f"""\
[oraclepack-meta]
QuestionId: {one.key}
Category: {candidate.text.category}
Reference: {candidate.reference}
ExpectedArtifacts:
{listed}
[/oraclepack-meta]"""


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def coverage(asked: Iterable[tuple[str, str]]) -> str:
    """The coverage check of questions, each a category and the id of its step."""
    pairs = list(asked)
    covered = {category for category, _ in pairs}
    every = ",".join(step_id for _, step_id in pairs)
    verdicts = ("OK" if category in covered else f"Missing({every})" for category in CATEGORIES)
    return "\n".join(f"- {c}: {v}" for c, v in zip(CATEGORIES, verdicts, strict=True))
