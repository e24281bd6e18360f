"""The settings of commands that run packs."""

from typing import Any

from oraclepack.settings.declaration import Setting
from oraclepack.settings.project_rules import (
    FALSE,
    FEWER_AT_ONCE,
    FREE,
    HIGHER,
    INSIDE_PROJECT,
    LOWER_OF_LIMITED,
    TRUE,
    ranked,
)
from oraclepack.settings.value_kinds import (
    AUTO,
    Bool,
    Choice,
    Duration,
    Float,
    MaxParallel,
    Parallel,
    Path,
)

MAX_PARALLEL: Setting[MaxParallel] = Setting(
    "max_parallel",
    Parallel(),
    AUTO,
    "Steps at once; auto: up to 4 of those that only ask questions, the others in order.",
    project=FEWER_AT_ONCE,
)
KEEP_GOING = Setting(
    "keep_going",
    Bool(),
    default=False,
    help="After a failed step, run what does not need it.",
    project=FREE,
)
STOP_ON_FAIL = Setting(
    "stop_on_fail",
    Bool(),
    default=True,
    help="Stop at the first failed step; the opposite of --keep-going.",
    project=FREE,
)
STEP_TIMEOUT = Setting(
    "step_timeout",
    Duration(),
    0.0,
    "Stop a step that takes longer; its calls are cancelled and may be lost; 0 means no limit.",
    project=LOWER_OF_LIMITED,
)
IDLE_TIMEOUT = Setting(
    "idle_timeout",
    Duration(),
    0.0,
    "Say so when a step prints nothing for this long; 0 is never.",
    project=FREE,
)
LOGIN = Setting(
    "login",
    Choice(("each", "once")),
    "each",
    "Source the login profile for each step, or once per command and hand its result on.",
    project=FREE,
)
ROI_THRESHOLD = Setting(
    "roi_threshold", Float(), 0.0, "Only steps on one side of this ROI; 0 means all.", project=FREE
)
ROI_MODE = Setting(
    "roi_mode",
    Choice(("over", "under")),
    "over",
    "Which side of --roi-threshold is kept; a step without ROI counts as 0.",
    project=FREE,
)
OUTPUT_VERIFY = Setting(
    "output_verify",
    Bool(),
    default=True,
    help="Check the outputs of each step as it ends.",
    project=TRUE,
)
OUTPUT_REQUIRE_HEADINGS = Setting(
    "output_require_headings",
    Bool(),
    default=False,
    help="A section counts only where its name is a heading.",
    project=TRUE,
)
OUTPUT_CHUNK_MODE = Setting(
    "output_chunk_mode",
    Choice(("auto", "single", "multi")),
    "auto",
    "Whether several outputs of a step are chunks of one answer.",
    project=ranked(("multi",), ("auto",), ("single",)),
)
OUTPUT_CONTRACT = Setting(
    "output_contract",
    Choice(("auto", "all-sections")),
    "auto",
    'Follow the step\'s own words, or demand every section wherever it says "Answer format".',
    project=ranked(("auto",), ("all-sections",)),
)
OUT_DIR = Setting(
    "out_dir",
    Path(),
    "",
    "Where answers go, below the project root; wins over an out_dir= of the pack.",
    project=INSIDE_PROJECT,
)
ROLLBACK_ON_FAILURE = Setting(
    "rollback_on_failure",
    Bool(),
    default=False,
    help="On failure, undo this command's file changes.",
    project=TRUE,
)
ALLOW_DIRTY_RERUN = Setting(
    "allow_dirty_rerun",
    Bool(),
    default=False,
    help="Run a step although its failed attempt's changes are still in the work tree.",
    project=FALSE,
)
ALLOW_UNSEEN_CALLS = Setting(
    "allow_unseen_calls",
    Bool(),
    default=False,
    help="Accept a step whose calls bypass oraclepack and its limits.",
    project=FALSE,
)
LEGACY_FILES = Setting(
    "legacy_files",
    Bool(),
    default=True,
    help="Write <pack>.state.json and <pack>.report.json to the project root, else to .oraclepack.",
    project=FREE,
)
VALIDATE = Setting(
    "validate",
    Bool(),
    default=True,
    help="Check the pack first; errors stop the command.",
    project=TRUE,
)
CI = Setting(
    "ci",
    Bool(),
    default=False,
    help="Ask nothing, log JSON lines; the policy decides about the exit code.",
    project=FALSE,
)
INTERACTIVE = Setting(
    "interactive",
    Bool(),
    default=True,
    help="Ask at the terminal; --non-interactive takes the safe answer instead.",
    inverse="non_interactive",
    negated="--non-interactive",
    project=FALSE,
)
DISPLAY = Setting(
    "display",
    Choice(
        ("auto", "text", "table", "json", "quiet"),
        former=(("plain", "text"), ("jsonl", "json")),
    ),
    "auto",
    "How to show progress: lines, a live table or JSON lines; auto is a table on a terminal, else "
    "lines.",
    "--log",
    former_flag="--display",
    project=FREE,
)
JSON_LOG = Setting(
    "json_log",
    Bool(),
    default=False,
    help="Write every event as a JSON line on stderr.",
    project=FREE,
)
QUIET = Setting(
    "quiet", Bool(), default=False, help="No progress: only warnings and the result.", project=FREE
)
TUI = Setting(
    "tui",
    Bool(),
    default=True,
    help="Show a live table on a terminal; --no-tui prints plain lines there too.",
    inverse="no_tui",
    project=FREE,
)
MIN_COMPLETION = Setting(
    "min_completion",
    Float(0, 1),
    1.0,
    "With --ci: required share of ok steps; below 1 it implies --keep-going.",
    project=HIGHER,
)

RUN_SETTINGS: tuple[Setting[Any], ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Setting)
)

MIN_YIELD = Setting(
    "min_yield",
    Float(0),
    0.0,
    "With --ci: how many actionable tasks an answered step must give, on average.",
    project=HIGHER,
)

PIPELINE_SETTINGS: tuple[Setting[Any], ...] = (MIN_YIELD,)
"""What only the whole pipeline has a use for."""
