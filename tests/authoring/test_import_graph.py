import pytest

from oraclepack.authoring.import_graph import ImportGraph
from oraclepack.authoring.source_facts import ParsedSource
from oraclepack.authoring.source_reader import read_source


def parsed(texts: dict[str, str]) -> dict[str, ParsedSource]:
    sources = {path: read_source(path, text) for path, text in texts.items()}
    return {path: source for path, source in sources.items() if source is not None}


def graph_of(texts: dict[str, str], tests: dict[str, str] | None = None) -> ImportGraph:
    return ImportGraph(parsed(texts), parsed(tests or {}), {"": "example.org/p"})


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(
            {"src/a/b.py": "from a.c import X\n", "src/a/c.py": ""}, ["src/a/c.py"], id="src layout"
        ),
        pytest.param(
            {"a/b.py": "from . import c\nfrom .d import y\n", "a/c.py": "", "a/d.py": ""},
            ["a/c.py", "a/d.py"],
            id="relative",
        ),
        pytest.param(
            {"a/b.py": "from .. import top\n", "top.py": ""}, ["top.py"], id="one level up"
        ),
        pytest.param({"b.py": "import a.c, os\n", "a/c.py": ""}, ["a/c.py"], id="plain imports"),
        pytest.param(
            {"b.py": "from pkg import thing\n", "pkg/__init__.py": "", "pkg/thing.py": ""},
            ["pkg/thing.py"],
            id="a module of a package",
        ),
        pytest.param(
            {"b.py": "from deep.mod import x\n", "lib/x/deep/mod.py": ""},
            ["lib/x/deep/mod.py"],
            id="found by the end of its path",
        ),
        pytest.param(
            {"x/a.ts": "import { b } from './b';\nimport '../c.js';\n", "x/b.ts": "", "c.ts": ""},
            ["c.ts", "x/b.ts"],
            id="TypeScript",
        ),
        pytest.param(
            {"a.js": "const { b } = require('./b');\nrequire('react')\n", "b.js": ""},
            ["b.js"],
            id="CommonJS",
        ),
        pytest.param(
            {"a.ts": "import x from '@/ui/b';\n", "src/ui/b/index.ts": ""},
            ["src/ui/b/index.ts"],
            id="an alias",
        ),
        pytest.param(
            {
                "m.go": 'package m\nimport "example.org/p/in/api"\n',
                "in/api/api.go": "package api\n",
            },
            ["in/api/api.go"],
            id="Go",
        ),
        pytest.param(
            {
                "src/main.rs": "mod store;\nuse crate::api::list;\n",
                "src/store.rs": "",
                "src/api.rs": "",
            },
            ["src/api.rs", "src/store.rs"],
            id="Rust",
        ),
        pytest.param(
            {"A.java": "import org.shop.Order;\n", "src/org/shop/Order.java": ""},
            ["src/org/shop/Order.java"],
            id="Java",
        ),
        pytest.param(
            {"a.rb": "require_relative 'lib/b'\nrequire 'c'\n", "lib/b.rb": "", "lib/c.rb": ""},
            ["lib/b.rb", "lib/c.rb"],
            id="Ruby",
        ),
        pytest.param({"x/a.c": '#include "b.h"\n', "x/b.h": ""}, ["x/b.h"], id="C"),
        pytest.param({"a.py": "import a\nfrom os import path\n"}, [], id="itself and others'"),
        pytest.param({"a.py": '"""\nimport b\n"""\n', "b.py": ""}, [], id="not in a docstring"),
    ],
)
def test_imports_lead_to_files(texts: dict[str, str], expected: list[str]) -> None:
    graph = graph_of(texts)
    first = next(iter(texts))

    assert list(graph.imports[first]) == expected
    assert all(first in graph.importers[path] for path in expected)


@pytest.mark.parametrize(
    "caller",
    [
        pytest.param("from shop.stock import take\n\n\ndef f():\n    take(1)\n", id="the name"),
        pytest.param("from shop import stock\n\n\ndef f():\n    stock.take(1)\n", id="the module"),
        pytest.param("import shop.stock\n\n\ndef f():\n    shop.stock.take(1)\n", id="dotted"),
        pytest.param("from shop import take as t\n\n\ndef f():\n    t(1)\n", id="a re-export"),
    ],
)
def test_calls_are_traced_to_the_definition(caller: str) -> None:
    graph = graph_of(
        {
            "shop/__init__.py": "from shop.stock import take\n",
            "shop/stock.py": "def take(n): ...\n",
            "shop/orders.py": caller,
        }
    )

    assert [(u.path, u.line) for u in graph.uses["shop/stock.py", "take"]] == [
        ("shop/orders.py", 5)
    ]


def test_calls_of_go_are_traced_to_the_package() -> None:
    graph = graph_of(
        {
            "store/store.go": "package store\nfunc Open() {}\n",
            "main.go": (
                'package main\nimport "example.org/p/store"\nfunc main() {\n\tstore.Open()\n}\n'
            ),
        }
    )

    assert [(u.path, u.line) for u in graph.uses["store/store.go", "Open"]] == [("main.go", 4)]


def test_a_module_with_many_importers_is_more_central() -> None:
    texts = {"core.py": "", "alone.py": "", **{f"u{n}.py": "import core\n" for n in range(4)}}

    ranks = graph_of(texts).ranks(texts)

    assert max(ranks, key=lambda path: ranks[path]) == "core.py"
    assert ranks["alone.py"] < ranks["u0.py"] or ranks["alone.py"] < ranks["core.py"]


@pytest.mark.parametrize(
    ("code", "test"),
    [
        pytest.param(
            ("shop/stock.py", "def take(n): ...\n"),
            ("tests/test_a.py", "from shop.stock import take\n\n\ndef test_a(): take(1)\n"),
            id="Python",
        ),
        pytest.param(
            ("src/a.ts", "export function take() {}\n"),
            ("test/b.test.ts", "import { take } from '../src/a';\ntake();\n"),
            id="TypeScript",
        ),
        pytest.param(
            ("store/store.go", "package store\nfunc open() {}\n"),
            ("store/store_test.go", "package store\nfunc TestOpen() {\n\topen()\n}\n"),
            id="Go, without an import",
        ),
    ],
)
def test_tests_lead_to_what_they_test(code: tuple[str, str], test: tuple[str, str]) -> None:
    graph = graph_of(dict([code]), dict([test]))

    assert graph.testers == {code[0]: [test[0]]}
    (uses,) = graph.test_uses.values()
    assert [use.path for use in uses] == [test[0]]
