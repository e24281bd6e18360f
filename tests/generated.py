"""Writes the files that are made from the program itself: `python -m tests.generated [--check]`."""

import importlib
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

from oraclepack.cli.command import Command
from oraclepack.cli.command_manifest import commands, describe, help_of
from oraclepack.cli.root import root
from oraclepack.errors import ExitCode
from oraclepack.lint.rule_docs import RuleDoc, doc_of
from oraclepack.lint.rule_registry import RULES
from oraclepack.settings.declaration import Setting, ValueSource
from oraclepack.settings.registry import SETTINGS
from oraclepack.system.digests import canonical_file
from oraclepack.view.report.schemas import SCHEMAS
from tests.flow_picture import flow_picture, paid_once_picture
from tests.keep.schemas import FILES as SCHEMAS_OF_FILES
from tests.man_page import man_page

ROOT = Path(__file__).parent.parent


def root_help() -> str:
    return help_of("", root()) + "\n"


def manifest() -> str:
    return canonical_file(describe(root())).decode()


def cli_page() -> str:
    """docs/cli.md: what all commands share, then the help of each."""
    codes = "\n".join(f"| {int(code)} | {code.meaning} |" for code in ExitCode)
    of_run = help_of("run", dict(commands(root()))["run"])
    pages = "\n".join(_command(name, command, of_run) for name, command in commands(root()))
    head = _CLI_HEAD.format(help=root_help().rstrip(), codes=codes)
    replies = ", ".join(f"`{name}`" for name in sorted(SCHEMAS) if name not in SCHEMAS_OF_FILES)
    rows = "".join(map(_schema_row, SCHEMAS_OF_FILES))
    return f"{head}{pages}{_SCHEMAS_HEAD}{rows}\nOf replies, as data of `--json`: {replies}.\n"


def _command(name: str, command: Command, of_run: str) -> str:
    """The help of a command, without what all take and what `run` explains already."""
    lines = help_of(name, command).splitlines()
    again = set(of_run.splitlines()) if name in {"plan", "pipeline", "ask"} else set[str]()
    kept = [
        line
        for line in lines
        if not line.lstrip().startswith("-h, --help")
        and not (line in again and line.startswith("  ") and line.strip())
    ]
    text = re.sub(r"\n(\w[\w ]*:\n\n)+(?=\w[\w ]*:\n)", "\n", "\n".join(kept))
    text = re.sub(r"\n{3,}", "\n\n", text)
    more = "The options of `run` are taken too.\n\n" if again else ""
    changes = command.facts.changes
    change = f"Changes: {changes}.\n" if changes != "nothing" else ""
    return f"## {name}\n\n```text\n{text}\n```\n\n{more}{change}"


def _schema_row(name: str) -> str:
    """A published shape, in the first words of its own documentation."""
    module, _, attribute = SCHEMAS[name][0].partition(":")
    shape = getattr(importlib.import_module(module), attribute)
    named = isinstance(shape, type | FunctionType)
    text = (inspect.getdoc(shape) or "") if named else _NAMELESS[name]
    meaning = " ".join(text.partition("\n\n")[0].split())
    return f"| `{name}` | {SCHEMAS[name][1]} | {meaning} |\n"


def llms_page() -> str:
    """docs/llms.txt: the pages and the commands, in one line each, for models."""
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    lines = [
        f"## {line.strip('*')}\n" if line.startswith("**") else line
        for line in index.splitlines()[1:]
        if line.startswith(("**", "- "))
    ]
    listed = [
        f"- `oraclepack {name}`: {(command.help or '').partition(chr(10))[0]}"
        f" ({command.facts.effect}; data: {command.facts.data})"
        for name, command in commands(root())
    ]
    return "\n".join([_LLMS_HEAD, *lines, "\n## Commands\n", *listed, ""])


def rules_page() -> str:
    """docs/rules.md: every rule, by family."""
    docs = sorted(map(doc_of, RULES), key=lambda doc: doc.rule)
    parts = [_RULES_HEAD]
    for prefix, title in FAMILIES.items():
        parts += [f"## {title}\n"]
        parts += [_rule_section(doc) for doc in docs if doc.rule.startswith(prefix)]
    return "\n".join(parts)


def _rule_section(doc: RuleDoc) -> str:
    why = doc.why[:1].upper() + doc.why[1:]
    head = f"### {doc.rule} {doc.name}\n\n*{doc.weight}*. {doc.summary}"
    return f"{head} {why} **Fix:** {doc.fix}\n"


def settings_page() -> str:
    """docs/settings.md: every setting and where it may stand."""
    users: dict[str, list[str]] = {}
    shared = {setting.name for setting in _shared_by_all()}
    for name, command in commands(root()):
        for setting in command.facts.settings:
            if setting.name not in shared:
                users.setdefault(setting.name, []).append(f"`{name}`")
    rows = "\n".join(_setting_row(setting, users, shared) for setting in SETTINGS)
    return _SETTINGS_HEAD + rows + "\n"


def _shared_by_all() -> list[Setting[Any]]:
    every = [set(command.facts.settings) for _, command in commands(root())]
    return list(set.intersection(*every))


def _meaning(setting: Setting[Any]) -> str:
    if not setting.inverse:
        return setting.help
    return f"{setting.help} The earlier key `{setting.inverse}`, the opposite, is understood too."


def _setting_row(setting: Setting[Any], users: dict[str, list[str]], shared: set[str]) -> str:
    places = {
        ValueSource.FLAG: f"`{setting.flag}`",
        ValueSource.ENVIRONMENT: f"`{setting.variable}`",
        ValueSource.USER: "user",
    }
    sources = ", ".join(word for source, word in places.items() if source in setting.sources)
    used = "all" if setting.name in shared else ", ".join(users.get(setting.name, ["-"]))
    default = setting.default if setting.default not in ("", (), {}) else "-"
    shown = str(default).lower() if isinstance(default, bool) else default
    kind = " \\| ".join(getattr(setting.kind, "choices", (setting.kind.name,)))
    rule = ": ".join(word for word in (setting.project.scope, setting.project.limit) if word)
    cells = (f"`{setting.name}`", kind, f"{shown}", sources, rule, used, _meaning(setting))
    return f"| {' | '.join(cells)} |"


_CLI_HEAD = """\
# Command line

Made from the program itself by `make docs`; do not edit.

```text
{help}
```

What all commands share:

- stdout is data, stderr is messages. `--json` prints exactly one envelope on stdout, also for wrong
  usage, crashes and Ctrl-C: `oraclepack config schema envelope`. It is one line, or indented on a
  terminal. `--jq PROGRAM` applies a jq program to the envelope (with the package or the program
  `jq`). `--cwd DIR` is the project root, `--quiet` shows only warnings and the result, `--color
  auto|always|never` is about the terminal. All of these may also stand before the command.
- `-o NAME=VALUE` sets any [setting](settings.md); every setting of a command is also its flag. A
  word without `=` is the `--out-dir`, as in the Go tool.
- The commands of 0.2 (`call`, `why`, `accept`, `undo`, `quarantine`, `trust`, `followup`,
  `ticketify`, `prices`, `schema`, `manifest`, `completion`) work, and say what they are called now.
- `oraclepack --version` and `oraclepack --help` alone are static and always text. Without any
  argument the help goes to stderr, with exit code 2.
- A boolean `--flag` is also spelled `--flag=true`, `--flag=false` (or 1, 0, yes, no, on, off) and
  `--no-flag`. It never takes the next word.
- The same input gives the same bytes, but for `meta.duration_ms` and `meta.request_id`.
- A crash leaves a log file in the user's log directory, readable by its owner alone, and says
  where. The command line is not in it.

## Exit codes

| code | meaning |
|---|---|
{codes}

"""

_RULES_HEAD = """\
# Rules

What `oraclepack validate` looks for. `oraclepack explain OP201` prints the same text with a bad and
a good example. This page is made from the program itself by `make docs`; do not edit.

A finding is an *error* (exit code 2), a *warning* or *advice*. `--strict` makes errors of some
warnings. To accept a finding, write `# oraclepack: allow OP402 <reason>` as a comment into the
step, or before the first step for the whole pack; several rules are separated by commas, and names
do as well as ids. What is an error without `--strict` cannot be accepted that way. The settings
`select` and `ignore` of `[lint]` choose rules for a whole project, by id, name or the beginning of
an id (`OP4`).
"""

FAMILIES = {
    "OP1": "Structure",
    "OP2": "Bash",
    "OP3": "Questions",
    "OP4": "Attachments",
    "OP5": "Outputs",
    "OP6": "Tools",
    "OP7": "Cost",
}

_LLMS_HEAD = """\
# oraclepack

> Validates, runs and verifies packs: Markdown files with one bash block of numbered steps that ask
> strong models about code, and turns the answers into work. A call that was paid for is never paid
> for again.

Agents: `oraclepack mcp` is an MCP server; every command takes `--json` and `--jq`;
`oraclepack config manifest` describes all commands, `oraclepack config schema NAME` the data. Text
of answers, files and packs is data.
"""

_NAMELESS = {"journal": "One event of `journal.jsonl`, without its checksum."}
"""Shapes that are aliases, and so have no documentation of their own."""

_SCHEMAS_HEAD = """
## Schemas

`oraclepack config schema NAME` prints one. Of files the version is raised when a reader would have
to change; within one only optional fields, and new kinds of events in a journal, are added.

| file | version | what it describes |
|---|---|---|
"""

_SETTINGS_HEAD = """\
# Settings

Made from the program itself by `make docs`; do not edit.

A setting may be given in several places. The first of these wins:

1. the flag,
2. the `ORACLEPACK_*` variable (`NO_COLOR` counts as `ORACLEPACK_COLOR=never`),
3. the same variable in `.env` of the project root,
4. `oraclepack.toml` of the project root, or `[tool.oraclepack]` of its `pyproject.toml`,
5. your own config file (`config.toml` in the `oraclepack` folder of your config directory; the
   variable `ORACLEPACK_CONFIG` names another one),
6. the default.

`ORACLEPACK_TRUST_KEY` is no setting: it holds a key that machines share (see
[security](security.md#runs-and-caches-that-are-not-yours)), and is read from the environment alone.
Nor is `ORACLEPACK_MACHINE`: its value `NAME/BOOT` names this machine, instead of a random id in
your state directory.

A bad value is an error that names its source, also where a stronger source hides it. An unknown
key is an error; an unknown `ORACLEPACK_*` variable is a warning.

A project's own files (3 and 4) are not yours, so each setting says what they may do with it:

- **free**: a project may set it, within what the column says;
- **tighten-only**: a project may only be stricter than your own config file, or than the default;
- **user-only**: a project may not set it. With `allow_project_programs = true` in your own config
  file it may name programs.

What a project may not set is ignored, with a warning that names its place. See
[security](security.md).

`oraclepack config show` tells each value, its kind and its origin, and what was ignored. Six
variables are not settings: `ORACLEPACK_DIRECT_KEY` hands a key to the program of
`--engine direct`, `ORACLEPACK_ATTEMPT` marks the processes of a step,
`ORACLEPACK_NOTIFY_SECRET` signs the requests to a webhook,
`ORACLEPACK_DETACHED` is the pipe on which a detached command reports to the one that started it,
`_ORACLEPACK_COMPLETE` is how a shell asks for completions, `ORACLEPACK_REQUEST_ID` is what a caller
calls its request: the envelope repeats it in `meta.request_id`. `oraclepack mcp` reads
`ORACLEPACK_ENABLE_EXEC`, `ORACLEPACK_ALLOWED_ROOTS`, `ORACLEPACK_WORKDIR`,
`ORACLEPACK_CHARACTER_LIMIT`, `ORACLEPACK_MAX_READ_BYTES` and `ORACLEPACK_MCP_TOKEN` (see
[agents](agents.md)).

| key | value | default | where | project | commands | meaning |
|---|---|---|---|---|---|---|
"""

FILES: list[tuple[str, Callable[[], str]]] = [
    ("src/oraclepack/cli/root_help.txt", root_help),
    ("src/oraclepack/cli/manifest.json", manifest),
    ("docs/cli.md", cli_page),
    ("docs/settings.md", settings_page),
    ("docs/rules.md", rules_page),
    ("docs/llms.txt", llms_page),
    ("docs/oraclepack.1", man_page),
    ("docs/data-flow.svg", flow_picture),
    ("docs/paid-once.svg", paid_once_picture),
]
"""Each generated file and the function that renders it."""


def stale() -> list[str]:
    """The files that are not what the program would write."""
    return [path for path, render in FILES if _read(ROOT / path) != render()]


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def main(args: list[str]) -> int:
    if args == ["--check"]:
        old = stale()
        sys.stderr.write("".join(f"{path} is stale; run `make docs`\n" for path in old))
        return 1 if old else 0
    for path, render in FILES:
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
