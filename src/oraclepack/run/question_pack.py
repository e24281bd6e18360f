"""Questions of oraclepack itself as a pack.

What a prompt quotes, such as an answer, stands in a here-document and nowhere else in the pack.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

import msgspec

from oraclepack.errors import InputError
from oraclepack.system import files
from oraclepack.system.digests import sha256_text
from oraclepack.system.printable import one_line
from oraclepack.tools.oracle_attachments import names_one_file

LONGEST_PROMPT = 120_000
"""Bytes: Linux takes 131,072 for one argument of a program."""


class ModelQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One question: what the screen calls it, its prompt, the files that go with it."""

    title: str
    prompt: str
    files: tuple[str, ...] = ()
    """Paths relative to the project root, one file each."""


def question_pack(questions: Sequence[ModelQuestion], command: str, model: str, folder: str) -> str:
    """The text of the pack.

    The delimiter of the here-documents is made of what they hold, so nobody who wrote a part of
    that could know it; the fence is longer than any in a prompt.
    """
    prompts = [
        one.prompt.replace("\r\n", "\n").replace("\r", "\n").strip("\n") for one in questions
    ]
    end = f"PROMPT_{sha256_text(chr(0).join(prompts))[:24]}"
    steps: list[str] = []
    outputs = reply_paths(folder, len(questions))
    for number, (one, prompt, output) in enumerate(
        zip(questions, prompts, outputs, strict=True), 1
    ):
        _refuse_unusable(one, prompt, end)
        attached = "".join(f" --file {quote(path)}" for path in one.files)
        flags = f" --model {quote(model)}" if model else ""
        steps.append(
            f"# {number:02}) {_title(one.title)}\n"
            "# oraclepack: contract=none\n"
            f"mkdir -p -- {quote(folder or '.')}\n"
            f"IFS= read -r -d '' PROMPT <<'{end}' || true\n{prompt}\n{end}\n"
            f'oracle --prompt "$PROMPT"{attached}{flags} --write-output {quote(output)}'
        )
    return fenced_pack("# Questions of oraclepack", command, "\n\n".join(steps))


def fenced_pack(title: str, command: str, body: str) -> str:
    """A pack with this bash in a fence that nothing in it can close."""
    longest = max((len(ticks) for ticks in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{title}\n\nMade by `oraclepack {command}`.\n\n{fence}bash\n{body}\n{fence}\n"


def write_pack(root: Path, path: str, text: str) -> Path:
    """Write a pack of ours into the project, where it is not there already."""
    pack = root / path
    files.make_private(pack.parent)
    if files.read(pack) != text.encode():
        files.write_atomic(pack, text.encode(), mode=files.PRIVATE_FILE)
    return pack


def reply_paths(folder: str, count: int) -> Iterator[str]:
    return (f"{folder}/{number:02}.md" for number in range(1, count + 1))


def _title(title: str) -> str:
    """A comment of bash: nothing of it runs, and it has no attributes of a header."""
    return one_line(title).replace("`", "'").replace("=", " ")[:80].strip()


def _refuse_unusable(question: ModelQuestion, prompt: str, end: str) -> None:
    if end in prompt.split("\n") or "\0" in prompt:
        raise InputError(f"{question.title}: the prompt holds what would end it in the pack")
    if len(prompt.encode()) > LONGEST_PROMPT:
        raise InputError(
            f"{question.title}: the prompt is longer than {LONGEST_PROMPT} bytes",
            hint="attach long texts as files",
        )
    for path in question.files:
        if not names_one_file(path):
            raise InputError(f"{path}: oracle would read this name as a list or a pattern")
