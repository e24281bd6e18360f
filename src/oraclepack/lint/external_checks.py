"""External facts about a pack: bash, shellcheck, and the paths that the pack names."""

import functools
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from oraclepack.errors import nearest
from oraclepack.lint.finding import CheckStatus, Facts, PathFact, PathKind
from oraclepack.lint.quoted_evidence import evidence_of
from oraclepack.lint.rules.attachment_rules import looks_secret
from oraclepack.lint.script_checks import RunningChecks, check_syntax
from oraclepack.pack.missing_files import literal_attachments
from oraclepack.pack.model import Pack
from oraclepack.pack.pack_files import is_searched
from oraclepack.pack.tool_call import AttachmentKind
from oraclepack.system import files
from oraclepack.system.environment import environment
from oraclepack.system.git import Git, GitError
from oraclepack.system.path_jail import content_at, inside


def path_facts(pack: Pack, project_root: Path) -> dict[str, PathFact]:
    """The literal attachments and known outputs of a pack, as they are in the project."""
    root = os.path.realpath(project_root)
    # Most of them share a folder, and to find the true place of one takes a look at each part.
    folder = functools.cache(os.path.realpath)
    calls = (call for step in pack.steps for call in step.calls)
    attached = {
        one.value
        for call in calls
        for one in call.attachments
        if one.kind is AttachmentKind.LITERAL
    }
    outputs = {output.path.value for step in pack.steps for output in step.outputs}
    named = sorted(attached | {path for path in outputs if path})
    facts = {path: _fact(root, path, folder) for path in named}
    asked = literal_attachments(pack)
    missing = [path for path in asked if facts[path].kind is PathKind.MISSING]
    near = nearest_files(root, missing) if missing else {}
    return facts | {path: PathFact(PathKind.MISSING, nearest=near[path]) for path in near}


def quote_facts(pack: Pack, project_root: Path) -> dict[tuple[str, str, int], str | None]:
    """What is at the lines that prompts quote: at the commit they name, else in the work tree.

    What looks like a secret is not read: a finding would show it.
    """
    quoted = {quote.key for one in evidence_of(pack) for quote in one.lines}
    keys = sorted(key for key in quoted if not looks_secret(key[1]))
    if not keys:
        return {}
    files = sorted({(commit, path) for commit, path, _ in keys})
    texts = _committed(Git(project_root, environment()), files)
    texts |= {one: content_at(project_root, one[1]).data for one in files if one not in texts}
    facts: dict[tuple[str, str, int], str | None] = {}
    for commit, path, line in keys:
        content = texts[commit, path]
        lines = content.decode("utf-8", "replace").split("\n") if content is not None else []
        facts[commit, path, line] = lines[line - 1] if 0 < line <= len(lines) else None
    return facts


def _committed(git: Git, files: Sequence[tuple[str, str]]) -> dict[tuple[str, str], bytes | None]:
    """The files of commits that this clone has, by commit and path."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options")
    try:
        named = {commit for commit, _ in files if commit}
        known = {name for name in named if git.ask(*words, f"{name}^{{commit}}") is not None}
        there = [one for one in files if one[0] in known]
        contents = git.blobs([f"{commit}:./{path}" for commit, path in there])
        return dict(zip(there, contents, strict=True))
    except GitError:
        return {}


MOST_LOOKED_AT = 20_000
"""Files among which one that may be meant is looked for."""


def nearest_files(root: str, missing: Iterable[str]) -> dict[str, str]:
    """For missing files of a project, the files that may be meant, where there are some.

    That is the file of the same name with most folders in common, else a name like it in the
    folder.
    """
    paths = list(islice(_files_below(root), MOST_LOOKED_AT))
    near: dict[str, str] = {}
    for path in missing:
        parts = path.split("/")
        same = [one for one in paths if one.rpartition("/")[2] == parts[-1]]
        found = max(same, key=lambda one: len(set(parts) & set(one.split("/"))), default=None)
        beside = [one for one in paths if one.rpartition("/")[0] == path.rpartition("/")[0]]
        if found := found or nearest(path, beside):
            near[path] = found
    return near


def _files_below(root: str) -> Iterator[str]:
    for parent, folders, names in files.walk(root):
        folders[:] = sorted(name for name in folders if is_searched(name))
        place = os.path.relpath(parent, root)
        yield from sorted(os.path.normpath(os.path.join(place, name)) for name in names)


def _fact(root: str, path: str, folder: Callable[[str], str]) -> PathFact:
    try:
        place = _true_place(os.path.join(root, path), folder)  # Path would fold `a/..`
        if inside(root, place) is None:
            return PathFact(PathKind.OUTSIDE)
        status = os.stat(place)  # a string is what realpath gives
    except (OSError, ValueError):
        return PathFact(PathKind.MISSING)
    if stat.S_ISDIR(status.st_mode):
        return PathFact(PathKind.DIRECTORY)
    return PathFact(PathKind.FILE, status.st_size)


def _true_place(path: str, folder: Callable[[str], str]) -> str:
    """As `os.path.realpath`, with the folder looked up by `folder`."""
    above, _, name = path.rpartition("/")
    if name in {"", ".", ".."} or not above:
        return os.path.realpath(path)
    place = f"{folder(above).rstrip('/')}/{name}"
    return os.path.realpath(path) if os.path.islink(place) else place


def facts_for(pack: Pack, project_root: Path, *, started: RunningChecks | None = None) -> Facts:
    """Everything outside the text that the rules may know, asked for now."""
    working = started or RunningChecks(pack.block)
    syntax = check_syntax(pack, working.bash)
    paths = path_facts(pack, project_root)
    if syntax.status is CheckStatus.FAILED:
        verdict = working.shellcheck.drop("bash -n found errors; fix them first")
    else:
        verdict = working.shellcheck.result()
    return Facts(syntax, verdict, paths, quote_facts(pack, project_root))
