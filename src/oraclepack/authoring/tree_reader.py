"""One walk over a tree-sitter tree: definitions, imports and marks."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from oraclepack.authoring import syntax_tables as tables
from oraclepack.authoring.python_source import NOTE
from oraclepack.authoring.source_facts import Definition, ImportedModule, Mark, MarkKind
from oraclepack.authoring.tree_imports import IMPORTS, imported_modules, required_module
from oraclepack.authoring.tree_nodes import (
    LONGEST,
    NAME,
    assigned_name,
    body_kind,
    callee_of,
    caught_type,
    common_exports,
    ends_flow,
    first_line,
    module_values,
    name_line,
    name_of,
    named_children,
    node_text,
    option_keys,
    parameter_names,
    unquoted,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_LOCK_CALL = re.compile(r"(?:^|\.)(?:R?Lock|lock|acquire)$")
_UNLOCK_CALL = re.compile(r"(?:^|\.)(?:R?Unlock|unlock|release)$")
_ENV_INDEX = re.compile(r"ENV\[\s*[\"'](\w+)[\"']\s*\]")
_ENV_MEMBER = re.compile(r"process\.env\.(\w+)$|import\.meta\.env\.(\w+)$")
_GO_ERROR = re.compile(r"\b(errors\.New|fmt\.Errorf)\(\"([^\"\n]*)\"")
"""What Go returns where others raise."""
_RUST_TEST = re.compile(r"#\[(?:cfg\(test\)|(?:\w+::)*test\b)")
_DEEPEST = 400
"""Levels of the tree that are read; deeper trees are data or an attack."""
_COMPARING = frozenset(
    {"binary_expression", "switch_case", "match_pattern", "expression_case", "when", "pattern"}
    | {"switch_label", "case_statement", "or_pattern", "expression_list", "comparison_operator"}
    | {"tuple_struct_pattern", "struct_pattern"}
)
_CATCHES_ALL = frozenset(
    {"Exception", "Throwable", "RuntimeException", "Error", "StandardError", "exception"}
    | {"everything"}
)
_IDENTIFIERS = frozenset({"identifier", "simple_identifier", "constant", "type_identifier"})


class TreeReader:
    """One walk over a tree."""

    def __init__(self, language: str, root: "Node") -> None:
        self._language = language
        self._root = root
        self._owner = -1
        self._class = -1
        self._loop = 0
        self._locked = 0
        self._trying = 0
        self._closures = 0
        self._exported = 0
        self._receiver = ""
        self._parameters: frozenset[str] = frozenset()
        self._mutable: set[str] = set()
        self._exports = frozenset(common_exports(language, root))
        self._branches: list[int] = []
        self.definitions: list[Definition] = []
        self.imports: list[ImportedModule] = []
        self.marks: list[Mark] = []
        self.lines: set[int] = set()
        self.prose: set[int] = set()

    def read(self) -> None:
        self._mutable = {
            name for name, mutable, _ in module_values(self._root, self._language) if mutable
        }
        for name, mutable, node in module_values(self._root, self._language):
            text = node_text(node.child_by_field_name("value"))
            flags = ["mutable"] if mutable else []
            detail = text if len(text) <= LONGEST and "\n" not in text else ""
            self._mark(MarkKind.MODULE_VALUE, first_line(node), name, detail, flags)
        self._walk(self._root, 0)

    def finished(self) -> list[Definition]:
        pairs = zip(self.definitions, self._branches, strict=True)
        return [definition._replace(branches=count) for definition, count in pairs]

    def _mark(
        self,
        kind: MarkKind,
        line: int,
        name: str,
        detail: str = "",
        flags: Iterable[str] = (),
        lines: tuple[int, ...] = (),
    ) -> None:
        self.marks.append(
            Mark(kind, line, self._owner, name[-80:], detail[:LONGEST], frozenset(flags), lines)
        )

    def _place(self) -> list[str]:
        places = ["loop"] if self._loop else []
        places += ["locked"] if self._locked else []
        places += ["closure"] if self._closures else []
        return [*places, *(["try"] if self._trying else [])]

    def _walk(self, node: "Node", depth: int) -> None:
        if depth > _DEEPEST:
            return
        is_test = False
        for child in node.named_children:
            if child.type == "attribute_item":
                is_test = is_test or _RUST_TEST.match(node_text(child)) is not None
            elif is_test and child.type not in tables.COMMENTS:
                is_test = False  # Rust keeps its unit tests beside the code
            else:
                self._node(child, depth + 1)

    def _node(self, node: "Node", depth: int) -> None:  # noqa: C901, PLR0912 - one case per kind
        kind = node.type
        if kind in tables.COMMENTS:
            begins = first_line(node) + (first_line(node) in self.lines)
            self.prose.update(range(begins, node.end_point[0] + 2))
            comment = node_text(node)
            note = NOTE.search(comment)
            if note is not None:
                text = note[1].removesuffix("*/").strip()
                line = first_line(node) + comment.count("\n", 0, note.start())
                self._mark(MarkKind.NOTE, line, "note", text)
            return
        self.lines.add(first_line(node))
        if kind in tables.FUNCTIONS:
            self._function(node, name_of(node), depth)
        elif kind in tables.FUNCTION_VALUES:
            self._function(node, assigned_name(node) or name_of(node), depth)
        elif kind in tables.CLOSURES:
            self._closure(node, depth)
        elif kind in tables.CLASSES and self._is_class(node):
            self._type(node, depth)
        elif kind in tables.ENUMS:
            self._enum(node, depth)
        elif kind in tables.CALLS:
            self._call(node)
            self._walk(node, depth)
        elif kind in tables.LOOPS:
            self._mark(MarkKind.LOOP, first_line(node), "for", flags=self._place())
            self._count()
            self._loop += 1
            self._walk(node, depth)
            self._loop -= 1
        elif kind in tables.TRIES:
            self._try(node, depth)
        elif kind in tables.HANDLERS:
            self._handler(node)
            self._walk(node, depth)
        elif kind == "export_statement":
            self._import(node)
            self._exported += 1
            self._walk(node, depth)
            self._exported -= 1
        elif kind == "synchronized_statement":
            self._locked += 1
            self._walk(node, depth)
            self._locked -= 1
        else:
            self._simple(node, kind)
            locked = self._locked
            self._walk(node, depth)
            if kind in tables.BRANCHES:
                # A branch that unlocks and leaves says nothing about the lines after it.
                self._locked = max(locked, self._locked)

    def _simple(self, node: "Node", kind: str) -> None:
        """Nodes that give a mark and change no state for their children."""
        if kind in tables.BRANCHES:
            self._count()
            if kind in tables.CONDITIONS:
                condition = node_text(node.child_by_field_name("condition"))
                used = sorted(self._parameters & {*NAME.findall(condition)})
                flags = [*self._place(), *(["ends"] if ends_flow(node) else [])]
                self._mark(MarkKind.BRANCH, first_line(node), "if", " ".join(used), flags)
        elif kind in tables.THROWS:
            self._throw(node)
        elif kind in tables.RETURNS and not self._closures:
            value = "value" if node.named_child_count else "none"
            empty = node_text(node).rstrip(";").split()[1:] in (
                ["null"],
                ["nil"],
                ["None"],
                ["undefined"],
            )
            flags = ["none" if empty else value]
            self._mark(MarkKind.RETURN, first_line(node), "return", flags=flags)
            self._returned_error(node)
        elif kind in tables.ASSIGNMENTS:
            self._assignment(node)
        elif kind == "go_statement":
            call = node.named_children[0] if node.named_children else None
            name = callee_of(call) if call is not None else ""
            self._mark(MarkKind.TASK, first_line(node), name or "func", "go", self._place())
        elif kind in {"member_expression", "element_reference"}:
            self._env_member(node)
        elif kind in {"field_access", "scoped_identifier"}:
            self._member(node)
        elif kind in IMPORTS:
            self._import(node)

    def _returned_error(self, node: "Node") -> None:
        made = _GO_ERROR.search(node_text(node)) if self._language == "Go" else None
        if made is not None:
            name, text = made.groups()
            self._mark(MarkKind.RAISE, first_line(node), name, text, self._place())

    def _count(self) -> None:
        if self._owner >= 0:
            self._branches[self._owner] += 1

    # Definitions

    def _is_class(self, node: "Node") -> bool:
        if node.type == "type_spec":
            kind = node.child_by_field_name("type")
            return kind is not None and kind.type in {"struct_type", "interface_type"}
        if node.type in {"class_specifier", "struct_specifier"}:
            return node.child_by_field_name("body") is not None
        return True

    def _define(self, definition: Definition) -> int:
        self.definitions.append(definition)
        self._branches.append(0)
        return len(self.definitions) - 1

    def _function(self, node: "Node", name: str, depth: int) -> None:
        if not name:
            self._closure(node, depth)
            return
        names = tuple(parameter_names(node))
        in_class = self._class >= 0 and self._owner == self._class
        receiver = node.child_by_field_name("receiver")
        home = self._home_of(receiver) if receiver is not None else self._owner
        index = self._define(
            Definition(
                name,
                "method" if in_class or receiver is not None else "function",
                name_line(node),
                node.end_point[0] + 1,
                home,
                names,
                is_public=self._is_public(node, name),
                is_async=node_text(node)[:40].split("(")[0].find("async ") >= 0,
                has_return_type=node.child_by_field_name("return_type") is not None,
            )
        )
        before = (
            self._owner,
            self._parameters,
            self._receiver,
            self._loop,
            self._trying,
            self._locked,
            self._closures,
        )
        self._owner, self._parameters = index, frozenset(names)
        self._loop = self._trying = self._locked = self._closures = 0
        receivers = [node_text(p.child_by_field_name("name")) for p in named_children(receiver)]
        self._receiver = receivers[0] if receivers else ""
        self._walk(node, depth)
        (
            self._owner,
            self._parameters,
            self._receiver,
            self._loop,
            self._trying,
            self._locked,
            self._closures,
        ) = before

    def _closure(self, node: "Node", depth: int) -> None:
        """A function without a name: what it decides and returns is its own.

        Its calls still count for the function around it, which hands it on or runs it.
        """
        before = (self._parameters, self._closures, self._locked)
        self._parameters, self._closures = frozenset(), self._closures + 1
        self._walk(node, depth)
        self._parameters, self._closures, self._locked = before

    def _home_of(self, receiver: "Node") -> int:
        """The type of a Go method, where this file defines it."""
        words = NAME.findall(node_text(receiver))
        known = [i for i, d in enumerate(self.definitions) if d.kind == "class" and d.name in words]
        return known[-1] if known else self._owner

    def _type(self, node: "Node", depth: int) -> None:
        name = name_of(node) or node_text(node.child_by_field_name("type"))
        name = name.partition("<")[0]  # without type parameters
        if not name:
            self._walk(node, depth)
            return
        index = self._define(
            Definition(
                name,
                "class",
                name_line(node),
                node.end_point[0] + 1,
                self._owner,
                is_public=self._is_public(node, name),
            )
        )
        before = (self._owner, self._class)
        self._owner = self._class = index
        self._walk(node, depth)
        self._owner, self._class = before

    def _enum(self, node: "Node", depth: int) -> None:
        name = name_of(node)
        body = node.child_by_field_name("body")
        if not name or body is None:
            self._walk(node, depth)
            return
        members = tuple(
            (
                node_text(member.child_by_field_name("name") or member).split("=")[0].strip(),
                first_line(member),
            )
            for member in body.named_children
            if member.type in tables.ENUM_MEMBERS
        )
        self._define(
            Definition(
                name,
                "enum",
                first_line(node),
                node.end_point[0] + 1,
                self._owner,
                members=members,
                is_public=self._is_public(node, name),
            )
        )

    def _is_public(self, node: "Node", name: str) -> bool:
        if self._language in {"JavaScript", "TypeScript"}:
            return not name.startswith(("_", "#")) and self._is_exported(node, name)
        first = node_text(node)[:80].partition("{")[0]
        by_language = {
            "Go": name[:1].isupper(),
            "Rust": first.startswith("pub"),
            "Java": "private" not in first.split("(")[0],
            "C": not first.startswith("static"),
            "C++": not first.startswith("static"),
        }
        return by_language.get(self._language, not name.startswith("_"))

    def _is_exported(self, node: "Node", name: str) -> bool:
        if self._owner >= 0:
            return self._owner == self._class and self.definitions[self._class].is_public
        parent = node.parent
        assigned = parent is not None and parent.type == "assignment_expression"
        return self._exported > 0 or assigned or name in self._exports

    # Calls

    def _call(self, node: "Node") -> None:
        name = callee_of(node)
        if not name:
            return
        function = node.child_by_field_name("function") or node.child_by_field_name("name")
        line = (function.end_point[0] + 1) if function is not None else first_line(node)
        arguments = node.child_by_field_name("arguments")
        given = [a for a in named_children(arguments) if a.type not in tables.COMMENTS]
        texts = [unquoted(node_text(a)) for a in given[:2] if a.type in tables.STRINGS]
        if node.type == "command":
            given = [c for c in node.named_children if c.type != "command_name"]
            texts = [node_text(c) for c in given[:3]]
        flags = [*self._place(), f"args:{len(given)}"]
        parent = node.parent
        flags += ["await"] if parent is not None and parent.type == "await_expression" else []
        flags += [f"kw:{key}" for key in option_keys(given)]
        flags += ["new"] if node.type == "new_expression" else []
        self._mark(MarkKind.CALL, line, name, " ".join(texts[:1]), flags)
        self._special_call(node, name, line, given, texts)

    def _special_call(
        self, node: "Node", name: str, line: int, given: list["Node"], texts: list[str]
    ) -> None:
        method = name.replace("::", ".").rpartition(".")[2]
        if name in tables.ENV_CALLS and texts:
            default = node_text(given[1]) if len(given) > 1 else ""
            self._mark(MarkKind.ENV, line, texts[0], default, self._place())
        if name in tables.TASK_CALLS:
            # The second argument of a timer is its delay.
            run = given[:1] if name in tables.TIMERS else given
            target = next((node_text(a) for a in run if a.type in _IDENTIFIERS), name)
            self._mark(MarkKind.TASK, line, target, name, self._place())
        if name in {"require", "require_relative", "import"} and texts:
            is_local = self._owner >= 0
            self.imports.append(required_module(node, name, line, texts[0], is_local=is_local))
        if name in {"source", "."} and texts:
            self.imports.append(ImportedModule(texts[0], line))
        if name in {"raise", "panic", "panic!", "fail"} and self._language in {
            "Ruby",
            "Go",
            "Rust",
        }:
            self._mark(
                MarkKind.RAISE, line, node_text(given[0]) if given else name, " ".join(texts)
            )
        if _LOCK_CALL.search(name):
            self._locked += 1
        elif _UNLOCK_CALL.search(name) and self._locked:
            deferred = node.parent is not None and node.parent.type == "defer_statement"
            self._locked -= 0 if deferred else 1
        root = name.partition(".")[0]
        if method in tables.MUTATORS and root in self._mutable and self._owner >= 0:
            self._mark(MarkKind.MUTATION, line, root, flags=self._place())

    def _throw(self, node: "Node") -> None:
        thrown = next(iter(node.named_children), None)
        name = (
            callee_of(thrown)
            if thrown is not None and thrown.type in tables.CALLS
            else node_text(thrown)
        )
        arguments = thrown.child_by_field_name("arguments") if thrown is not None else None
        strings = [a for a in named_children(arguments) if a.type in tables.STRINGS]
        texts = [unquoted(node_text(a)) for a in strings]
        lines = (first_line(strings[0] if strings else node),)
        text = " ".join(texts[:1])
        self._mark(MarkKind.RAISE, first_line(node), name, text, self._place(), lines)

    # Statements

    def _try(self, node: "Node", depth: int) -> None:
        body = node.child_by_field_name("body")
        for child in node.named_children:
            inside = child == body or (body is None and child.type not in tables.HANDLERS)
            self._trying += inside
            self._node(child, depth + 1)
            self._trying -= inside

    def _handler(self, node: "Node") -> None:
        body = node.child_by_field_name("body")
        statements = [c for c in named_children(body) if c.type not in tables.COMMENTS]
        caught = next(
            (c for c in node.named_children if "parameter" in c.type or "exceptions" in c.type),
            None,
        )
        name = caught_type(caught, self._language)
        parameter = node.child_by_field_name("parameter") or caught
        words = NAME.findall(node_text(parameter))
        # Types follow the name in TypeScript, and are before it in Java and C++.
        last = -1 if self._language in {"Java", "C++"} else 0
        kind = body_kind(statements, words[last] if words else "")
        parent = node.parent
        tried = parent.child_by_field_name("body") if parent is not None else None
        inner = named_children(tried) or (list(parent.named_children) if parent is not None else [])
        first = first_line(inner[0]) if inner else first_line(node)
        line = first_line(statements[0]) if statements else first_line(node)
        is_script = self._language in {"JavaScript", "TypeScript"}
        flags = ["broad"] if is_script or _CATCHES_ALL & {*NAME.findall(name)} else []
        self._mark(MarkKind.HANDLER, first_line(node), name, kind, flags, (line, first))

    def _assignment(self, node: "Node") -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        text = node_text(left)
        root, _, field = text.partition(".")
        line = first_line(node)
        own = {"this", "self", self._receiver} - {""}
        if self._owner >= 0 and root in own and NAME.fullmatch(field):
            self._mark(MarkKind.FIELD, line, field, flags=self._place())
        elif text.startswith("@") and self._owner >= 0:
            self._mark(MarkKind.FIELD, line, text.lstrip("@"), flags=self._place())
        elif self._owner >= 0 and re.split(r"[\[.]", text)[0] in self._mutable:
            self._mark(MarkKind.MUTATION, line, re.split(r"[\[.]", text)[0], flags=self._place())
        if self._language == "Go" and text == "_" and "(" in node_text(right):
            called = callee_of(right.named_children[0]) if right and right.named_children else ""
            result = f"what {called}() returns" if called else "a result"
            self._mark(MarkKind.HANDLER, line, result, "silent", (), (line, line))

    def _env_member(self, node: "Node") -> None:
        text = node_text(node)
        match = _ENV_MEMBER.fullmatch(text)
        if match is not None:
            self._mark(MarkKind.ENV, first_line(node), match[1] or match[2], "", self._place())
        elif (read := _ENV_INDEX.fullmatch(text)) is not None:
            self._mark(MarkKind.ENV, first_line(node), read[1], "", self._place())
        else:
            self._member(node)

    def _member(self, node: "Node") -> None:
        root, _, member = node_text(node).replace("::", ".").rpartition(".")
        parent = node.parent
        compared = parent is not None and parent.type in _COMPARING
        if compared and root[:1].isupper() and member[:1].isupper() and NAME.fullmatch(root):
            how = "compare" if parent is not None and parent.type == "binary_expression" else "case"
            self._mark(MarkKind.MEMBER, first_line(node), f"{root}.{member}", flags=[how])

    def _import(self, node: "Node") -> None:
        is_local = self._owner >= 0
        self.imports += imported_modules(node, self._language, is_local=is_local)
