"""What the one reader finds in each language."""

import textwrap

import pytest

from oraclepack.authoring.source_facts import MarkKind, ParsedSource
from oraclepack.authoring.source_reader import GRAMMARS, can_read, read_source

LANGUAGES = {
    "a.py": "def send(id, retries):\n    # fetch(x)\n    if retries:\n        fetch(url)\n",
    "a.js": "function send(id, retries) {\n  // fetch(x)\n  if (retries)\n    fetch(url);\n}\n",
    "a.ts": (
        "const send = (id: string, retries: number) => {\n"
        "  // fetch(x)\n  if (retries)\n    fetch(url);\n}\n"
    ),
    "a.tsx": "function send(id, retries) {\n  // fetch(x)\n  if (retries)\n    fetch(url);\n}\n",
    "a.go": (
        "package p; func send(id, retries int) {\n// fetch(x)\nif retries > 0 {\nfetch(url)\n}}\n"
    ),
    "a.rs": "fn send(id: u8, retries: u8) {\n// fetch(x)\nif retries > 0 {\nfetch(url); }\n}\n",
    "A.java": (
        "class A { void send(String id, int retries) {\n"
        "// fetch(x)\nif (retries > 0)\nfetch(url);\n}}\n"
    ),
    "a.c": "void send(int id, int retries) {\n  /* fetch(x) */\n  if (retries)\n  fetch(url);\n}\n",
    "a.cpp": "void A::send(int id, int retries) {\n  // fetch(x)\n if (retries)\n fetch(url);\n}\n",
    "a.rb": "def send(id, retries)\n  # fetch(x)\n  if retries\n    fetch(url)\n  end\nend\n",
    "a.sh": "send() {\n  # fetch x\n  if test $2; then\n  fetch url\n  fi\n}\n",
}


def read(path: str, text: str) -> ParsedSource:
    source = read_source(path, textwrap.dedent(text))
    assert source is not None
    return source


@pytest.mark.parametrize("path", LANGUAGES)
def test_functions_parameters_calls_decisions_and_comments(path: str) -> None:
    source = read(path, LANGUAGES[path])

    send = next(d for d in source.definitions if d.name == "send")
    (call,) = [m for m in source.of(MarkKind.CALL) if m.name == "fetch"]
    (branch,) = source.of(MarkKind.BRANCH)
    assert (source.owner_of(call), call.line) == (send, 4)
    assert (branch.line, send.branches, send.line) == (3, 1, 1)
    assert source.prose == {2}
    if path != "a.sh":
        assert send.parameters == ("id", "retries")
        assert branch.detail == "retries"


def test_every_grammar_has_a_sample() -> None:
    read_by = {read(path, text).language for path, text in LANGUAGES.items()}

    assert read_by | {"TSX"} == {*GRAMMARS}
    assert not can_read("Kotlin")
    assert read_source("a.kt", "fun main() {}\n") is None


@pytest.mark.parametrize(
    ("path", "text", "public"),
    [
        pytest.param("a.py", "def a(): ...\ndef _b(): ...\n", {"a"}, id="Python"),
        pytest.param(
            "a.js",
            "function a() {}\nfunction b() {}\nexport function c() {}\nmodule.exports = { a };\n",
            {"a", "c"},
            id="JavaScript",
        ),
        pytest.param(
            "a.ts",
            "export class A {\n  run() {}\n  private hide() {}\n}\nfunction b() {}\n",
            {"A", "run"},
            id="TypeScript",
        ),
        pytest.param("a.go", "package p\nfunc A() {}\nfunc b() {}\n", {"A"}, id="Go"),
        pytest.param("a.rs", "pub fn a() {}\nfn b() {}\n", {"a"}, id="Rust"),
        pytest.param(
            "A.java", "class A { void a() {}\nprivate void b() {} }\n", {"A", "a"}, id="Java"
        ),
        pytest.param("a.c", "int a(void) {}\nstatic int b(void) {}\n", {"a"}, id="C"),
    ],
)
def test_what_others_may_call(path: str, text: str, public: set[str]) -> None:
    assert {d.name for d in read(path, text).definitions if d.is_public} == public


@pytest.mark.parametrize(
    ("path", "text", "imports"),
    [
        pytest.param(
            "a.py",
            "import a.b, os as o\nfrom .c import d as e, f\n",
            [("a.b", "a.b", ""), ("os", "o", ""), (".c", "e", "d"), (".c", "f", "f")],
            id="Python",
        ),
        pytest.param(
            "a.js",
            "import x, { y as z } from './m';\nconst { a } = require('./b');\n",
            [
                *(("./m", "m", ""), ("./m", "x", "default"), ("./m", "z", "y")),
                *(("./b", "a", "a"), ("./b", "b", "")),
            ],
            id="JavaScript",
        ),
        pytest.param("a.go", 'package p\nimport "x/y"\n', [("x/y", "y", "")], id="Go"),
        pytest.param(
            "a.rs",
            "use crate::a::{b, c as d};\nmod e;\n",
            [("crate::a::b", "b", "b"), ("crate::a::c", "d", "d"), ("self::e", "e", "")],
            id="Rust",
        ),
        pytest.param("A.java", "import a.b.C;\n", [("a.b.C", "C", "C")], id="Java"),
        pytest.param("a.c", '#include "b.h"\n#include <c.h>\n', [("b.h", "b.h", "")], id="C"),
        pytest.param("a.rb", "require_relative 'b'\n", [("./b", "", "")], id="Ruby"),
        pytest.param("a.sh", "source ./b.sh\n", [("./b.sh", "", "")], id="shell"),
    ],
)
def test_imports(path: str, text: str, imports: list[tuple[str, str, str]]) -> None:
    assert [(i.module, i.local, i.name) for i in read(path, text).imports] == imports


@pytest.mark.parametrize(
    ("path", "text", "prose"),
    [
        pytest.param(
            "a.rs", "/// One.\n/// Two.\nfn f() {}\n", {1, 2}, id="Rust: the line below is code"
        ),
        pytest.param("a.py", '"""One.\n\nTwo."""\nx = 1  # three\n', {1, 2, 3}, id="a docstring"),
        pytest.param("a.c", "int a; /* one\ntwo */ int b;\n/* three */\n", {3}, id="beside code"),
    ],
)
def test_lines_of_prose(path: str, text: str, prose: set[int]) -> None:
    assert read(path, text).prose == prose


def test_tests_beside_the_code_of_rust_are_no_code() -> None:
    source = read(
        "a.rs",
        """\
        fn f() { g(); }

        #[cfg(test)]
        // Not for users.
        mod tests {
            #[test]
            fn t() { fetch(); }
        }
        """,
    )

    assert [d.name for d in source.definitions] == ["f"]
    assert [m.name for m in source.of(MarkKind.CALL)] == ["g"]
    assert source.tests[0] == (3, 8)


def test_methods_of_go_belong_to_their_type() -> None:
    source = read("a.go", "package p\nfunc (s *Store) Save() {}\ntype Store struct{}\n")

    assert [source.qualified(d) for d in source.definitions] == ["Store.Save", "Store"]


@pytest.mark.parametrize(
    ("path", "call", "flags"),
    [
        pytest.param("a.py", "f(1, timeout=2)", {"args:2", "kw:timeout"}, id="a keyword"),
        pytest.param("a.py", "f(**options)", {"args:1", "kw:**"}, id="keywords of a variable"),
        pytest.param("a.js", "f(u, { signal: s })", {"args:2", "kw:signal"}, id="an object"),
        pytest.param("a.js", "f(u, { ...o })", {"args:2", "kw:**"}, id="a spread object"),
        pytest.param("a.rb", "f(u, timeout: 1)", {"args:2", "kw:timeout"}, id="Ruby"),
    ],
)
def test_options_of_calls(path: str, call: str, flags: set[str]) -> None:
    (mark,) = read(path, f"{call}\n").of(MarkKind.CALL)

    assert mark.flags == flags


def test_text_that_is_no_code_gives_what_can_be_read() -> None:
    source = read("a.py", "def f(:\n)))\n\x00 = (\n")

    assert source.language == "Python"
