"""What the parsers make of small texts: a row gives a text and what must be found in it."""

import pytest

from oraclepack.authoring.read_repository import parse_source
from oraclepack.authoring.source_facts import MarkKind, ParsedSource
from oraclepack.authoring.tree_sitter_source import can_read


def parsed(name: str, text: str) -> ParsedSource:
    source = parse_source(name, text)
    assert source is not None
    return source


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        pytest.param(
            'def f():\n    """LANG_KEY is a secret: os.environ["LANG_KEY"]"""\n',
            MarkKind.ENV,
            [],
            id="a docstring is no code",
        ),
        pytest.param("# requests.get(u)\nx = 1\n", MarkKind.CALL, [], id="a comment is no code"),
        pytest.param(
            "import logging\nlogging.getLogger().addHandler(logging.NullHandler())\n",
            MarkKind.CALL,
            [
                (2, "().addHandler", ""),
                (2, "logging.getLogger", ""),
                (2, "logging.NullHandler", ""),
            ],
            id="each call of a chain by its own name",
        ),
        pytest.param(
            "def f(p):\n    return os.environ.get('A', '1'), os.environ['B']\n",
            MarkKind.ENV,
            [(2, "A", "'1'"), (2, "B", "")],
            id="environment variables with their defaults",
        ),
        pytest.param(
            "def f():\n    try:\n        g()\n    except (OSError, KeyError):\n        pass\n",
            MarkKind.HANDLER,
            [(4, "OSError, KeyError", "silent")],
            id="a handler that does nothing",
        ),
        pytest.param(
            "def f():\n    try:\n        g()\n    except OSError as e:\n        raise X from e\n",
            MarkKind.HANDLER,
            [(4, "OSError", "raises")],
            id="a handler that raises",
        ),
        pytest.param(
            "def f():\n    try:\n        g()\n    except E:\n        log.error('x')\n",
            MarkKind.HANDLER,
            [(4, "E", "logs")],
            id="a handler that logs",
        ),
        pytest.param(
            "cache = {}\n\n\ndef f(k):\n    cache[k] = 1\n    cache.pop(k)\n",
            MarkKind.MUTATION,
            [(5, "cache", ""), (6, "cache", "")],
            id="a module value that a function changes",
        ),
        pytest.param(
            "stop = False\n\n\ndef f():\n    global stop\n    stop = True\n",
            MarkKind.MUTATION,
            [(6, "stop", "")],
            id="a global",
        ),
        pytest.param(
            "def f(s):\n    if s is Kind.A:\n        return Kind.B\n",
            MarkKind.MEMBER,
            [(2, "Kind.A", "")],
            id="members count where they are compared, not where they are made",
        ),
        pytest.param(
            "try:\n    import yaml\nexcept ImportError:\n    yaml = None\n",
            MarkKind.OPTIONAL_IMPORT,
            [(2, "yaml", "")],
            id="an optional import",
        ),
        pytest.param(
            "x = '# TODO: not a comment'\n# TODO: keep more than one file\n",
            MarkKind.NOTE,
            [(2, "note", "keep more than one file")],
            id="a note is a comment, not a text that looks like one",
        ),
        pytest.param(
            "def f():\n    threading.Thread(target=work, daemon=True).start()\n",
            MarkKind.TASK,
            [(2, "work", "threading.Thread")],
            id="a thread with its target",
        ),
        pytest.param(
            "def f(n):\n    raise ValueError(f'{n} is too long for this')\n",
            MarkKind.RAISE,
            [(2, "ValueError", "is too long for this")],
            id="an error with the words of its message",
        ),
    ],
)
def test_what_python_shows(text: str, kind: MarkKind, expected: list[tuple[int, str, str]]) -> None:
    marks = parsed("a.py", text).of(kind)

    assert [(m.line, m.name, m.detail) for m in marks] == expected


def test_places_of_calls_have_flags() -> None:
    source = parsed(
        "a.py",
        "def f(self):\n"
        "    with self._lock:\n"
        "        self.a = 1\n"
        "    for x in y:\n"
        "        subprocess.run(x, shell=True, timeout=3)\n"
        "    with open(x) as z:\n"
        "        pass\n",
    )
    calls = {m.name: m.flags for m in source.of(MarkKind.CALL)}

    assert {"loop", "kw:shell=True", "kw:timeout"} <= calls["subprocess.run"]
    assert "with" in calls["open"]
    assert "locked" in source.of(MarkKind.FIELD)[0].flags


def test_definitions_have_lines_parameters_and_owners() -> None:
    source = parsed(
        "a.py",
        "class A(Base):\n"
        "    def m(self, a, b=True):\n"
        "        if a:\n"
        "            return b\n"
        "\n"
        "    def _hidden(self): ...\n"
        "\n"
        "\n"
        "async def f(): ...\n",
    )
    klass, method, hidden, function = source.definitions

    assert (klass.bases, source.qualified(method)) == (("Base",), "A.m")
    assert (method.parameters, method.switches, method.branches) == (("a", "b"), ("b",), 1)
    assert (hidden.is_public, function.is_async, source.around(4)) == (False, True, method)


@pytest.mark.parametrize(
    "text",
    ["def f(:\n", "\0", "x = " + "(" * 300 + ")" * 300 + "\n", "def f():\r    return 1\r"],
    ids=["broken", "NUL", "deep", "line ends of old Macs"],
)
def test_what_python_cannot_read_gives_nothing(text: str) -> None:
    assert parse_source("a.py", text) is None


LANGUAGES = {
    "a.js": "function send(id, retries) {\n  // fetch(x)\n  return fetch(url);\n}\n",
    "a.ts": (
        "export function send(id: string, retries: number) {\n"
        "  /* fetch(x) */\n  return fetch(url);\n}\n"
    ),
    "a.tsx": (
        "export function send(id: string, retries: number) {\n"
        "  // fetch(x)\n  return <a>{fetch(url)}</a>;\n}\n"
    ),
    "a.go": "package p\nfunc send(id string, retries int) {\n\t// fetch(x)\n\tfetch(url)\n}\n",
    "a.rs": "fn send(id: u8, retries: u8) {\n    // fetch(x)\n    fetch(url);\n}\n",
    "A.java": (
        "class A {\n  void send(String id, int retries) {\n"
        "    // fetch(x)\n    fetch(url);\n  }\n}\n"
    ),
    "a.c": "void send(int id, int retries) {\n  /* fetch(x) */\n  fetch(url);\n}\n",
    "a.cpp": "void send(int id, int retries) {\n  // fetch(x)\n  fetch(url);\n}\n",
    "a.rb": "def send(id, retries)\n  # fetch(x)\n  fetch(url)\nend\n",
    "a.sh": "send() {\n  # fetch x\n  fetch url\n}\n",
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_language_shows_its_functions_and_calls_and_no_comments(name: str) -> None:
    source = parsed(name, LANGUAGES[name])

    send = next(d for d in source.definitions if d.name == "send")
    calls = [m for m in source.of(MarkKind.CALL) if m.name == "fetch"]
    assert [source.owner_of(call) for call in calls] == [send]
    assert source.prose
    assert not source.prose & {m.line for m in source.marks}
    if name != "a.sh":
        assert send.parameters == ("id", "retries")


@pytest.mark.parametrize(
    ("name", "text", "kind", "expected"),
    [
        pytest.param(
            "a.js",
            "async function f() {\n  try {\n    await g();\n  } catch (e) {\n  }\n}\n",
            MarkKind.HANDLER,
            [(4, "silent")],
            id="JavaScript: an empty catch",
        ),
        pytest.param(
            "a.js",
            "function f() {\n  try {\n    g();\n  } catch (e) {\n    c.emit('error', e);\n  }\n}\n",
            MarkKind.HANDLER,
            [(4, "uses")],
            id="JavaScript: an error that is emitted",
        ),
        pytest.param(
            "a.go",
            "package p\nfunc f() {\n\t_ = save()\n\tgo run()\n}\n",
            MarkKind.HANDLER,
            [(3, "silent")],
            id="Go: an error that is dropped",
        ),
        pytest.param(
            "a.go",
            "package p\nfunc f() {\n\tgo run()\n}\n",
            MarkKind.TASK,
            [(3, "go")],
            id="Go: a goroutine",
        ),
        pytest.param(
            "a.ts",
            "const port = process.env.PORT;\n",
            MarkKind.ENV,
            [(1, "")],
            id="TypeScript: the environment",
        ),
        pytest.param(
            "a.rb",
            "class A\n  def m\n    ENV.fetch('A', 'x')\n  end\nend\n",
            MarkKind.ENV,
            [(3, "'x'")],
            id="Ruby: the environment with a default",
        ),
        pytest.param(
            "A.java",
            "class A {\n  int x;\n  void m() {\n    this.x = 1;\n  }\n}\n",
            MarkKind.FIELD,
            [(4, "")],
            id="Java: a field",
        ),
    ],
)
def test_what_other_languages_show(
    name: str, text: str, kind: MarkKind, expected: list[tuple[int, str]]
) -> None:
    assert [(m.line, m.detail) for m in parsed(name, text).of(kind)] == expected


@pytest.mark.parametrize(
    ("call", "runs"),
    [
        pytest.param("setTimeout(ping, delay)", "ping", id="a function by its name"),
        pytest.param("setTimeout(() => ping(), delay)", "setTimeout", id="a delay is not run"),
    ],
)
def test_what_a_timer_runs(call: str, runs: str) -> None:
    source = parsed("a.js", f"function f(delay) {{\n  {call}\n}}\n")

    assert [m.name for m in source.of(MarkKind.TASK)] == [runs]


def test_a_language_without_a_grammar_is_not_read() -> None:
    assert not can_read("Kotlin")
    assert parse_source("a.kt", "fun main() {}\n") is None
