"""Packs to begin with: empty, valid, and full of comments that teach the format."""

from pathlib import Path

from oraclepack.authoring.answer_contract import RETURN_ONLY, answer_format
from oraclepack.authoring.generation import NewPack
from oraclepack.errors import AlreadyExistsError, UsageError
from oraclepack.pack.model import PLACEHOLDER
from oraclepack.system import files
from oraclepack.system.environment import refuse_to_write_out

_HEAD = """\
# {title}

## Parsed args
- out_dir: {out_dir}

{intro}

```bash
# Everything before the first step header is the prelude: it runs once, before the first step, and
# its variables, functions and options reach every step.
set -euo pipefail
mkdir -p "{out_dir}"

{steps}```

The block above is the only one that is run, and the only one there should be in the file.
Check it: `oraclepack validate {path}`. Run it: `oraclepack run {path}`.
"""

_HEADER = """\
# A step begins with a comment on a line of its own: two digits and a closing bracket.
# ROI = impact × confidence ÷ effort; a strict pack stands in the order of ROI. The category is one
# of: contracts/interfaces, invariants, caching/state, background jobs, observability, permissions,
# migrations, UX flows, failure modes, feature flags.
"""

_QUESTION = """\
# {number}) ROI={roi} impact={impact} confidence=0.50 effort=1 horizon=NearTerm \
category={category} reference=Unknown
"""

_PROMPT = """\
IFS= read -r -d '' prompt <<'PROMPT' || true
[oraclepack-meta]
QuestionId: {key}
Category: {category}
Reference: Unknown
ExpectedArtifacts: []
[/oraclepack-meta]

Question:
{question}

Answer format:
"""

_SINGLE_STEP = (
    _QUESTION
    + """\
# The prompt is read into a variable first; the quotes around PROMPT keep bash from touching it.
"""
    + _PROMPT
    + """\
{answer_format}
PROMPT
# One call on one line. Attach the file the question is about by -f "path", with at most two
# neighbours. --wait keeps the call until its answer is there; the answer goes to --write-output.
oracle --files-report --wait --write-output "{out_dir}/{number}-{key}.md" -p "$prompt"
"""
)

_CHUNKED_STEP = (
    _QUESTION
    + """\
# Four calls, one for each part of the answer. Each output is checked for the section that its
# name ends in, so the four suffixes must stay as they are. Together they are one question.
"""
    + _PROMPT
    + """\
{chunked_format}
PROMPT
oracle --files-report --wait --write-output "{out_dir}/{number}-{key}-direct-answer.md" \
-p "${{prompt}}{direct_answer}"
oracle --files-report --wait --write-output "{out_dir}/{number}-{key}-risks-unknowns.md" \
-p "${{prompt}}{risks_unknowns}"
oracle --files-report --wait --write-output "{out_dir}/{number}-{key}-next-experiment.md" \
-p "${{prompt}}{next_experiment}"
oracle --files-report --wait --write-output "{out_dir}/{number}-{key}-missing-evidence.md" \
-p "${{prompt}}{missing_evidence}"
"""
)

_RUNBOOK = """\
# A step is any bash. It runs in the project root, in a login shell, without a terminal; an exit
# code other than 0 fails it, and what is finished stays finished: the same command continues.
# 01) collect the facts
# A file that a step promises is declared, so that resuming knows whether it is still there:
# oraclepack: outputs={out_dir}/01-facts.txt
{{ date -u; uname -a; }} > "{out_dir}/01-facts.txt"

# 02) check what was collected
# A step that reads what an earlier one wrote waits for it, also when steps run side by side.
test -s "{out_dir}/01-facts.txt"

# 03) let an agent write a summary, if one is there
# Optional programs are asked for first. A line that begins with SKIP marks the step as skipped.
if ! command -v codex > /dev/null; then
  echo "SKIP: codex not found"
else
  codex exec "Summarise {out_dir}/01-facts.txt in ten lines." -o "{out_dir}/03-summary.md"
fi
"""

_INTRO = {
    "single": "Replace the two questions by your own and name the files they are about.",
    "chunked": "Replace the question by your own; its answer comes in four files.",
    "runbook": "Steps without questions: anything that should be repeatable, resumable, recorded.",
}

TEMPLATES = tuple(_INTRO)

_QUESTIONS = (
    {
        "number": "01",
        "roi": "2.50",
        "impact": "5",
        "category": "failure modes",
        "key": "first-failure",
        "question": (
            f"{PLACEHOLDER} which failure of this system would be noticed last, and by whom?>\n"
            "(A good question names a function, a situation and what is at stake.)"
        ),
    },
    {
        "number": "02",
        "roi": "2.00",
        "impact": "4",
        "category": "contracts/interfaces",
        "key": "outside-callers",
        "question": f"{PLACEHOLDER} which promise to outside callers is kept by no test?>",
    },
)


def blank(template: str, path: str, title: str) -> str:
    """The text of a new pack; `path` is where it will stand, for the commands it mentions."""
    out_dir = "docs/oracle-answers"
    if template == "runbook":
        steps = _RUNBOOK.format(out_dir=out_dir)
    else:
        body = _SINGLE_STEP if template == "single" else _CHUNKED_STEP
        questions = _QUESTIONS if template == "single" else _QUESTIONS[:1]
        contract = {
            "answer_format": answer_format(),
            "chunked_format": answer_format(is_chunked=True),
            **{part.name.lower(): text for part, text in RETURN_ONLY.items()},
        }
        steps = _HEADER + "\n".join(
            body.format(out_dir=out_dir, **contract, **each) for each in questions
        )
    parts = {"title": title, "out_dir": out_dir, "intro": _INTRO[template], "path": path}
    return _HEAD.format(steps=steps, **parts)


def new_pack(path: str, template: str, cwd: str = "", *, force: bool = False) -> NewPack:
    """Write a pack by a template. A file that is there is only replaced by force."""
    target = Path(path)
    if target.is_dir() or not target.name:
        raise UsageError(f"{path} is a directory", hint="name the file, such as docs/pack.md")
    refuse_to_write_out(target.parent, cwd)
    if files.read(target) is not None and not force:
        raise AlreadyExistsError(f"{path} exists", hint="pass --force, or choose another name")
    title = target.stem.replace("-", " ").replace("_", " ").strip().capitalize() or "Oracle pack"
    display_path = "PACK" if set(path) & set("`\n") else path
    files.make_directories(target.absolute().parent)
    files.sweep(target.parent)
    files.write_atomic(target, blank(template, display_path, " ".join(title.split())).encode())
    return NewPack(target.as_posix(), template)
