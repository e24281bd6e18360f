"""Twenty choices to the text of a strict pack.

Every prompt is read into a variable first and `oracle` is called on one line after it: no flag
can be orphaned, and `read` does not misread apostrophes as old bash versions do in `$(cat <<…)`.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from oraclepack.authoring.choose import ChosenQuestion
from oraclepack.authoring.question_catalogue import QUESTIONS
from oraclepack.authoring.score import Score, score
from oraclepack.authoring.survey import Survey
from oraclepack.authoring.wording import PARTS, RETURN_ONLY, attached, facts, question_text
from oraclepack.pack.answer_sections import Section
from oraclepack.pack.model import CATEGORIES

UNKNOWN = "Unknown"
ORACLE_FLAGS = "--files-report --wait"
"""Pro models otherwise end at once, before their answer is there."""
_ORDER = {question.key: rank for rank, question in enumerate(QUESTIONS)}


@dataclass(frozen=True, slots=True)
class Style:
    """How the author wants the pack to be."""

    out_dir: str
    oracle_cmd: str = "oracle"
    oracle_flags: str = ORACLE_FLAGS
    model: str = ""
    engine: str = ""
    extra_files: tuple[str, ...] = ()
    constraints: str = ""
    non_goals: str = ""
    chunked: bool = False


@dataclass(frozen=True, slots=True)
class StepDraft:
    """A step of the pack to be: its number, what it asks and what that is worth."""

    step_id: str
    choice: ChosenQuestion
    score: Score

    @property
    def key(self) -> str:
        return self.choice.question.key

    @property
    def reference(self) -> str:
        return self.choice.reference.path if self.choice.reference else UNKNOWN


def ordered(found: Survey, choices: Iterable[ChosenQuestion]) -> tuple[StepDraft, ...]:
    """The choices by ROI, the highest first; ties by effort, then as the questions stand."""
    scored = [(score(found, choice), choice) for choice in choices]
    scored.sort(key=lambda one: (-one[0].roi, one[0].effort, _ORDER[one[1].question.key]))
    return tuple(
        StepDraft(f"{number:02}", choice, worth) for number, (worth, choice) in enumerate(scored, 1)
    )


def compose(found: Survey, asked: tuple[StepDraft, ...], style: Style, commit: str | None) -> str:
    """The whole Markdown file."""
    steps = "\n\n".join(_step(found, one, style) for one in asked)
    return f"""\
# Oracle pack: {found.name}

## Parsed args
{_parsed_args(found, style, commit)}

Twenty questions, ordered by ROI = impact × confidence ÷ effort. Made by `oraclepack generate`;
check it with `oraclepack validate --strict`, run it with `oraclepack run`.

## Commands

```bash
set -euo pipefail
mkdir -p {quoted(style.out_dir)}

{steps}
```

## Coverage check
{_coverage(asked)}
"""


def outputs_of(one: StepDraft, style: Style) -> tuple[str, ...]:
    """Where the answer of a step goes: one file, or one for each part of the answer."""
    base = f"{style.out_dir}/{one.step_id}-{one.key}"
    return tuple(f"{base}-{part}.md" for part in Section) if style.chunked else (f"{base}.md",)


def quoted(word: str) -> str:
    """A word for bash, in double quotes."""
    for sign in '\\"$`':
        word = word.replace(sign, f"\\{sign}")
    return f'"{word}"'


def folded(text: str) -> str:
    """Text of the author as one line: it can then neither end the heredoc nor the code block."""
    return " ".join(text.split())


def _parsed_args(found: Survey, style: Style, commit: str | None) -> str:
    rows = {
        "codebase_name": found.name,
        "commit": commit or UNKNOWN,
        "out_dir": style.out_dir,
        "oracle_cmd": style.oracle_cmd,
        "oracle_flags": style.oracle_flags,
        "model": style.model,
        "engine": style.engine,
        "extra_files": ", ".join(style.extra_files),
        "constraints": folded(style.constraints),
        "non_goals": folded(style.non_goals),
    }
    return "\n".join(f"- {key}: {value}" for key, value in rows.items() if value)


def _step(found: Survey, one: StepDraft, style: Style) -> str:
    category = one.choice.question.category
    header = f"# {one.step_id}) {one.score.header} category={category} reference={one.reference}"
    read = "IFS= read -r -d '' prompt <<'PROMPT' || true"
    calls = "\n".join(_calls(one, style))
    return f"{header}\n{read}\n{_prompt(found, one, style)}\nPROMPT\n{calls}"


def _calls(one: StepDraft, style: Style) -> Iterable[str]:
    outputs = outputs_of(one, style)
    if not style.chunked:
        return [_call(one, style, outputs[0], '"$prompt"')]
    parts = zip(outputs, Section, strict=True)
    return [_call(one, style, out, f'"${{prompt}}{RETURN_ONLY[part]}"') for out, part in parts]


def _call(one: StepDraft, style: Style, output: str, prompt: str) -> str:
    words = [style.oracle_cmd, style.oracle_flags]
    words += [f"--engine {quoted(style.engine)}"] if style.engine else []
    words += [f"-m {quoted(style.model)}"] if style.model else []
    words.append(f"--write-output {quoted(output)}")
    files = dict.fromkeys((*one.choice.attached, *style.extra_files))
    words += [f"-f {quoted(path)}" for path in files]
    return " ".join([*filter(None, words), f"-p {prompt}"])


def _prompt(found: Survey, one: StepDraft, style: Style) -> str:
    choice = one.choice
    extras = [f"{path}: background for every question" for path in style.extra_files]
    return f"""\
{_meta(one)}

Question:
{question_text(found, choice)}

Why it matters: {choice.question.why}

Measured:
{_listed(facts(found, choice))}

Attached:
{_listed([*attached(choice), *extras])}

Constraints: {folded(style.constraints) or "none given"}
Non-goals: {folded(style.non_goals) or "none given"}

Answer format:
{_answer_format(style)}"""


def _answer_format(style: Style) -> str:
    if style.chunked:
        return "one part of the answer under its own heading, as the last line says.\n"
    return "\n".join(f"{number}) {part}." for number, part in enumerate(PARTS.values(), 1))


def _meta(one: StepDraft) -> str:
    choice = one.choice
    named = (choice.reference.path if choice.reference else None, choice.test)
    artifacts = [path for path in named if path]
    listed = "\n".join(["ExpectedArtifacts:", *(f"- {path}" for path in artifacts)])
    return f"""\
[oraclepack-meta]
QuestionId: {one.key}
Category: {choice.question.category}
Reference: {one.reference}
{listed if artifacts else "ExpectedArtifacts: []"}
[/oraclepack-meta]"""


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _coverage(asked: tuple[StepDraft, ...]) -> str:
    covered = {one.choice.question.category for one in asked}
    every = ",".join(one.step_id for one in asked)
    verdicts = ("OK" if category in covered else f"Missing({every})" for category in CATEGORIES)
    return "\n".join(f"- {c}: {v}" for c, v in zip(CATEGORIES, verdicts, strict=True))
