"""What a tracked file is, judged by its path alone."""

import re
from enum import StrEnum
from pathlib import PurePosixPath

from oraclepack.system.path_jail import fault_of

MOST_READ = 262_144
"""Bytes. A longer source file is data or generated more often than written."""


class FileKind(StrEnum):
    """What a file is for."""

    CODE = "code"
    TEST = "test"
    SCREEN = "screen"
    """Markup that people see: templates, components without a language of their own."""
    SCHEMA = "schema"
    """A contract written down: SQL, protobuf, GraphQL, OpenAPI."""
    WORKFLOW = "workflow"
    """What a CI service, a scheduler or a container runs."""
    MANIFEST = "manifest"
    CONFIG = "config"
    DOC = "doc"
    OTHER = "other"
    """Lock files, generated, vendored and binary files: never attached."""


LANGUAGES = {
    "py": "Python",
    "pyi": "Python",
    "js": "JavaScript",
    "jsx": "JavaScript",
    "mjs": "JavaScript",
    "cjs": "JavaScript",
    "ts": "TypeScript",
    "tsx": "TypeScript",
    "mts": "TypeScript",
    "cts": "TypeScript",
    "vue": "Vue",
    "svelte": "Svelte",
    "go": "Go",
    "rs": "Rust",
    "java": "Java",
    "kt": "Kotlin",
    "scala": "Scala",
    "rb": "Ruby",
    "php": "PHP",
    "cs": "C#",
    "c": "C",
    "h": "C",
    "cc": "C++",
    "cpp": "C++",
    "hpp": "C++",
    "swift": "Swift",
    "dart": "Dart",
    "ex": "Elixir",
    "exs": "Elixir",
    "lua": "Lua",
    "sh": "Shell",
    "bash": "Shell",
}
_SCREENS = frozenset({"html", "htm", "jinja", "j2", "erb", "ejs", "hbs", "twig", "mustache", "pug"})
_SCHEMAS = frozenset({"sql", "proto", "graphql", "gql", "prisma", "avsc", "thrift", "xsd"})
_CONFIGS = frozenset({"toml", "yaml", "yml", "json", "ini", "cfg", "conf", "properties", "xml"})
_DOCS = frozenset({"md", "rst", "txt", "adoc"})

MANIFESTS = frozenset(
    {"pyproject.toml", "setup.py", "setup.cfg", "package.json", "go.mod", "Cargo.toml", "pom.xml"}
    | {"build.gradle", "build.gradle.kts", "Gemfile", "composer.json", "mix.exs", "pubspec.yaml"}
)
_LOCKS = frozenset(
    {"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lockb"}
    | {"poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "Cargo.lock", "composer.lock"}
    | {"Gemfile.lock", "go.sum", "mix.lock", "pubspec.lock", "flake.lock", "constraints.txt"}
)
_FOREIGN = frozenset(
    {"node_modules", "vendor", "third_party", "dist", "build", "target", "coverage", ".git"}
    | {"site-packages", "__pycache__", ".venv", "venv", "bower_components", ".next", ".turbo"}
    | {"generated", "__generated__", ".oraclepack", "__snapshots__", "golden"}
)
_GENERATED = re.compile(
    r"(?:\.min\.(?:js|css)|\.(?:pb|g|gen|generated)\.\w+|_pb2(?:_grpc)?\.pyi?|_generated\.\w+"
    r"|\.pb\.go|\.designer\.cs|\.snap|\.map|\.lock)$",
    re.IGNORECASE,
)
GENERATED_MARK = re.compile(
    r"\A[^\n]{0,200}(?:\n[^\n]{0,200}){0,9}?"
    r"(?:@generated\b|(?i:code generated .{0,60}do not edit|auto-?generated (?:file|by|from)))"
)
"""What generators write into the first lines of their files."""
_TEST = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testdata|fixtures|e2e)/"
    r"|(?:^|/)(?:test_[^/]*|conftest)\.py$|_test\.(?:go|py|rb|exs?|dart)$|_spec\.rb$"
    r"|\.(?:test|spec|stories)\.[cm]?[jt]sx?$|(?:Test|Tests|Spec)\.(?:java|kt|scala|cs|php|swift)$"
)
_WORKFLOW = re.compile(
    r"^\.github/workflows/[^/]+\.ya?ml$|^\.gitlab-ci\.yml$|^\.circleci/config\.yml$"
    r"|(?:^|/)(?:Dockerfile|Procfile|crontab|Jenkinsfile|docker-compose\.ya?ml|Makefile|justfile)$"
)
_CONTRACT = re.compile(
    r"(?:openapi|swagger|asyncapi|[.-]schema)[^/]*\.(?:json|ya?ml)$", re.IGNORECASE
)
_PACK = re.compile(r"oracle-(?:pack|answers|questions)", re.IGNORECASE)
_UNSPEAKABLE = frozenset(',*?[]{}()!|"$`\\<>;&')
"""Oracle cuts values at commas and reads the next ones as patterns; the rest is bash's."""


def language_of(path: str) -> str | None:
    return LANGUAGES.get(_extension(path))


def kind_of(path: str) -> FileKind:  # noqa: PLR0911 - a table of cases, the first one that fits
    """What a file is for. The first answer that fits counts."""
    place = PurePosixPath(path)
    extension = _extension(path)
    if _FOREIGN & set(place.parts[:-1]) or place.name in _LOCKS or _GENERATED.search(place.name):
        return FileKind.OTHER
    if _WORKFLOW.search(path):
        return FileKind.WORKFLOW
    if place.name in MANIFESTS:
        return FileKind.MANIFEST
    if _TEST.search(path):
        return FileKind.TEST if language_of(path) else FileKind.OTHER
    if extension in _SCHEMAS or _CONTRACT.search(place.name):
        return FileKind.SCHEMA
    if language_of(path):
        return FileKind.CODE
    tables = ((_SCREENS, FileKind.SCREEN), (_CONFIGS, FileKind.CONFIG), (_DOCS, FileKind.DOC))
    return next((kind for table, kind in tables if extension in table), FileKind.OTHER)


def is_speakable(path: str) -> bool:
    """A path that oracle takes as one literal file and bash as one quoted word."""
    if fault_of(path) is not None or set(path) & _UNSPEAKABLE or not path.isprintable():
        return False
    # A header value ends at the end of its line or at the next key, and loses the blanks around it.
    if " " in path and "=" in path:
        return False
    return not path.startswith(("-", "~", " ", "#")) and path == " ".join(path.split())


def is_own(path: str) -> bool:
    """Packs and their answers: a pack about packs helps nobody."""
    return _PACK.search(path) is not None


def worth_reading(path: str, size: int) -> bool:
    """The content may tell something that the survey looks for."""
    return size <= MOST_READ and kind_of(path) is not FileKind.OTHER and not is_own(path)


def stem_of(path: str) -> str:
    """The name without what marks tests and without extensions: `test_orders.py` → `orders`."""
    name = PurePosixPath(path).name.split(".")[0].lower()
    name = re.sub(r"^test_|(?:_|-)?(?:tests?|spec)$", "", name)
    return name or PurePosixPath(path).name.lower()


def _extension(path: str) -> str:
    return PurePosixPath(path).suffix.removeprefix(".").lower()
