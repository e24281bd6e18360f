"""Every tracked file read once into a survey: its role, its facts, the imports, the history."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from math import log2
from posixpath import dirname

from oraclepack.authoring.file_roles import (
    FileRole,
    is_attachable,
    is_generated,
    is_own,
    language_of,
    role_of,
    stem_of,
)
from oraclepack.authoring.git_repository import Changes, GitRepository, StoredText, TrackedFile
from oraclepack.authoring.import_graph import ImportGraph
from oraclepack.authoring.repository_survey import (
    RepositorySurvey,
    SurveyedFile,
    is_fix,
    plain_word,
)
from oraclepack.authoring.source_facts import ParsedSource
from oraclepack.authoring.source_reader import can_read, read_source

MOST_PARSED = 10_000_000
"""Characters of source that are parsed in one command."""
_IMPORT = re.compile(
    r"^[ \t]*(?:import|from|use|using|require|require_relative|include|#[ \t]*include|export"
    r"|(?:const|let|var)[^=\n]{1,80}=[ \t]*require)\b[^\n]{1,200}",
    re.MULTILINE,
)
_WORD = re.compile(r"\w{3,}")


def files_to_parse(
    texts: Mapping[str, StoredText],
    commits_of: Mapping[str, int],
    is_asked_for: Callable[[str, str], bool],
    budget: int = MOST_PARSED,
) -> Collection[str]:
    """The paths of `texts` to parse: all where the budget allows it.

    `is_asked_for` says of a path and its text whether the user wants to know about it.
    """
    if sum(text.length for text in texts.values()) <= budget:
        return texts.keys()
    mentions: Counter[str] = Counter()
    for text in texts.values():
        lines = (match[0] for match in _IMPORT.finditer(text.read()))
        mentions.update({word for line in lines for word in _WORD.findall(line)})
    # A name that many files have is shared by all of them.
    carriers = Counter(stem_of(path) for path in texts)

    def worth(path: str) -> tuple[bool, float, str]:
        stem = stem_of(path)
        imports = mentions[stem] / carriers[stem]
        score = log2(1 + imports) + 2 * log2(1 + commits_of.get(path, 0))
        return not is_asked_for(path, texts[path].read()), -round(score, 6), path

    chosen: set[str] = set()
    left = budget
    for path in sorted(texts, key=worth):
        if texts[path].length <= left:
            chosen.add(path)
            left -= texts[path].length
    return chosen


_GO_TESTING = re.compile(r"^(?:import\s+|\t)\"testing\"\s*$", re.MULTILINE)
_NAMES = {
    "pyproject.toml": re.compile(r"^\s*name\s*=\s*[\"']([^\"'\n]+)", re.MULTILINE),
    "Cargo.toml": re.compile(r"^\s*name\s*=\s*\"([^\"\n]+)", re.MULTILINE),
    "package.json": re.compile(r"\"name\"\s*:\s*\"([^\"\n]+)\""),
    "composer.json": re.compile(r"\"name\"\s*:\s*\"([^\"\n]+)\""),
    "go.mod": re.compile(r"^module\s+(\S+)", re.MULTILINE),
    "setup.py": re.compile(r"\bname\s*=\s*[\"']([^\"'\n]+)"),
}
_TITLE = re.compile(r"^#\s+(.+)$", re.MULTILINE)
_LICENCE = re.compile(
    r"(?i:redistribution and use in source and|permission is hereby granted,? free"
    r"|permission to use, copy, modify|distributed under the [^\n]{0,40}licen[cs]e\b"
    r"|dual.licensed under)"
)
_BUILT = re.compile(r"^((?:.*/)?)(?:lib|out|esm|cjs|es)/(.*)\.[cm]?js$")
"""JavaScript that was made of TypeScript in `src`."""
_HEAD = 2500
"""Characters in which a file says where it comes from."""
_MANY_LICENSED = 8
_MOST_SCRIPTS = 3
"""Below one script in this many files of code, scripts serve those who work on the repository."""
_PROGRAMS = frozenset({"bin", "sbin", "src", "lib", "libexec", "shell", "app", "cmd"})
_SUBJECT_ROLES = (FileRole.PRODUCT, FileRole.TOOLING, FileRole.EXAMPLE)
"""What the questions are about: the first of these that a repository has."""


def survey_repository(
    repository: GitRepository,
    *,
    limit: int,
    is_secret: Callable[[str], bool],
    exclude: Callable[[str], bool] = lambda _: False,
    changes: Changes | None = None,
    is_asked_for: Callable[[str, str], bool] = lambda _path, _text: False,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> RepositorySurvey:
    """Read every tracked file once.

    `limit` is the size of the largest file that may be attached, `is_secret` says which names
    look as if a secret were inside, `exclude` which paths the user left out, `is_asked_for` which
    files (path, text) are parsed first where there are too many.
    """
    usable = [
        file
        for file in repository.files
        if _is_usable(file, limit) and not is_secret(file.path) and not exclude(file.path)
    ]
    copies = _copies(usable)
    usable = [file for file in usable if file.path not in copies]
    roles = _with_scripts_apart({file.path: _role(file) for file in usable})
    subject_role = _subject_role(roles)
    churn = Counter(path for commit in repository.commits for path in set(commit.paths))
    contents = {file.path: file.content or StoredText("") for file in usable}
    parsed_roles = {*_SUBJECT_ROLES, FileRole.TEST}
    code = {
        path: contents[path]
        for path, role in roles.items()
        if role in parsed_roles and language_of(path) is not None
    }
    changed = changes.files if changes is not None else {}
    wanted = files_to_parse(
        code, churn, lambda path, text: path in changed or is_asked_for(path, text)
    )
    sources: dict[str, ParsedSource] = {}
    tests: dict[str, ParsedSource] = {}
    unread: Counter[str] = Counter()
    for number, path in enumerate(code):
        progress(number, len(code))
        if path not in wanted:
            continue
        text = code[path].read()
        source = read_source(path, text)
        if source is None:
            unread[language_of(path) or ""] += roles[path] is FileRole.PRODUCT
        elif roles[path] is FileRole.TEST:
            tests[path] = source
        else:
            contents[path] = StoredText(text)  # questions read its lines again and again
            sources[path] = source
    texts = {
        f.path: f.text or "" for f in usable if roles[f.path] in {FileRole.MANIFEST, FileRole.DOC}
    }
    graph = ImportGraph(sources, tests, _go_modules(texts))
    fixes = Counter(
        path for commit in repository.commits if is_fix(commit) for path in set(commit.paths)
    )
    files = {
        file.path: SurveyedFile(
            path=file.path,
            role=roles[file.path],
            language=language_of(file.path),
            size=file.size,
            content=contents[file.path],
            source=sources.get(file.path),
            is_subject=roles[file.path] is subject_role and file.path in sources,
            churn=churn[file.path],
            fixes=fixes[file.path],
        )
        for file in usable
    }
    subjects = [path for path, file in files.items() if file.is_subject]
    return RepositorySurvey(
        name=_project_name(texts),
        tracked=len(repository.files),
        files=files,
        graph=graph,
        ranks=graph.ranks(subjects),
        unread={
            language: count
            for language, count in sorted(unread.items())
            if count and not can_read(language)
        },
        commits=repository.commits,
        changes=changes,
        left_out=_left_out(repository.files),
        unparsed=len(code) - len(wanted),
    )


def _role(file: TrackedFile) -> FileRole:
    """By the path; Go code that imports `testing` is for tests whatever its name is."""
    role = role_of(file.path)
    is_go = role is FileRole.PRODUCT and file.path.endswith(".go")
    return FileRole.TEST if is_go and _GO_TESTING.search(file.text or "") else role


def _copies(files: Collection[TrackedFile]) -> set[str]:
    """Source files that come from elsewhere: built ones, and a few with a licence of their own.

    Where many files carry one it is the project's own habit.
    """
    code = [file for file in files if language_of(file.path) is not None]
    paths = {file.path for file in code}
    built = {path for path in paths if _BUILT.sub(r"\1src/\2.ts", path) in paths - {path}}
    licensed = {file.path for file in code if _LICENCE.search(_head_of(file))}
    return built | (licensed if len(licensed) * _MANY_LICENSED <= len(code) else set())


def _head_of(file: TrackedFile) -> str:
    return file.content.head(_HEAD) if file.content is not None else ""


def _with_scripts_apart(roles: Mapping[str, FileRole]) -> dict[str, FileRole]:
    """The roles, with shell scripts as tooling where most code is in other languages.

    In the folders of programs and sources they are what users run.
    """
    code = [path for path, role in roles.items() if role is FileRole.PRODUCT and language_of(path)]
    scripts = {path for path in code if language_of(path) == "Shell"}
    if len(scripts) * _MOST_SCRIPTS >= len(code):
        return dict(roles)
    aside = {path for path in scripts if _PROGRAMS.isdisjoint(path.split("/")[:-1])}
    return {path: FileRole.TOOLING if path in aside else role for path, role in roles.items()}


def _is_usable(file: TrackedFile, limit: int) -> bool:
    if file.content is None or not 0 < file.size <= limit:
        return False
    if is_generated(file.content.head(_HEAD)):
        return False
    return (
        role_of(file.path) is not FileRole.OTHER
        and is_attachable(file.path)
        and not is_own(file.path)
    )


def _left_out(files: Collection[TrackedFile]) -> dict[str, int]:
    folders = Counter(
        f"{dirname(file.path).split('/')[0]}/"
        for file in files
        if "/" in file.path and language_of(file.path) and role_of(file.path) is FileRole.OTHER
    )
    return dict(sorted(folders.items()))


def _subject_role(roles: Mapping[str, FileRole]) -> FileRole:
    present = {*roles.values()}
    return next((role for role in _SUBJECT_ROLES if role in present), FileRole.DOC)


def _project_name(texts: Mapping[str, str]) -> str:
    """What the project calls itself: never the folder of the clone, whose name is arbitrary."""
    for manifest, pattern in _NAMES.items():
        match = pattern.search(texts.get(manifest, ""))
        if match is not None:
            return plain_word(match[1].rpartition("/")[2]) or "this repository"
    readme = next((path for path in sorted(texts) if path.lower() == "readme.md"), "")
    title = _TITLE.search(texts.get(readme, ""))
    words = [plain_word(word) for word in title[1].split()[:6]] if title else []
    return " ".join(filter(None, words)) or "this repository"


def _go_modules(texts: Mapping[str, str]) -> dict[str, str]:
    """The module path of each folder with a `go.mod`."""
    modules = {}
    for path, text in texts.items():
        match = _NAMES["go.mod"].search(text) if path.rpartition("/")[2] == "go.mod" else None
        if match is not None:
            modules[dirname(path)] = match[1]
    return modules
