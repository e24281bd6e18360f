"""Every error code that the program can give, read from its source."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from oraclepack.errors import ExitCode
from tests.keep.pages import ROOT

SOURCE = ROOT / "src" / "oraclepack"
_CODE = re.compile(r"[A-Z][A-Z_]{3,}")
_CALLS = ("ReplyError", "StepError", "Failure", "_transient", "failed", "refuse", "StartFailure")
"""What makes an error, or reports one; its first field is `code`."""
_NAMED = ("_DOTENV", "_LINKED", "_PARTIAL")
"""Constants that reach an error through a function."""


def error_codes() -> set[str]:
    """Of exceptions, replies, failed steps and calls, and of the classes of oracle's failures."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))]
    constants = {name: value for tree in trees for name, value in _constants(tree)}
    found = {code for tree in trees for code in (*_of_classes(tree), *_of_calls(tree, constants))}
    shipped = (SOURCE / "tools").rglob("failures.json")
    found |= {code for path in shipped for code in _of_data(path)}
    found |= {constants[name] for name in _NAMED if name in constants}
    found |= {code.name for code in ExitCode if code}
    return {code for code in found if _CODE.fullmatch(code)}


def _constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        for name, text in pairs:
            given = text.value if isinstance(text, ast.Constant) else None
            if isinstance(name, ast.Name) and isinstance(given, str):
                yield name.id, given


def _of_classes(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (value for name, value in _constants_in(node) if name == "code")


def _constants_in(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    yield from _constants(ast.Module(body=node.body, type_ignores=[]))


def _of_calls(tree: ast.Module, constants: dict[str, str]) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name not in _CALLS:
            continue
        named = [word.value for word in node.keywords if word.arg == "code"]
        for given in (way for value in (*node.args[:1], *named) for way in _ways(value)):
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                yield given.value
            elif isinstance(given, ast.Name) and given.id in constants:
                yield constants[given.id]


def _ways(value: ast.expr) -> tuple[ast.expr, ...]:
    """Both values of a conditional expression."""
    return (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)


def _of_data(path: Path) -> Iterator[str]:
    yield from re.findall(r'"code":\s*"([A-Z_]+)"', json.dumps(json.loads(path.read_text())))
