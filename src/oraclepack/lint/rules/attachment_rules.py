"""OP4xx: what is attached to a question."""

from collections.abc import Iterator, Mapping

from oraclepack.lint.finding import PathKind, Severity
from oraclepack.lint.rule import Problem, Subject, rule
from oraclepack.lint.wrapped_calls import losses
from oraclepack.pack.missing_files import missing_files, stays_put
from oraclepack.pack.model import Pack
from oraclepack.pack.script import Span
from oraclepack.pack.tool_call import Attachment, AttachmentKind, ToolCall
from oraclepack.system.path_jail import inside
from oraclepack.tools.argv import Loss, LostValue

_NAMES = frozenset(
    {
        *(".env", ".envrc", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".npmrc"),
        *(".pypirc", ".pgpass", ".htpasswd", ".git-credentials", "kubeconfig"),
    }
)
_ENDINGS = (
    *(".env", ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ovpn"),
    ".tfstate",
)
_SECRET_PARTS = ("credential", "secret", "password")
"""Words that also occur in the names of harmless source files and documents."""
_SECRET_PREFIXES = ("service-account", "service_account")
_DATA = frozenset(
    {"", "cfg", "conf", "csv", "env", "ini", "json", "properties", "toml", "txt", "xml", "yaml"}
    | {"yml"}
)
_FOLDERS = frozenset({".ssh", ".aws", ".gnupg", ".azure", ".kube"})
_HARMLESS = ("example", "sample", "template", "dummy", "schema", ".dist", ".pub", "defaults")


def looks_secret(path: str) -> bool:
    """A path, or a pattern for paths, that seems to name a secret."""
    *folders, name = path.lower().rstrip("/").split("/")
    if any(word in name for word in _HARMLESS):
        return False
    if _FOLDERS & set(folders):
        return True
    # `.env*` stands for `.env` too.
    plain = name.rstrip("*")
    if (
        {name, plain} & _NAMES
        or name.startswith(".env.")
        or name.endswith(_ENDINGS)
        or plain.endswith(_ENDINGS)
    ):
        return True
    stem, dot, extension = plain.rpartition(".")
    is_named_so = plain.startswith(_SECRET_PREFIXES) or any(word in plain for word in _SECRET_PARTS)
    return is_named_so and (extension if dot and stem else "") in _DATA


MOST_FILES = 3
"""The reference and two neighbours."""
LARGEST = 1_048_576
"""What oracle accepts for one file by default."""
_LIMIT_FLAG = "--max-file-size-bytes"


@rule("OP401", Severity.WARNING, Severity.ERROR)
def too_many_attachments(subject: Subject) -> Iterator[Problem]:
    """A question has at most three files: its reference and two neighbours.

    Why: each file more dilutes the question and adds to the bill.
    Fix: keep the files that the answer must cite.

    Bad::
        # 01) four files
        oracle -p "Why?" -f a.py -f b.py -f c.py -f d.py --write-output a.md

    Good::
        # 01) three files
        oracle -p "Why?" -f a.py -f b.py -f c.py --write-output a.md
    """
    for call in _calls(subject.pack):
        first = {each.value: each.span for each in reversed([*_literal(call)])}
        spans = sorted(first.values())
        if len(spans) > MOST_FILES:
            message = f"{len(spans)} files are attached, at most {MOST_FILES} should be"
            yield Problem(spans[MOST_FILES], message, "keep the reference and two neighbours")


@rule("OP402", Severity.WARNING, Severity.ERROR)
def broad_glob(subject: Subject) -> Iterator[Problem]:
    """A pattern stands for a few files, not for a tree.

    Why: what `**` will match tomorrow is unknown, and the model reads all of it.
    Fix: name the files, or a pattern within one directory.

    Bad::
        # 01) a whole tree
        oracle -p "Why?" -f "src/**/*.py" --write-output a.md

    Good::
        # 01) one directory
        oracle -p "Why?" -f "src/shop/*_rules.py" --write-output a.md
    """
    for call in _calls(subject.pack):
        for attachment in call.attachments:
            reason = _breadth(attachment, subject)
            if reason:
                message = f"{attachment.value} is {reason}"
                yield Problem(attachment.span, message, "name the files that the question is about")


def _breadth(attachment: Attachment, subject: Subject) -> str | None:
    names = [name for name in attachment.value.split("/") if name not in {"", "."}]
    if attachment.kind is AttachmentKind.GLOB:
        if any("**" in name for name in names):
            return "a pattern for a whole tree"
        if names and names[-1] in {"*", "*.*"} and len(names) <= 2:
            return "a pattern for everything there"
    if attachment.kind is AttachmentKind.LITERAL and len(names) <= 1:
        fact = subject.facts.paths.get(attachment.value)
        if not names or (fact is not None and fact.kind is PathKind.DIRECTORY):
            return "a whole directory"
    return None


@rule("OP403", Severity.ERROR)
def attachment_missing(subject: Subject) -> Iterator[Problem]:
    """An attached file exists, or an earlier command of the pack makes it.

    Why: oracle would refuse the call, so `run` does not begin a step that is sure to miss a file.
    Fix: correct the path; paths are relative to the project root. Steps that change directory,
    calls under a condition and files that a program may make are left alone.

    Bad::
        # 01) a mistyped path
        oracle -p "Why?" -f src/missing.py --write-output a.md

    Good::
        # 01) created by the step
        git diff > changes.patch
        oracle -p "Why?" -f changes.patch --write-output a.md
    """
    facts = subject.facts.paths
    missing = {path for path, fact in facts.items() if fact.kind is PathKind.MISSING}
    every_step = [step.id for step in subject.pack.steps]
    for one in missing_files(subject.pack, missing, running=every_step, settled=()):
        near = facts[one.path].nearest
        hint = "correct the path; it is relative to the project root"
        message = f"{one.path} does not exist, and nothing before it creates it"
        yield Problem(one.span, message, f"did you mean {near}?" if near else hint, step=one.step)


@rule("OP404", Severity.WARNING, Severity.ERROR)
def secret_attachment(subject: Subject) -> Iterator[Problem]:
    """No attached file looks as if it held a secret.

    Why: an attachment is sent to a model provider and may be kept there.
    Fix: attach an example file such as `.env.example`, or remove the attachment.

    Bad::
        # 01) a secret
        oracle -p "Why?" -f .env --write-output a.md

    Good::
        # 01) an example file
        oracle -p "Why?" -f .env.example --write-output a.md
    """
    for call in _calls(subject.pack):
        for attachment in call.attachments:
            is_written_out = attachment.kind in {AttachmentKind.LITERAL, AttachmentKind.GLOB}
            if is_written_out and looks_secret(attachment.value):
                message = f"{attachment.value} looks like a secret and would be sent away"
                hint = "attach an example file instead, or remove it"
                yield Problem(attachment.span, message, hint)


@rule("OP405", Severity.WARNING, Severity.ERROR)
def lost_attachment(subject: Subject) -> Iterator[Problem]:
    """Every file that is meant to be attached is given in a way that oracle takes.

    Why: oracle cuts `--file` values at commas, so that brace patterns and names with commas
    arrive in pieces; `--file=a b` loses b; and `-f a.py "Why?"` takes the question for a file.
    Fix: give each file its own `-f`, and the question by `-p`.

    Bad::
        # 01) cut in pieces
        oracle -p "Why?" -f "src/*.{ts,tsx}" --write-output a.md

    Good::
        # 01) one by one
        oracle -p "Why?" -f "src/*.ts" -f "src/*.tsx" --write-output a.md
    """
    for call in _calls(subject.pack):
        pieces: dict[Span, list[str]] = {}
        for attachment in call.attachments:
            pieces.setdefault(attachment.span, []).append(attachment.value)
        for loss in losses(call):
            problem = _lost_problem(loss, call, pieces, subject)
            if problem is not None:
                yield problem


def _lost_problem(
    loss: LostValue, call: ToolCall, pieces: Mapping[Span, list[str]], subject: Subject
) -> Problem | None:
    word = call.argv[loss.at]
    match loss.loss:
        case Loss.LIST_SPLIT:
            return _split_problem(word.span, pieces.get(word.span, []), subject)
        case Loss.BRACES_SPLIT:
            message = f"oracle cuts {word.display_text} at the comma, through the braces"
            return Problem(word.span, message, "give each pattern its own -f")
        case Loss.IGNORED_OPERAND:
            message = f"oracle ignores {word.display_text}: the question is already given by a flag"
            return Problem(word.span, message, "if it is a file, put -f before it")
        case _:
            message = "oracle takes this word for one more file, so there is no question"
            return Problem(word.span, message, "give the question by -p")


def _split_problem(span: Span, pieces: list[str], subject: Subject) -> Problem | None:
    """Not worth a word when each piece is a file: then a list was meant."""
    facts = [subject.facts.paths.get(piece) for piece in pieces]
    if facts and all(fact is not None and fact.kind is PathKind.FILE for fact in facts):
        return None
    listed = " and ".join(pieces)
    message = f"oracle cuts this value at the comma into {listed}"
    hint = "give each file its own -f; a name with a comma cannot be attached"
    return Problem(span, message, hint)


@rule("OP406", Severity.WARNING, Severity.ERROR)
def too_big_attachment(subject: Subject) -> Iterator[Problem]:
    """An attached file is at most 1 MB.

    Why: oracle refuses the whole call otherwise.
    Fix: attach the part that matters, or raise the limit with `--max-file-size-bytes`.

    Bad::
        # 01) above the limit
        oracle -p "Why?" -f data/large.log --write-output a.md

    Good::
        # 01) with a higher limit
        oracle -p "Why?" -f data/large.log --max-file-size-bytes 9000000 --write-output a.md
    """
    for call in _calls_at_root(subject.pack):
        if call.has(_LIMIT_FLAG):
            continue
        for attachment in _literal(call):
            fact = subject.facts.paths.get(attachment.value)
            if fact is not None and fact.kind is PathKind.FILE and fact.size > LARGEST:
                message = f"{attachment.value} has {fact.size:,} bytes, oracle takes {LARGEST:,}"
                yield Problem(attachment.span, message, f"attach less, or pass {_LIMIT_FLAG}")


@rule("OP407", Severity.WARNING, Severity.ERROR)
def attachment_outside(subject: Subject) -> Iterator[Problem]:
    """An attached file lies in the project.

    Why: on another machine the path leads nowhere, or to something else.
    Fix: copy what is needed into the project.

    Bad::
        # 01) outside the project
        oracle -p "Why?" -f ../other/secret.py --write-output a.md

    Good::
        # 01) inside the project
        oracle -p "Why?" -f src/other.py --write-output a.md
    """
    for call in _calls_at_root(subject.pack):
        for attachment in _literal(call):
            fact = subject.facts.paths.get(attachment.value)
            climbs = not attachment.value.startswith("/") and inside("/p", attachment.value) is None
            if climbs or (fact is not None and fact.kind is PathKind.OUTSIDE):
                message = f"{attachment.value} lies outside the project"
                yield Problem(attachment.span, message, "copy what is needed into the project")


def _calls(pack: Pack) -> Iterator[ToolCall]:
    return (call for step in pack.steps for call in step.oracle_calls)


def _calls_at_root(pack: Pack) -> Iterator[ToolCall]:
    """The calls of the steps whose paths are relative to the project root."""
    return (call for step in pack.steps if stays_put(pack, step) for call in step.oracle_calls)


def _literal(call: ToolCall) -> Iterator[Attachment]:
    return (each for each in call.attachments if each.kind is AttachmentKind.LITERAL)
