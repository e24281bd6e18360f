"""An old pack to its strict form. Only what bash passes over is changed: headers and prose."""

import difflib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from oraclepack.authoring.answer_contract import work_format
from oraclepack.authoring.generation import UpgradeProof, UpgradeReport
from oraclepack.authoring.header_fields import FilledHeader, fill
from oraclepack.lint.engine import lint
from oraclepack.lint.external_checks import facts_for
from oraclepack.lint.finding import Facts, Severity
from oraclepack.lint.fix import apply_fixes
from oraclepack.lint.rule import Subject
from oraclepack.lint.rule_registry import RULES
from oraclepack.pack.model import CATEGORIES, Pack, Step
from oraclepack.pack.pack_files import read_pack_text
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.pack.questions import questions_of
from oraclepack.pack.script import Script, Span
from oraclepack.pack.tool_call import AttachmentKind
from oraclepack.settings.registry import CWD, Settings
from oraclepack.shell.checker import complete
from oraclepack.system.digests import sha256_text
from oraclepack.system.environment import project_root, refuse_to_write_out
from oraclepack.system.files import sweep, write_atomic
from oraclepack.system.printable import quantity

STEPS = 20
_REORDERED = "the steps would have to be reordered, but"
_MOST_REASONS = 3
_HARMLESS = frozenset({"mkdir", "read", "cat", "echo", "printf", "true", "test", "[", ":"})
"""Commands that do the same wherever they stand among others of their kind."""


@dataclass(frozen=True, slots=True)
class UpgradeProposal:
    """The text that would be strict, or the reasons why there is none."""

    text: str
    notes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    moved: dict[str, str] = field(default_factory=dict)
    """New step number → the old one, where they differ."""


@dataclass(frozen=True, slots=True)
class _Planned:
    step: Step
    filled: FilledHeader

    @property
    def rank(self) -> tuple[float, float]:
        return -float(self.filled.numbers.roi), float(self.filled.numbers.effort)


def upgrade(pack: Pack) -> UpgradeProposal:
    """Propose the strict form of a pack that has a bash block with steps."""
    notes: list[str] = []
    reasons: list[str] = []
    planned = list(_filled(pack.steps))
    for one in planned:
        asked = questions_of(one.step)
        if one.filled.notes:
            notes.append(f"step {one.step.id}: {'; '.join(one.filled.notes)}")
        if asked != 1:
            reasons.append(f"step {one.step.id} asks {quantity(asked, 'question')}, not one")
        if one.filled.reason:
            reasons.append(f"step {one.step.id}: {one.filled.reason}")
    if len(planned) != STEPS:
        reasons.append(
            f"{len(planned)} questions; --strict requires {STEPS}, and adding or dropping one would"
            " change what is executed"
        )
    ranked = sorted(planned, key=lambda one: one.rank)
    moved: dict[str, str] = {}
    if ranked != planned:
        reasons += _bound(pack)
        moved = _moves(planned, ranked)
        notes.append("steps reordered by ROI, the highest first; ties by effort")
    if reasons:
        return UpgradeProposal(pack.text, tuple(notes), tuple(dict.fromkeys(reasons)))
    return UpgradeProposal(_rewritten(pack, ranked), tuple(notes), moved=moved)


def _filled(steps: Iterable[Step]) -> Iterable[_Planned]:
    before: float | None = None
    for step in steps:
        filled = fill(step, before)
        before = float(filled.numbers.roi)
        yield _Planned(step, filled)


def _bound(pack: Pack) -> list[str]:
    """Why the steps cannot change places: something of one may matter to another."""
    reasons: list[str] = []
    for step in pack.steps:
        doubt = _doubt(step)
        reasons += [f"{_REORDERED} step {step.id} {doubt}"] if doubt else []
        for other in pack.steps:
            common = _common(step.reads, other.writes) if other is not step else None
            if common:
                reasons.append(
                    f"{_REORDERED} step {step.id} reads {common}, which step {other.id} writes"
                )
    return reasons[:_MOST_REASONS]


def _doubt(step: Step) -> str | None:
    """The effects of a step that its text does not show in full."""
    if step.writes_unknown or any(call.partly_hidden for call in step.calls):
        return "names files that only the running shell knows"
    attached = [one for call in step.calls for one in call.attachments]
    if any(one.kind is not AttachmentKind.LITERAL for one in attached):
        return "attaches whatever fits a pattern"
    asking = {call.span for call in step.oracle_calls}
    for command in step.script.commands:
        if command.span not in asking and command.name not in _HARMLESS:
            return f"runs {command.name or 'a command'}, which may depend on the order"
    return None


def _common(reads: frozenset[str], writes: frozenset[str]) -> str | None:
    """A path that is read and written, or a folder that is read and written into."""
    both = (r for r in sorted(reads) for w in writes if w == r or w.startswith(f"{r}/"))
    return next(both, None)


def _moves(planned: list[_Planned], ranked: list[_Planned]) -> dict[str, str]:
    numbers = {id(one): f"{number:02}" for number, one in enumerate(planned, 1)}
    pairs = ((f"{number:02}", numbers[id(one)]) for number, one in enumerate(ranked, 1))
    return {new: old for new, old in pairs if new != old}


def _rewritten(pack: Pack, planned: list[_Planned]) -> str:
    lines = pack.text.split("\n")
    first = pack.steps[0].header.span.line
    last = pack.steps[-1].span.end_line
    steps: list[str] = []
    for number, one in enumerate(planned, 1):
        steps.append(f"# {number:02}) {one.step.title} {one.filled.text}".replace(")  ", ") "))
        dropped = _old_fields(one.step)
        body = range(one.step.header.span.line + 1, one.step.span.end_line + 1)
        steps += [lines[n - 1] for n in body if n not in dropped]
    head, tail = _prose(pack, lines[: first - 1], 0), _prose(pack, lines[last:], last)
    covered = {one.filled.category for one in planned}
    return "\n".join([*head, *steps, *_coverage(pack, tail, last, covered)])


def _old_fields(step: Step) -> set[int]:
    """The lines `# ROI: 4.2` of the body: their values are in the header now."""
    header = step.header
    lines = {attribute.span.line for attribute in header.attributes.values()}
    return lines - {header.span.line}


def _coverage(pack: Pack, tail: list[str], offset: int, covered: set[str]) -> list[str]:
    """The coverage check as the steps are; where there is none, none is added."""
    if pack.coverage is None or not pack.coverage.lines:
        return tail
    numbers = [line.span.line - offset - 1 for line in pack.coverage.lines]
    if min(numbers) < 0:
        return tail
    every = ",".join(f"{number:02}" for number in range(1, STEPS + 1))
    lines = [f"- {c}: {'OK' if c in covered else f'Missing({every})'}" for c in CATEGORIES]
    start, end = min(numbers), max(numbers)
    if [_folded(line) for line in tail[start : end + 1] if line.strip()] == list(
        map(_folded, lines)
    ):
        return tail
    return [*tail[:start], *lines, *tail[end + 1 :]]


def _folded(line: str) -> str:
    return re.sub(r"[\W_]+", " ", line).strip().lower()


def _prose(pack: Pack, lines: list[str], offset: int) -> list[str]:
    """Other fences become indented text, which is what the rule asks for."""
    text = list(lines)
    for fence in pack.fences:
        start, end = fence.span.line - offset - 1, fence.span.end_line - offset - 1
        inside = 0 <= start < len(text) and end < len(text)
        if not inside or not fence.marker or fence.is_bash or not fence.closed:
            continue
        if text[start].startswith(fence.marker):
            closing = next(
                (n for n in range(end, start, -1) if text[n].strip().startswith(fence.marker)), end
            )
            body = [f"    {line}" if line.strip() else line for line in text[start + 1 : closing]]
            text[start : closing + 1] = ["", *body, ""]
    return text


_UPGRADE_MOST_REASONS = 20
_FOURTH = re.compile(r"4[).] .*\b(?:insufficient|missing)\b", re.IGNORECASE)
_NUMBERING = ("OP106", "OP107", "OP108")
"""Rules whose fixes touch nothing but headers."""


def with_work_block(pack: Pack) -> tuple[str, int]:
    """The text of a pack whose prompts also ask for the block of work, and how many were changed.

    Only prompts that end their answer format with the fourth section, as ours do, are changed, and
    only if nothing else changes by it.
    """
    lines = pack.text.split("\n")
    places = [n for n, line in enumerate(lines) if _FOURTH.match(line) and _lacks_work(lines, n)]
    added = work_format().split("\n")
    for place in reversed(places):
        lines[place + 1 : place + 1] = added
    text = "\n".join(lines)
    after = parse_pack(text, pack.path, complete)
    return (text, len(places)) if _prompts(after) == _prompts(pack) else (pack.text, 0)


def _lacks_work(lines: list[str], place: int) -> bool:
    following = lines[place + 1 : place + 4]
    return not any("WORK:" in line or "[oraclepack-work]" in line for line in following)


def _prompts(pack: Pack) -> list[str]:
    """What the calls ask, without the block of work."""
    texts = [c.prompt.text if c.prompt else "" for step in pack.steps for c in step.calls]
    return [text.replace(f"\n{work_format()}", "") for text in texts]


def upgrade_pack(
    path: str, settings: Settings, *, write: bool = False, work_block: bool = False
) -> UpgradeReport:
    """What would have to change, whether it may, and the proof; the file only with `write`.

    With `work_block` prompts are changed as well: the next run asks these questions again.
    """
    file = Path(path)
    if write:
        refuse_to_write_out(file.parent, settings[CWD])
    raw = read_pack_text(file)
    done, text = _proposed(path, raw, settings)
    if work_block and done.upgradable:
        text, count = with_work_block(parse_pack(text, path, complete))
        prompts = quantity(count, "prompt")
        note = f"block of work added to {prompts}: the next run asks these questions again"
        done = msgspec.structs.replace(done, notes=(*done.notes, note))
    changed = done.upgradable and text != raw
    if write and changed:
        sweep(file.parent)
        write_atomic(file, text.encode())
    diff = _diff(raw, text, path) if changed else ""
    return msgspec.structs.replace(done, changed=changed, written=write and changed, diff=diff)


def _proposed(path: str, raw: str, settings: Settings) -> tuple[UpgradeReport, str]:
    """The verdict about a pack, and its strict text."""
    pack = parse_pack(raw, path, complete)
    root = project_root(path, settings[CWD])
    if not _errors(pack, root):
        return UpgradeReport(path=path, upgradable=True, changed=False), raw
    numbered = _numbered(raw, pack)
    if not numbered.steps:
        return _refused(path, "there is no bash block with steps"), raw
    proposal = upgrade(numbered)
    if proposal.reasons:
        return _refused(path, *proposal.reasons, notes=proposal.notes), raw
    after = parse_pack(proposal.text, path, complete)
    proof = prove(pack, numbered, after, proposal.moved)
    reasons = _errors(after, root)
    if not proof.equal:
        reasons = ("the commands would not be the same afterwards", *reasons)
    if reasons:
        return _refused(path, *reasons, notes=proposal.notes, proof=proof), raw
    done = UpgradeReport(
        path=path, upgradable=True, changed=True, notes=proposal.notes, proof=proof
    )
    return done, proposal.text


def _numbered(raw: str, pack: Pack) -> Pack:
    """The pack with its headers numbered: one like `# 1)` is a mere comment otherwise."""
    findings = lint(Subject(pack, Facts()), RULES, strict=True, select=_NUMBERING)
    return parse_pack(apply_fixes(raw, findings), pack.path, complete)


def _refused(
    path: str, *reasons: str, notes: tuple[str, ...] = (), proof: UpgradeProof | None = None
) -> UpgradeReport:
    return UpgradeReport(
        path=path, upgradable=False, changed=False, notes=notes, reasons=reasons, proof=proof
    )


def _errors(pack: Pack, root: Path) -> tuple[str, ...]:
    """What `validate --strict` would refuse."""
    findings = lint(Subject(pack, facts_for(pack, root)), RULES, strict=True)
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    messages = (
        f"{e.rule} at line {e.span.line}: {e.message}; {e.hint}".rstrip("; ") for e in errors
    )
    return tuple(messages)[:_UPGRADE_MOST_REASONS]


def _diff(before: str, after: str, path: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), path, f"{path} (strict)", lineterm=""
    )
    return "".join(f"{line}\n" for line in lines)


def prove(before: Pack, numbered: Pack, after: Pack, moved: dict[str, str]) -> UpgradeProof:
    """Compare what bash would run: comments and blank lines between commands do not count.

    `numbered` is the old pack with readable headers. Each step must be what it was there.
    """
    prelude, *steps = _bodies(numbered)
    old = {f"{number:02}": body for number, body in enumerate(steps, 1)}
    ids = [str(step.id) for step in after.steps]
    expected = [prelude, *(old.get(moved.get(new, new), "") for new in ids)]
    first, second = _joined(_bodies(before)), _joined(_bodies(after))
    is_same = first == _joined([prelude, *steps]) and len(ids) == len(steps)
    return UpgradeProof(
        equal=is_same and _joined(expected) == second,
        commands_before=_commands(before),
        commands_after=_commands(after),
        sha256_before=sha256_text(first),
        sha256_after=sha256_text(second),
        moved=moved,
    )


def _joined(bodies: Iterable[str]) -> str:
    return "\n".join(filter(None, bodies))


def _commands(pack: Pack) -> int:
    return sum(len(script.commands) for script in _scripts(pack))


def _scripts(pack: Pack) -> Iterator[Script]:
    if pack.prelude is not None:
        yield pack.prelude.script
    yield from (step.script for step in pack.steps)


def _bodies(pack: Pack) -> list[str]:
    """The prelude and every step without what bash passes over."""
    lines = pack.text.split("\n")
    bodies = [""]
    if pack.prelude is not None:
        span = pack.prelude.span
        end = pack.steps[0].header.span.line - 1 if pack.steps else span.end_line
        bodies[0] = _bare(lines, range(span.line, end + 1), pack.prelude.script)
    for step in pack.steps:
        body = range(step.header.span.line + 1, step.span.end_line + 1)
        bodies.append(_bare(lines, body, step.script))
    return bodies


def _bare(lines: list[str], numbers: Iterable[int], script: Script) -> str:
    inside = _held(command.span for command in script.commands)
    inside |= _held(heredoc.span for heredoc in script.heredocs)
    inside |= {heredoc.span.line for heredoc in script.heredocs}
    comments = {
        comment.span.line
        for comment in script.comments
        if comment.top_level and not comment.trailing
    }
    stripped = (
        lines[number - 1].rstrip() if number not in inside else lines[number - 1]
        for number in numbers
        if number in inside or (number not in comments and lines[number - 1].strip())
    )
    return "\n".join(stripped)


def _held(spans: Iterable[Span]) -> set[int]:
    """The lines of constructs that span several lines: there every character counts."""
    return {line for span in spans for line in range(span.line + 1, span.end_line + 1)}
