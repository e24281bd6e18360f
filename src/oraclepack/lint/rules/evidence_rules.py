"""OP311 to OP313: the lines that a question quotes as evidence."""

from collections.abc import Iterator

from oraclepack.lint.finding import Severity
from oraclepack.lint.quoted_evidence import QuotedLine, agrees
from oraclepack.lint.rule import Problem, Subject, rule
from oraclepack.pack.tool_call import AttachmentKind
from oraclepack.system.printable import one_line

_LONGEST = 80


@rule("OP311", Severity.WARNING, Severity.ERROR)
def false_evidence(subject: Subject) -> Iterator[Problem]:
    """Every quoted line is in its file, as it is quoted.

    Why: an answer built on a line that does not exist costs as much as a true one.
    Fix: quote the line as it is, or drop the question. Lines below `Evidence (… at commit SHA)` are
    compared with that commit; without a commit, or with one that this clone does not have, with
    the work tree. Blanks do not count, and ` …` marks where a long line was cut.

    Bad::
        # 01) stock
        oracle -f src/stock.py --write-output a.md -p "Which order loses stock?
        Evidence (path:line and the line):
        - src/stock.py:41  def reserve_everything(article):"

    Good::
        # 01) stock
        oracle -f src/stock.py --write-output a.md -p "Which order loses stock?
        Evidence (path:line and the line):
        - src/stock.py:41  def reserve(article, count):"
    """
    for evidence in subject.evidence:
        for quote in evidence.lines:
            if quote.key in subject.facts.quotes:
                complaint = _complaint(quote, subject.facts.quotes[quote.key])
                if complaint:
                    hint = "quote the line as it is, or drop the question"
                    yield Problem(quote.span, complaint, hint, step=evidence.step.id)


def _complaint(quote: QuotedLine, actual: str | None) -> str:
    at = f" at commit {quote.commit[:12]}" if quote.commit else ""
    if actual is None:
        return f"{quote.path} has no line {quote.line}{at}"
    if agrees(quote.text, actual):
        return ""
    shown = one_line(actual.strip())[:_LONGEST]
    return f"{quote.path}:{quote.line}{at} says something else: {shown or 'nothing'}"


@rule("OP312", Severity.WARNING, Severity.ERROR)
def evidence_not_attached(subject: Subject) -> Iterator[Problem]:
    """The files of quoted lines are attached to the question.

    Why: the model cannot read what is around a quoted line of a file that it does not get.
    Fix: attach the file by `-f`, or quote a line of an attached one. Steps that attach by pattern,
    directory or variable are not judged.

    Bad::
        # 01) stock
        oracle -f src/stock.py --write-output a.md -p "Which order loses stock?
        Evidence (path:line and the line):
        - src/orders.py:12  def reserve(article, count):"

    Good::
        # 01) stock
        oracle -f src/stock.py -f src/orders.py --write-output a.md -p "Which order loses stock?
        Evidence (path:line and the line):
        - src/orders.py:12  def reserve(article, count):"
    """
    for evidence in subject.evidence:
        attachments = [a for call in evidence.step.calls for a in call.attachments]
        is_hidden = any(call.partly_hidden for call in evidence.step.calls)
        if is_hidden or any(one.kind is not AttachmentKind.LITERAL for one in attachments):
            continue
        attached = {one.value.removeprefix("./") for one in attachments}
        told: set[str] = set()
        for quote in evidence.lines:
            path = quote.path.removeprefix("./")
            if path not in attached | told:
                told.add(path)
                message = f"step {evidence.step.id} quotes {path} and does not attach it"
                yield Problem(quote.span, message, f'add -f "{path}"', step=evidence.step.id)


@rule("OP313", Severity.WARNING, Severity.ERROR)
def no_evidence(subject: Subject) -> Iterator[Problem]:
    """A question quotes evidence where it announces it, or where most others do.

    Why: a question without a line of code is about what its author supposes.
    Fix: write lines `- path:line  text` below `Evidence (path:line and the line at commit SHA):`.
    A pack in which few questions quote anything is not judged.

    Bad::
        # 01) stock
        oracle -f src/stock.py --write-output a.md -p "Which order loses stock?
        Evidence (path:line and the line):
        see the attached file"

    Good::
        # 01) stock
        oracle -f src/stock.py --write-output a.md -p "Which order loses stock?
        Evidence (path:line and the line):
        - src/stock.py:41  def reserve(article, count):"
    """
    quoting = sum(bool(one.lines) for one in subject.evidence)
    for evidence in subject.evidence:
        if evidence.lines:
            continue
        step = evidence.step
        if evidence.is_announced:
            message = f"step {step.id} announces evidence and quotes none"
        elif quoting * 2 > len(subject.evidence):
            message = f"step {step.id} quotes no evidence, as most of the others do"
        else:
            continue
        yield Problem(step.header.span, message, "quote lines as `- path:line  text`", step=step.id)
