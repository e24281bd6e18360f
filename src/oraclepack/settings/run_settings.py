"""The settings of commands that run packs."""

from typing import Any

from oraclepack.settings.declaration import Setting, switch
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
WAIT = switch(
    "wait",
    "Wait for the batches of --engine batch instead of ending with exit code 8.",
    project=FREE,
)
KEEP_GOING = switch("keep_going", "After a failed step, run what does not need it.", project=FREE)
STOP_ON_FAIL = switch(
    "stop_on_fail",
    "Stop at the first failed step; the opposite of --keep-going.",
    default=True,
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
OUTPUT_VERIFY = switch(
    "output_verify", "Check the outputs of each step as it ends.", default=True, project=TRUE
)
OUTPUT_REQUIRE_HEADINGS = switch(
    "output_require_headings", "A section counts only where its name is a heading.", project=TRUE
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
ROLLBACK_ON_FAILURE = switch(
    "rollback_on_failure", "On failure, undo this command's file changes.", project=TRUE
)
ALLOW_DIRTY_RERUN = switch(
    "allow_dirty_rerun",
    "Run a step although its failed attempt's changes are still in the work tree.",
    project=FALSE,
)
ALLOW_UNSEEN_CALLS = switch(
    "allow_unseen_calls",
    "Accept a step whose calls bypass oraclepack and its limits.",
    project=FALSE,
)
LEGACY_FILES = switch(
    "legacy_files",
    "Write <pack>.state.json and <pack>.report.json to the project root, else to .oraclepack.",
    default=True,
    project=FREE,
)
VALIDATE = switch(
    "validate", "Check the pack first; errors stop the command.", default=True, project=TRUE
)
CI = switch(
    "ci", "Ask nothing, log JSON lines; the policy decides about the exit code.", project=FALSE
)
INTERACTIVE = switch(
    "interactive",
    "Ask at the terminal; --non-interactive takes the safe answer instead.",
    default=True,
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
JSON_LOG = switch("json_log", "Write every event as a JSON line on stderr.", project=FREE)
QUIET = switch("quiet", "No progress: only warnings and the result.", project=FREE)
TUI = switch(
    "tui",
    "Show a live table on a terminal; --no-tui prints plain lines there too.",
    default=True,
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
