"""What the import statements of a tree-sitter tree name."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oraclepack.authoring.source_facts import ImportedModule
from oraclepack.authoring.tree_nodes import (
    first_line,
    named_children,
    node_text,
    unquoted,
)

if TYPE_CHECKING:
    from tree_sitter import Node

IMPORTS = frozenset(
    {"import_statement", "import_spec", "use_declaration", "mod_item", "import_declaration"}
    | {"preproc_include"}
)


def script_names(node: "Node") -> Iterator[tuple[str, str]]:
    """The names of an import of JavaScript: local name and name in the module."""
    for clause in node.named_children:
        if clause.type not in {"import_clause", "export_clause"}:
            continue
        for part in clause.named_children:
            if part.type == "identifier":
                yield node_text(part), "default"
            elif part.type == "namespace_import":
                yield node_text(part.named_children[0] if part.named_children else part), ""
            elif part.type == "named_imports":
                for one in part.named_children:
                    name = node_text(one.child_by_field_name("name"))
                    yield node_text(one.child_by_field_name("alias")) or name, name


def rust_paths(text: str) -> Iterator[tuple[str, str]]:
    """`crate::a::{b, c as d}` to (`crate::a::b`, `b`), (`crate::a::c`, `d`)."""
    head, brace, rest = text.partition("{")
    if not brace:
        path, _, alias = text.partition(" as ")
        yield path.strip(), (alias or path.rpartition("::")[2]).strip()
        return
    for part in rest.rstrip("} \n;").replace("{", ",").replace("}", ",").split(","):
        path, _, alias = part.strip().partition(" as ")
        if path:
            yield f"{head}{path}".strip(), (alias or path.rpartition("::")[2]).strip()


def imported_modules(node: "Node", language: str, *, is_local: bool) -> Iterator[ImportedModule]:
    """The modules that an import statement names."""
    line = first_line(node)
    match node.type:
        case "import_statement" | "export_statement":
            source = node.child_by_field_name("source")
            if source is not None:
                names = tuple(script_names(node))
                yield ImportedModule(unquoted(node_text(source)), line, names, is_local)
        case "import_spec":
            module = unquoted(node_text(node.child_by_field_name("path")))
            name = node_text(node.child_by_field_name("name")) or module.rpartition("/")[2]
            yield ImportedModule(module, line, ((name, ""),), is_local)
        case "use_declaration":
            text = node_text(node.child_by_field_name("argument"))
            for module, name in rust_paths(text):
                yield ImportedModule(module, line, ((name, name),), is_local)
        case "mod_item" if node.child_by_field_name("body") is None:
            name = node_text(node.child_by_field_name("name"))
            yield ImportedModule(f"self::{name}", line, ((name, ""),), is_local)
        case "import_declaration" if language == "Java":
            module = node_text(node).removeprefix("import").strip(" ;").removeprefix("static ")
            name = module.rpartition(".")[2]
            yield ImportedModule(module, line, ((name, name),), is_local)
        case "preproc_include":
            path = node_text(node.child_by_field_name("path"))
            if path.startswith('"'):
                yield ImportedModule(unquoted(path), line)
        case _:
            return


def required_module(
    node: "Node", name: str, line: int, module: str, *, is_local: bool
) -> ImportedModule:
    """The module that a call of `require` or its like names."""
    target = "./" + module if name == "require_relative" and module[:1] != "." else module
    names: tuple[tuple[str, str], ...] = ()
    parent = node.parent
    member = ""
    if parent is not None and parent.type == "member_expression":
        member = node_text(parent.child_by_field_name("property"))
        parent = parent.parent
    if parent is not None and parent.type == "variable_declarator":
        pattern = parent.child_by_field_name("name")
        if pattern is not None and pattern.type == "object_pattern":
            names = tuple((node_text(n), node_text(n)) for n in named_children(pattern))
        elif pattern is not None:
            names = ((node_text(pattern), member),)
    return ImportedModule(target, line, names, is_local)
