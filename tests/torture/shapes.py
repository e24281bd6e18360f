"""The packs that are tortured: one for each way in which a run can be broken off."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.calls.chunked import chunked_bash, tickets
from tests.e2e.run.project import Zygote, asking
from tests.torture.ground import Ground, a_ground

OLDER = "an older answer\n"
WHOLE = (
    "## Direct answer\n- Yes.\n\n## Risks/unknowns\n- None.\n\n"
    "## Next smallest concrete experiment\n- Try it.\n\n## Missing evidence\n- None.\n"
)
REPLACE = ("--existing", "replace")
"""What the user says about the older answer."""
ADOPT = ("--existing", "adopt")
_OUT = "set -eu\nmkdir -p out\n"
_GIT = r"project/\.git(/|$)"
_COMMIT = "git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m four\n"


@dataclass(frozen=True)
class Shape:
    """A pack, the words it is run with, and what stood there before."""

    what: str
    bash: str
    words: tuple[str, ...] = REPLACE
    files: dict[str, str] | None = None
    finished: bool = False
    """The run that is attacked repeats one that has ended well."""
    owned: tuple[str, ...] = ()
    """Patterns for the checker: what the pack itself changes."""
    existing: str = OLDER
    """What lies at the path of the second answer."""
    restored: bool = False
    """Of the run that has ended well, only the cache is left, as in the next job of CI."""

    def ground(self, folder: Path, zygote: Zygote) -> Ground:
        """A fresh one, as every trial finds it."""
        made = a_ground(folder, zygote, self.bash, self.files)
        older = made.root / "out/02-topic-2.md"
        older.parent.mkdir(exist_ok=True)
        older.write_text(self.existing)
        if self.finished:
            ran = made.project.run(*REPLACE)
            assert ran.code == 0, ran
        if self.restored:
            for name in ("runs", "published"):
                shutil.rmtree(made.root / ".oraclepack" / name)
            for path in (*made.root.glob("pack.*.json"), *made.root.glob("out/*")):
                path.unlink()
            shutil.rmtree(made.home / ".oracle")
        return made


def _faulty(number: int, fault: str) -> str:
    return asking(number).replace(f"Question {number}?", f"Question {number}? [[fault={fault}]]")


SHAPES: dict[str, Shape] = {
    "asking": Shape(
        "Two questions in turn; one answer replaces a file and is changed by its step",
        _OUT + asking(1, after=":\n") + asking(2, after='echo more >>"out/02-topic-2.md"\n'),
    ),
    "chunked": Shape(
        "A question in four calls, whose attachments only the running shell knows",
        chunked_bash(1),
        files=tickets(1),
        owned=(r"project/answers(/|$)",),
    ),
    "prelude": Shape(
        "Steps that live on functions, variables and options of the prelude",
        _OUT + "shopt -s nullglob\nkind=plain\nsay() { printf '%s\\n' \"$kind $1\"; }\n"
        "# 01) says\nsay one >out/01.txt\n# oraclepack: outputs=out/01.txt\n"
        + asking(2, before="say two\n"),
    ),
    "depending": Shape(
        "A question about the answer of another, and a step that commits",
        _OUT
        + asking(1)
        + asking(2).replace("-p ", '-f "out/01-topic-1.md" -p ')
        + f"# 03) commits\n{_COMMIT}",
        owned=(_GIT,),
    ),
    "rerun": Shape(
        "All steps of a finished run once more",
        _OUT + asking(1) + asking(2),
        words=(*REPLACE, "--rerun", "all"),
        finished=True,
    ),
    "retrying": Shape(
        "Questions whose answers are at first cut short or lack a part, and that are asked again",
        _OUT + _faulty(1, "cut first=1") + _faulty(2, "partial first=1"),
        words=(*REPLACE, "--output-retries", "1", "--retry-base-seconds", "0.001"),
    ),
    "models": Shape(
        "A question to two models, each of which is a call of its own",
        _OUT + asking(1).replace("oracle ", "oracle --engine api --models gpt-5.2,gpt-5.1 ", 1),
    ),
    "existing": Shape(
        "An answer that nobody recorded is adopted, another one is asked for",
        _OUT + asking(1) + asking(2),
        words=ADOPT,
        existing=WHOLE,
    ),
    "restored": Shape(
        "A new run whose answers are all in the cache of another job",
        _OUT + asking(1) + asking(2),
        finished=True,
        restored=True,
    ),
    "parallel": Shape(
        "Four questions at the same time",
        _OUT + "".join(asking(number) for number in range(1, 5)),
        words=(*REPLACE, "--max-parallel", "4", "--engine", "api"),
    ),
}
