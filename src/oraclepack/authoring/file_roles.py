"""What a tracked file is for, judged by its path and its first lines."""

import re
from enum import StrEnum

from oraclepack.system.path_jail import fault_of

MOST_READ = 262_144
"""Bytes. A longer source file is data or generated more often than written."""


class FileRole(StrEnum):
    """What a file is for."""

    PRODUCT = "product"
    """Code that users run."""
    SCHEMA = "schema"
    """A contract written down: SQL, protobuf, GraphQL, OpenAPI."""
    TEST = "test"
    EXAMPLE = "example"
    TOOLING = "tooling"
    """Code for those who work on the repository: scripts, benchmarks, build files."""
    CI = "ci"
    DOC = "doc"
    MANIFEST = "manifest"
    CONFIG = "config"
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
    "go": "Go",
    "rs": "Rust",
    "java": "Java",
    "rb": "Ruby",
    "c": "C",
    "h": "C",
    "cc": "C++",
    "cpp": "C++",
    "cxx": "C++",
    "hpp": "C++",
    "hh": "C++",
    "sh": "Shell",
    "bash": "Shell",
    # Known by name, not read: there is no grammar for them among our extras.
    "kt": "Kotlin",
    "scala": "Scala",
    "php": "PHP",
    "cs": "C#",
    "swift": "Swift",
    "dart": "Dart",
    "ex": "Elixir",
    "exs": "Elixir",
    "lua": "Lua",
    "vue": "Vue",
    "svelte": "Svelte",
}
_SCHEMAS = frozenset({"sql", "proto", "graphql", "gql", "prisma", "avsc", "thrift", "xsd"})
_CONFIGS = frozenset({"toml", "yaml", "yml", "json", "ini", "cfg", "conf", "properties", "xml"})
_DOCS = frozenset({"md", "rst", "txt", "adoc"})
_MANIFESTS = frozenset(
    {"pyproject.toml", "setup.py", "setup.cfg", "package.json", "go.mod", "Cargo.toml", "pom.xml"}
    | {"build.gradle", "build.gradle.kts", "Gemfile", "composer.json", "mix.exs", "pubspec.yaml"}
)
_LOCKS = frozenset(
    {"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lockb"}
    | {"poetry.lock", "uv.lock", "pdm.lock", "Pipfile.lock", "Cargo.lock", "composer.lock"}
    | {"Gemfile.lock", "go.sum", "mix.lock", "pubspec.lock", "flake.lock", "constraints.txt"}
)
_FOREIGN = frozenset(
    {"node_modules", "vendor", "vendored", "_vendor", "third_party", "dist", "build", "target"}
    | {"coverage", ".git", "site-packages", "__pycache__", ".venv", "venv", "bower_components"}
    | {".next", ".turbo", "generated", "__generated__", ".oraclepack", "__snapshots__", "golden"}
)
_GENERATED = re.compile(
    r"(?:\.min\.(?:js|css)|\.(?:pb|g|gen|generated)\.\w+|_pb2(?:_grpc)?\.pyi?|_generated\.\w+"
    r"|\.pb\.go|\.designer\.cs|\.snap|\.map|\.lock)$",
    re.IGNORECASE,
)
_GENERATED_MARK = re.compile(
    r"\A[^\n]{0,200}(?:\n[^\n]{0,200}){0,9}?"
    r"(?:@generated\b|(?i:code generated .{0,60}do not edit|auto-?generated (?:file|by|from)"
    r"|latest version of (?:the|this) file))"
)
_TEST = re.compile(
    r"^(?:dummy|fake|mock|stub|test)[_-]?servers?/"
    r"|(?:^|/)(?:tests?|specs?|__tests__|testdata|testing|fixtures|e2e|integration|__mocks__|mocks)/"
    r"|(?:^|/)(?:test_[^/]*|tests|conftest)\.py$|_test\.(?:go|py|rb|exs?|dart|c|cc|cpp)$|_spec\.rb$"
    r"|(?:^|/)test_?(?:server|utils?|helpers?|support)\.(?:rs|go|java|rb|c|cc|cpp|[jt]s)$"
    r"|(?:^|/)test_?(?:app|er|ing|s|suite|main|runner)?\.(?:rs|go|java|c|cc|cpp)$"
    r"|\.(?:test|spec|stories|test-d)\.[cm]?[jt]sx?$|(?:Test|Tests|Spec)\.(?:java|kt|scala|cs|php)$"
)
_SPEC = re.compile(r"(?:^|/)specs?/")
"""Tests of Ruby, or what a repository of documents specifies."""
_EXAMPLE = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|tutorials?|playground|docs_src|cookbook)/", re.IGNORECASE
)
_CI = re.compile(
    r"^\.(?:github|gitlab|circleci|buildkite|ci)/|^\.gitlab-ci\.yml$|(?:^|/)Jenkinsfile$"
    r"|^\.travis\.yml$|^azure-pipelines"
)
_TOOLING = re.compile(
    r"(?:^|/)(?:scripts?|tools?|tooling|hack|bench(?:marks?)?|contrib|extras|ci|dev)/"
    r"|(?:^|/)(?:setup|noxfile|tasks|conf|fabfile|dodo)\.py$"
    r"|(?:^|/)(?:Gruntfile|gulpfile|rollup\.config|webpack\.config|vite\.config|jest\.config"
    r"|babel\.config|eslint\.config|\.eslintrc|next\.config|postcss\.config|tailwind\.config)\.\w+$"
    r"|(?:^|/)(?:Makefile|justfile|Rakefile|Dockerfile|docker-compose\.ya?ml)$"
)
_DOC_FOLDER = re.compile(r"(?:^|/)docs?/")
_CONTRACT = re.compile(
    r"(?:openapi|swagger|asyncapi|[.-]schema)[^/]*\.(?:json|ya?ml)$", re.IGNORECASE
)
_ENTRY = re.compile(
    r"(?:^|/)(?:__main__|main|app|server|cli|manage|wsgi|asgi|program|application)\.\w+$",
    re.IGNORECASE,
)
_TEST_PART = re.compile(r"^test_|(?:_|-)?(?:tests?|spec)$")
_PACK = re.compile(r"oracle-(?:pack|answers|questions)", re.IGNORECASE)
_NOT_IN_PATHS = frozenset(',*?[]{}()!|"$`\\<>;&')
"""Oracle splits values at commas and expands patterns; bash interprets the other characters."""


def language_of(path: str) -> str | None:
    return LANGUAGES.get(_extension(path))


def role_of(path: str) -> FileRole:  # noqa: PLR0911 - a table of cases, the first one that fits
    """What a file is for. The first answer that fits counts."""
    *folders, name = path.split("/")
    extension = _extension(path)
    if not _FOREIGN.isdisjoint(folders) or name in _LOCKS or _GENERATED.search(name):
        return FileRole.OTHER
    if _CI.search(path):
        return FileRole.CI
    if name in _MANIFESTS:
        return FileRole.MANIFEST
    language = language_of(path)
    if _TEST.search(path) and (language or not (extension in _DOCS and _SPEC.search(path))):
        return FileRole.TEST if language else FileRole.OTHER
    if _EXAMPLE.search(path):
        return (
            FileRole.EXAMPLE if language else FileRole.DOC if extension in _DOCS else FileRole.OTHER
        )
    if extension in _SCHEMAS or _CONTRACT.search(name):
        return FileRole.SCHEMA
    if language:
        tooling = _TOOLING.search(path) or _DOC_FOLDER.search(path)
        return FileRole.TOOLING if tooling else FileRole.PRODUCT
    tables = ((_CONFIGS, FileRole.CONFIG), (_DOCS, FileRole.DOC))
    return next((role for table, role in tables if extension in table), FileRole.OTHER)


def is_generated(head: str) -> bool:
    """Whether the first lines say that a program wrote the file, or that it is a copy."""
    return _GENERATED_MARK.search(head) is not None


def is_entry(path: str) -> bool:
    """Whether a program begins in this file, by its name."""
    return _ENTRY.search(path) is not None


def is_attachable(path: str) -> bool:
    """Whether oracle reads the path as one literal file, and bash as one quoted word."""
    if fault_of(path) is not None or set(path) & _NOT_IN_PATHS or not path.isprintable():
        return False
    # A header value ends at the end of its line or at the next key, and loses the blanks around it.
    if " " in path and "=" in path:
        return False
    return not path.startswith(("-", "~", " ", "#")) and path == " ".join(path.split())


def is_own(path: str) -> bool:
    """Packs and their answers: questions about them are not useful."""
    return _PACK.search(path) is not None


def worth_reading(path: str, size: int) -> bool:
    """Whether the content may hold facts that the survey looks for."""
    return size <= MOST_READ and role_of(path) is not FileRole.OTHER and not is_own(path)


def stem_of(path: str) -> str:
    """The name without what marks tests and without extensions: `test_orders.py` → `orders`."""
    whole = path.rpartition("/")[2].lower()
    return _TEST_PART.sub("", whole.split(".")[0]) or whole


def _extension(path: str) -> str:
    name, dot, extension = path.rpartition("/")[2].rpartition(".")
    return extension.lower() if name and dot else ""
