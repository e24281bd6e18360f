import pytest

from oraclepack.authoring.imports import ImportGraph


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
            ["pkg/__init__.py", "pkg/thing.py"],
            id="a package and its module",
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
            {"a.ts": "import x from '@/ui/b';\nrequire('react')\n", "src/ui/b/index.ts": ""},
            ["src/ui/b/index.ts"],
            id="an alias",
        ),
        pytest.param(
            {"m.go": '\t"example.org/p/in/api"\n', "in/api/api.go": "", "in/api/api_test.go": ""},
            ["in/api/api.go"],
            id="Go",
        ),
        pytest.param(
            {
                "src/m.rs": "mod store;\nuse crate::api::list;\n",
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
            {"A.php": "use App\\Shop\\Order;\n", "app/Shop/Order.php": ""},
            ["app/Shop/Order.php"],
            id="PHP",
        ),
        pytest.param(
            {"a.rb": "require_relative 'lib/b'\nrequire 'c'\n", "lib/b.rb": "", "lib/c.rb": ""},
            ["lib/b.rb", "lib/c.rb"],
            id="Ruby",
        ),
        pytest.param({"x/a.c": '#include "b.h"\n', "x/b.h": ""}, ["x/b.h"], id="C"),
        pytest.param({"a.lua": "require 'b'\n", "b.lua": ""}, [], id="a language we cannot read"),
        pytest.param({"a.py": "import a\nfrom os import path\n"}, [], id="itself and others'"),
    ],
)
def test_imports_lead_to_files(texts: dict[str, str], expected: list[str]) -> None:
    graph = ImportGraph(texts, "example.org/p")
    first = next(iter(texts))

    assert list(graph.imports[first]) == expected
    assert all(first in graph.importers[path] for path in expected)
