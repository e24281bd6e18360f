"""Records and issues as pages for people: `backlog.md`, `change-plan.md`, the bodies of issues.

Every value that a template shows is escaped, unless a filter made Markdown of it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from textwrap import indent
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from oraclepack.answers.statements import row_cells
from oraclepack.system import backlog_notes as keeping
from oraclepack.system.digests import canonical_line
from oraclepack.system.markdown_text import code_block, code_span, escape, escape_keeping_code
from oraclepack.system.printable import quantity, screen_json
from oraclepack.work.backlog import (
    Issue,
    PackAnswers,
    Priority,
    Record,
    RecordOrigin,
    TaskKind,
    WorkStatus,
)
from oraclepack.work.evidence import Citation, CitationState
from oraclepack.work.plan_order import in_order, place_of
from oraclepack.work.titles import without_emphasis

if TYPE_CHECKING:
    from jinja2 import Environment

REHEARSAL_NOTE = "These answers come from a rehearsal and say nothing about the code."
MOST_WORTH, MOST_QUESTIONS, MOST_WAITING = 10, 50, 10
_MOST_REASONS, _MOST_SPANS, _MOST_FILES = 3, 3, 4
_RANK = {priority: number for number, priority in enumerate(Priority)}
_KINDS = {kind: number for number, kind in enumerate(TaskKind)}
_LONGEST_EXCERPT = 260
"""Characters of a text in the backlog; the answer and the issues have all of it."""
_NOWHERE = frozenset({"", "unknown", "none", "n/a", "-"})
_BOX = re.compile(r"\s*- \[(?P<tick>[ xX])\] `(?P<id>OP3-[0-9a-f]+-\d\d-\d\d+)` (?P<title>.*?)\s*")
_PLACE = re.compile(r"(?:`[^`]+?:|\blines? )(?P<line>\d+)")
_MARKER = re.compile(r"(?:[-*+•]|\d{1,2}[.)])\s+")
_LINKED = frozenset({CitationState.VERIFIED, CitationState.STALE, CitationState.UNKNOWN})
_STATES = {
    CitationState.VERIFIED: "line exists",
    CitationState.STALE: "stale: the file changed since",
    CitationState.NOT_ATTACHED: "never attached",
    CitationState.OUT_OF_RANGE: "beyond the end of the file",
    CitationState.UNKNOWN: "not checked",
}
_HOW = {
    RecordOrigin.STATED: "stated by the answers",
    RecordOrigin.ASKED: "found by a model and checked against the answers",
    RecordOrigin.READ: "guessed by a few plain rules",
}


class MarkdownText(str):
    """Text that is Markdown already."""

    __slots__ = ()


class EarlierTask(msgspec.Struct, frozen=True):
    """A task of an earlier backlog: its title as it was shown, where it stood, its box."""

    title: str
    is_ticked: bool
    lines: tuple[int, ...] = ()
    """Where its text begins in the answer."""


def normalized(records: Iterable[Record]) -> str:
    """`normalized.jsonl`: one record a line, by id."""
    return "".join(f"{screen_json(canonical_line(record)).decode()}\n" for record in records)


def by_worth(record: Record) -> tuple[int, float, int, str]:
    """The order of work: priority, ROI, what says most about what to do, id."""
    kind = _KINDS.get(record.kind, len(_KINDS)) if record.kind else len(_KINDS)
    return _RANK[record.priority], -(record.roi or 0.0), kind, record.task_id


def earlier_tasks(text: str) -> dict[str, EarlierTask]:
    """The tasks of an earlier backlog, also of one that 0.2 wrote."""
    tasks: dict[str, EarlierTask] = {}
    name = ""
    for line in text.split("\n"):
        box = _BOX.fullmatch(line)
        if box is not None:
            name = box["id"]
            tasks[name] = EarlierTask(box["title"], box["tick"] != " ")
        elif name and line.startswith(" "):
            lines = (*tasks[name].lines, *(int(one["line"]) for one in _PLACE.finditer(line)))
            tasks[name] = msgspec.structs.replace(tasks[name], lines=lines)
        elif line.strip():
            name = ""
    return tasks


def read_ticks(text: str) -> frozenset[str]:
    """The ids that a person ticked."""
    return frozenset(name for name, one in earlier_tasks(text).items() if one.is_ticked)


def backlog(
    pack: PackAnswers, issues: Sequence[Issue], records: Sequence[Record], earlier: str
) -> str:
    """`backlog.md`: a first page, then the questions with everything that their answers say."""
    tasks = earlier_tasks(earlier)
    moved = _moved(tasks, records)
    texts: dict[str, str] = {}
    for name, text in keeping.read_person_notes(earlier).items():
        place = moved.get(name, name) if name in tasks else name
        texts[place] = texts.get(place, "") + text
    ticked = {moved[name] for name, one in tasks.items() if one.is_ticked and name in moved}
    known = {keeping.NOTES, *(issue.issue_id for issue in issues), *(r.task_id for r in records)}
    known -= {issue.issue_id for issue in issues if not issue.answer_files} - set(texts)
    ranks = {
        issue.issue_id: min((_RANK[r.priority] for r in issue.records if r.is_work), default=9)
        for issue in issues
    }
    ordered = sorted(issues, key=lambda one: (ranks[one.issue_id], one.step_id))
    work = [record for record in records if record.is_work]
    origins = dict.fromkeys(record.origin for record in work)
    unanswered = [issue for issue in issues if not issue.answer_files and issue.records]
    remarks = (text for one in unanswered for r in one.records for text in r.remarks)
    reasons = [*dict.fromkeys(remarks)]
    of = {status: [r for r in records if r.status is status] for status in WorkStatus}
    return _page(
        "backlog.md",
        about=_about(pack),
        issues=ordered,
        answered=[issue for issue in ordered if issue.answer_files],
        most_questions=MOST_QUESTIONS,
        unanswered=unanswered,
        reasons=MarkdownText("; ".join(map(_shown, reasons[:_MOST_REASONS]))),
        cut=[issue for issue in issues if issue.cut],
        work=work,
        kinds=MarkdownText(
            ", ".join(
                quantity(n, kind) for kind in TaskKind if (n := sum(r.kind is kind for r in work))
            )
            or "none"
        ),
        origins=MarkdownText(" and ".join(_HOW[one] for one in origins) or _HOW[RecordOrigin.READ]),
        conflicts=of[WorkStatus.CONFLICT],
        blocked=[record for record in of[WorkStatus.BLOCKED] if record.actions],
        best=sorted(work, key=by_worth)[:MOST_WORTH],
        most_waiting=MOST_WAITING,
        ticked=ticked,
        texts=texts,
        kept=lambda name: MarkdownText(keeping.slot(name, texts)),
        orphaned_ticks=sorted(
            (name, one.title) for name, one in tasks.items() if one.is_ticked and name not in moved
        ),
        orphaned_texts=sorted(set(texts) - known),
    )


def _moved(tasks: Mapping[str, EarlierTask], records: Sequence[Record]) -> dict[str, str]:
    """The id that each earlier task has now: by its id and title, its title, or its lines.

    Where an answer changed, or another version wrote the backlog, an id may mean other work.
    """
    work = [record for record in records if record.is_work]
    by_title: dict[tuple[str, str], str] = {}
    by_line: dict[tuple[str, int], str] = {}
    for record in work:
        issue = record.task_id.rpartition("-")[0]
        by_title.setdefault((issue, _shown(record.title)), record.task_id)
        for span in record.spans:
            by_line.setdefault((issue, span.first_line), record.task_id)
    titles = {record.task_id: _shown(record.title) for record in work}
    moved: dict[str, str] = {}
    for name, task in tasks.items():
        issue = name.rpartition("-")[0]
        lines = ((issue, line) for line in task.lines)
        found = (
            name
            if titles.get(name) == task.title
            else by_title.get((issue, task.title))
            or next((by_line[line] for line in lines if line in by_line), None)
        )
        if found is not None:
            moved[name] = found
    return moved


def change_plan(pack: PackAnswers, records: Sequence[Record]) -> str:
    """`change-plan.md`."""
    groups: list[tuple[str, list[Record]]] = []
    for record in in_order(records):
        path = place_of(record)[0]
        if not groups or groups[-1][0] != path:
            groups.append((path, []))
        groups[-1][1].append(record)
    waiting = [r for r in records if r.status in {WorkStatus.BLOCKED, WorkStatus.CONFLICT}]
    return _page("change-plan.md", about=_about(pack), groups=groups, waiting=waiting)


class Permalinks(msgspec.Struct, frozen=True):
    """Links to lines of files as they were in the commit that the questions were about."""

    repository: str
    """The page of the repository: an address, or `..` as seen from one of its issues."""
    commit: str | None = None

    def of(self, citation: Citation) -> str:
        """Markdown for a citation: a link where the commit is known and may have the line."""
        code = code_span(str(citation))
        place = PurePosixPath(citation.path)
        inside = not place.is_absolute() and ".." not in place.parts
        # Text that a code span cannot hold is escaped text, which could end the link.
        is_code = code.startswith("`") and "]" not in code
        if not (self.commit and inside and is_code and citation.state in _LINKED):
            return code
        last = f"-L{citation.last_line}" if citation.last_line != citation.first_line else ""
        lines = f"#L{citation.first_line}{last}"
        return f"[{code}]({self.repository}/blob/{self.commit}/{quote(str(place))}{lines})"

    def evidence(self, record: Record) -> list[str]:
        """The places that a record cites, one line of Markdown each, linked where possible."""
        return [
            line.replace(code_span(str(one)), self.of(one), 1)
            for one, line in zip(record.evidence.citations, cited(record), strict=True)
        ]


def issue_body(
    issue: Issue, records: Sequence[Record], links: Permalinks, *, per_task: bool = False
) -> str:
    """The body of an issue for a question, or for one task of it."""
    work = sorted((record for record in records if record.is_work), key=by_worth)
    heads = (
        (TaskKind.CHANGE, "Tasks"),
        (TaskKind.FINDING, "Findings, without a stated change"),
        (TaskKind.EXPERIMENT, "Experiment"),
        (TaskKind.QUESTION, "Questions"),
    )
    groups = [(head, [r for r in work if r.kind is kind]) for kind, head in heads]
    return _page(
        "issue.md",
        issue=issue,
        record=records[0] if records else None,
        groups=[(head, chosen) for head, chosen in groups if chosen],
        waiting=[r for r in records if r.status in {WorkStatus.BLOCKED, WorkStatus.CONFLICT}],
        links=links,
        per_task=per_task,
    )


def _about(pack: PackAnswers) -> MarkdownText:
    """Which pack the artifacts belong to."""
    title = f"Pack {code_span(pack.pack_name)}, " if pack.pack_name else "Pack "
    run = f", run {code_span(pack.pack_id)}" if pack.pack_id else ""
    line = f"{title}hash {code_span(pack.pack_hash[:16])}{run}."
    return MarkdownText(f"{line}\n\n**{REHEARSAL_NOTE}**" if pack.rehearsal else line)


def _shown(text: str) -> MarkdownText:
    """Markdown for the text of a record without its emphasis."""
    return MarkdownText(escape_keeping_code(without_emphasis(text)))


def _flat(text: str) -> MarkdownText:
    """The same on one line."""
    return _shown(" ".join(text.split()))


def named(text: str) -> MarkdownText:
    """Markdown for a missing input: a bare path is shown as code, words as they are."""
    return MarkdownText(
        escape_keeping_code(text) if " " in text or "`" in text else code_span(text)
    )


def _rank(record: Record, *, with_reason: bool = True) -> MarkdownText:
    why = f" ({_shown(record.why)})" if record.why and with_reason else ""
    size = f" · size {record.size}" if record.size else ""
    return MarkdownText(f"{record.priority}{why} · {record.kind or record.status}{size}")


def _lines(record: Record, files: Sequence[str] = ()) -> MarkdownText:
    """Where the text of a record stands; of the first of the answer's files only the lines."""
    shown: list[str] = []
    for span in record.spans[:_MOST_SPANS]:
        lines = str(span).rpartition(":")[2]
        is_first = span.path in files[:1]
        shown.append(f"line{'s' * ('-' in lines)} {lines}" if is_first else code_span(str(span)))
    more = len(record.spans) - _MOST_SPANS
    return MarkdownText(", ".join(shown) + (f" and {more} more" if more > 0 else ""))


def _files(names: Sequence[str], most: int = _MOST_FILES) -> MarkdownText:
    """Names as code, the first few of them."""
    text = ", ".join(map(code_span, names[:most]))
    more = len(names) - most
    return MarkdownText(f"{text} and {more} more" if more > 0 else text)


def cited(record: Record) -> list[str]:
    """The places that a record cites, with what is known of each."""
    return [f"{code_span(str(one))} ({_STATES[one.state]})" for one in record.evidence.citations]


def _facts(record: Record, files: Sequence[str] = ()) -> MarkdownText:
    """One line about a task: its rank, its lines, the places that it cites."""
    rank = _rank(record, with_reason=False)
    return MarkdownText(" · ".join([rank, _lines(record, files), *cited(record)]))


def _words(text: str) -> str:
    """A text as a title would show it."""
    return " ".join(without_emphasis(text).replace("`", "").split())


def _says_more(record: Record) -> bool:
    """Whether a record has more to show than its title."""
    said = _words(" ".join(record.actions)).rstrip(" .")
    return said != record.title or bool(record.evidence.commands or record.remarks)


def _has_more_to_say(issue: Issue) -> bool:
    """Whether the verdict of an answer is more than its title and none of its tasks."""
    is_task = any(issue.answer in record.actions for record in issue.records if record.is_work)
    return len(_words(issue.answer)) > len(issue.title) + 1 and not is_task


def _excerpt(text: str) -> str:
    """The beginning of a long text, up to the end of a sentence or a word."""
    if len(text) <= _LONGEST_EXCERPT:
        return text
    head = text[:_LONGEST_EXCERPT]
    end = max(head.rfind(". ") + 1, head.rfind(".\n") + 1)
    end = end if end > _LONGEST_EXCERPT // 2 else max(head.rfind(" "), head.rfind("\n"))
    return f"{head[:end].rstrip()} …"


def _points(record: Record, pad: str = "", is_whole: bool = True) -> MarkdownText:  # noqa: FBT001, FBT002 - a filter
    """What a record says, as lines of a list; sub-items are indented."""
    lines: list[str] = []
    for text in record.actions if is_whole else map(_excerpt, record.actions):
        said = [line.strip() for line in text.split("\n") if line.strip()]
        for number, line in enumerate(said):
            marker = _MARKER.match(line) if number else None
            bare = line[marker.end() :] if marker is not None else line
            cells = row_cells(bare)
            words = " · ".join(_shown(cell) for cell in cells if cell) if cells else _shown(bare)
            lines.append(f"{pad}{'  ' if number else ''}- {words}")
    return MarkdownText("\n".join(lines))


def _escaped(value: object) -> object:
    """Text from outside is escaped, wherever a template shows it."""
    return value if type(value) is not str else escape(value)


def prompt_text(name: str, **values: str) -> str:
    """A prompt, with texts that were made safe to quote."""
    return _page(name, **{key: MarkdownText(value) for key, value in values.items()})


def _page(name: str, **values: object) -> str:
    text = _environment().get_template(name).render(**values)
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    folder = resources.files("oraclepack.work") / "templates"
    environment = Environment(  # noqa: S701 - the pages are Markdown; `_escaped` escapes every value
        undefined=StrictUndefined,
        loader=FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_escaped,
    )
    environment.filters |= {
        "md": MarkdownText,
        "shown": _shown,
        "flat": _flat,
        "cell": lambda text: MarkdownText(escape_keeping_code(without_emphasis(text), cell=True)),
        "code": lambda text: MarkdownText(code_span(text)),
        "named": named,
        "names": lambda names: MarkdownText(", ".join(map(named, names))),
        "files": _files,
        "unseen_commands": lambda record: [
            command
            for command in record.evidence.commands
            if command not in " ".join(record.actions)
        ],
        "has_more_to_say": _has_more_to_say,
        "excerpt": lambda text: _flat(_excerpt(text)),
        "facts": _facts,
        "rank": _rank,
        "lines": _lines,
        "points": _points,
        "block": lambda command, pad="": MarkdownText(
            indent(code_block(command, "sh").rstrip("\n"), pad)
        ),
        "says_more": _says_more,
        "about": lambda issue: MarkdownText(
            f" · about {code_span(reference)}"
            if (reference := (issue.reference or "").strip()).lower() not in _NOWHERE
            else ""
        ),
        "number": lambda name: MarkdownText(name.rpartition("-")[2]),
    }
    environment.globals["count"] = lambda n, word: MarkdownText(quantity(n, word))
    return environment
