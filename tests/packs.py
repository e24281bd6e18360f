"""Packs for tests: bash to Markdown to `Pack`, and a pack that meets every strict demand."""

from collections.abc import Callable, Iterable

from oraclepack.lint.engine import lint
from oraclepack.lint.finding import Facts, Finding
from oraclepack.lint.rule import Subject
from oraclepack.lint.rule_registry import RULES
from oraclepack.pack.model import CATEGORIES, Pack
from oraclepack.pack.parse.read_pack import parse_pack

OUT_DIR = "docs/oracle-answers"

QUESTIONS = (
    ("public-contract", "src/shop/api.py", "Which callers break if the order schema changes?"),
    ("stock-invariant", "src/shop/stock.py", "Where can a quantity become negative?"),
    ("price-cache", "src/shop/prices.py", "Who clears stale tariffs after an import?"),
    ("nightly-jobs", "src/shop/jobs.py", "What happens to a batch killed halfway?"),
    ("trace-gaps", "src/shop/tracing.py", "Which paths leave no log line behind?"),
    ("role-checks", "src/shop/roles.py", "Can a guest reach the refund endpoint?"),
    ("schema-moves", "src/shop/migrations.py", "Is each table alteration reversible on live data?"),
    ("checkout-flow", "src/shop/checkout.py", "At which screen do buyers lose their basket?"),
    ("gateway-outage", "src/shop/payments.py", "How does billing behave when the bank is silent?"),
    ("dead-switches", "src/shop/switches.py", "Which toggles are permanently on and removable?"),
    ("event-format", "src/shop/events.py", "Do consumers tolerate unknown message keys?"),
    ("unique-numbers", "src/shop/invoices.py", "What guarantees gapless invoice numbering?"),
    ("session-store", "src/shop/sessions.py", "How long do abandoned logins survive in memory?"),
    ("mail-queue", "src/shop/mail.py", "Does a retry send the same letter twice?"),
    ("metric-names", "src/shop/metrics.py", "Are counters labelled so that alerts can use them?"),
    ("token-scope", "src/shop/tokens.py", "Which API keys outlive the person who made them?"),
    ("backfill", "src/shop/backfill.py", "Can the address import be repeated safely?"),
    ("search-page", "src/shop/search.py", "Why do long result lists freeze the browser?"),
    ("disk-full", "src/shop/uploads.py", "What is lost when storage fills during an upload?"),
    ("rollout-plan", "src/shop/rollout.py", "How is a risky release limited to few customers?"),
)
"""Slug, reference and question of the twenty steps: no two of them alike."""

ANSWER_FORMAT = """\
Answer format:
1) Direct answer (1-10 bullets, evidence-cited)
2) Risks/unknowns (bullets)
3) Next smallest concrete experiment (exactly one action)
4) If evidence is insufficient, name the exact missing file/path pattern(s) to attach next."""

COVERAGE = "## Coverage check\n" + "".join(f"- {category}: OK\n" for category in CATEGORIES)


def header(number: int, reference: str = "src/shop/api.py") -> str:
    """A complete step header; ROI falls with the number, and the formula holds."""
    confidence = 100 - 4 * (number - 1)
    category = CATEGORIES[(number - 1) % len(CATEGORIES)]
    return (
        f"# {number:02}) ROI={confidence / 10:.1f} impact=10 confidence={confidence / 100:.2f}"
        f" effort=1 horizon=Immediate category={category} reference={reference}"
    )


def strict_step(number: int) -> str:
    """Step `number` (1 to 20) as `--strict` wants it."""
    slug, reference, question = QUESTIONS[number - 1]
    return f"""\
{header(number, reference)}
oracle \\
  --files-report \\
  --write-output "{OUT_DIR}/{number:02}-{slug}.md" \\
  -f "{reference}" \\
  -p "$(cat <<'PROMPT'
{question}

Reference: {reference}

{ANSWER_FORMAT}
PROMPT
)"
"""


def twenty_steps(change: Callable[[int, str], str] = lambda _, text: text) -> str:
    """The bash of a strict pack; `change` may rewrite each step on its way."""
    return "\n".join(change(number, strict_step(number)) for number in range(1, 21))


def pack_text(bash: str, *, before: str = "# A pack\n", after: str = "") -> str:
    """A Markdown file with one bash block."""
    ending = "" if not bash or bash.endswith("\n") else "\n"
    return f"{before}\n```bash\n{bash}{ending}```\n{after}"


def strict_text(bash: str | None = None, coverage: str = COVERAGE) -> str:
    """A whole pack that passes every strict rule, unless the given parts do not."""
    prelude = f"set -euo pipefail\nmkdir -p {OUT_DIR}\n\n"
    block = prelude + (twenty_steps() if bash is None else bash)
    return pack_text(block, after=f"\n{coverage}" if coverage else "")


def a_pack(bash: str, *, before: str = "# A pack\n", after: str = "") -> Pack:
    """The pack of one bash block. Its first line is line 4 of the file."""
    return parse_pack(pack_text(bash, before=before, after=after), "pack.md")


def a_strict_pack() -> Pack:
    return parse_pack(strict_text(), "pack.md")


def some_steps(bodies: Iterable[str]) -> str:
    """Bare steps numbered from 01, one for each body."""
    return "".join(f"# {n:02}) step\n{body.rstrip()}\n" for n, body in enumerate(bodies, 1))


BLOCK_LINE = 4
"""The line of the file on which the bash of `a_pack` begins."""


def findings_of(
    text: str, *, strict: bool = False, facts: Facts | None = None, select: tuple[str, ...] = ()
) -> tuple[Finding, ...]:
    """What all rules, or the selected ones, say about a Markdown text."""
    subject = Subject(parse_pack(text, "pack.md"), facts or Facts())
    return lint(subject, RULES, strict=strict, select=select)


def places(findings: Iterable[Finding]) -> list[tuple[int, str]]:
    """Where each finding stands and which rule found it."""
    return [(finding.span.line, finding.rule) for finding in findings]
