"""What single nodes of a tree-sitter tree say, without knowing where they stand."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from oraclepack.authoring import syntax_tables as tables

if TYPE_CHECKING:
    from tree_sitter import Node


_CALLEE = re.compile(r"[\w$@!?]+(?:(?:\?\.|\.|::|->)[\w$@!?]+)*$")


_JOINT = re.compile(r"\?\.|->")


NAME = re.compile(r"[\w$]+")


_LOG_ROOTS = "|".join(map(re.escape, sorted(tables.LOG_ROOTS)))
_LOG = re.compile(rf"\b(?:{_LOG_ROOTS})\.|(?<![\w.])(?:warn|error|info)[(!]")
_TO_CALLBACK = re.compile(
    r"(?i)\b\w*(?:callback|cb|done|next|fn)\(\s*e(?:rr(?:or)?)?\b|\bemit\(\s*[\"'`]error\b"
)


LONGEST = 120
_BLOCKS = frozenset(
    {"statement_block", "block", "compound_statement", "expression_statement", "then"}
    | {"body_statement", "statement_list"}
)
_LEAVING = (
    tables.RETURNS
    | tables.THROWS
    | {"continue_statement", "break_statement", "continue_expression", "break_expression"}
    | {"next", "break"}
)


def node_text(node: "Node | None") -> str:
    raw = node.text if node is not None else None
    return raw.decode("utf-8", "replace") if raw else ""


def first_line(node: "Node") -> int:
    return node.start_point[0] + 1


def unquoted(text: str) -> str:
    return text.strip("\"'`<>")


def named_children(node: "Node | None") -> list["Node"]:
    return list(node.named_children) if node is not None else []


def name_of(node: "Node") -> str:
    name = node.child_by_field_name("name")
    if name is None:
        name = node.child_by_field_name("declarator")
        while name is not None and name.child_by_field_name("declarator") is not None:
            name = name.child_by_field_name("declarator")
    text = node_text(name)
    return text if len(text) <= LONGEST and "\n" not in text else ""


def name_line(node: "Node") -> int:
    """The line where a definition has its name, after annotations and the type of its result."""
    name = node.child_by_field_name("name") or node.child_by_field_name("declarator")
    return first_line(name if name is not None else node)


def assigned_name(node: "Node") -> str:
    """The name that a function gets from the declaration, assignment or property around it."""
    parent = node.parent
    if parent is None or parent.type not in {
        "variable_declarator",
        "assignment_expression",
        "pair",
    }:
        return ""
    fields = ("name", "left", "key")
    holder = next((n for f in fields if (n := parent.child_by_field_name(f)) is not None), None)
    name = node_text(holder).rpartition(".")[2]
    return name if NAME.fullmatch(name) and name != "exports" else ""


def common_exports(language: str, root: "Node") -> Iterator[str]:
    """The names that a CommonJS module hands out as `module.exports = { a, b }` or `= a`."""
    if language not in {"JavaScript", "TypeScript"}:
        return
    for node in root.named_children:
        text = node_text(node) if node.type == "expression_statement" else ""
        left, _, right = text.partition("=")
        if left.strip().split(".")[0] in {"module", "exports"} and len(right) < 5000:
            yield from NAME.findall(right)


def callee_of(node: "Node") -> str:
    """The dotted name of what is called; what is before a call or an index is left out."""
    match node.type:
        case "method_invocation" | "call":
            target = node.child_by_field_name("object") or node.child_by_field_name("receiver")
            name = node_text(node.child_by_field_name("name") or node.child_by_field_name("method"))
            text = f"{node_text(target)}.{name}" if target is not None else name
        case "object_creation_expression":
            text = node_text(node.child_by_field_name("type"))
        case "macro_invocation":
            text = f"{node_text(node.child_by_field_name('macro'))}!"
        case "command":
            text = node_text(node.child_by_field_name("name"))
        case _:
            field = "constructor" if node.type == "new_expression" else "function"
            text = node_text(node.child_by_field_name(field))
    text = text[-200:].strip()
    match = _CALLEE.search(text)
    if match is None:
        return ""
    name = _JOINT.sub(".", match[0])
    return f"().{name}" if match.start() else name


def parameter_names(node: "Node") -> Iterator[str]:
    holder = node.child_by_field_name("parameters")
    if holder is None:
        declarator = node.child_by_field_name("declarator")
        holder = declarator.child_by_field_name("parameters") if declarator is not None else None
    for parameter in named_children(holder):
        name = parameter
        for field in ("pattern", "name", "declarator", "left"):
            inner = parameter.child_by_field_name(field)
            if inner is not None:
                name = inner
                break
        match = NAME.search(node_text(name))
        if match is not None and parameter.type not in {*tables.COMMENTS, "self_parameter"}:
            yield match[0]


def option_keys(given: list["Node"]) -> Iterator[str]:
    """The keys of an options object, or the keyword arguments of Ruby."""
    for argument in given:
        if argument.type in {"object", "hash", "pair"}:
            pairs = [argument] if argument.type == "pair" else argument.named_children
            for pair in pairs[:12]:
                key = pair.child_by_field_name("key") or pair
                yield node_text(key).strip(":\"' ")[:40]


def ends_flow(branch: "Node") -> bool:
    """Whether what follows a branch is not reached after it: it leaves, or another one follows."""
    around = branch.parent
    alternative = branch.child_by_field_name("alternative")
    if alternative is not None:
        inner = [alternative, *alternative.named_children]
        if any(node.type in tables.CONDITIONS for node in inner):
            return True
    if around is not None and (
        around.type == "else_clause" or around.child_by_field_name("alternative") == branch
    ):
        return True
    body = branch.child_by_field_name("consequence") or branch.child_by_field_name("body")
    last = body
    while last is not None and last.named_children and last.type not in _LEAVING:
        inner = [c for c in last.named_children if c.type not in tables.COMMENTS]
        if not inner or last.type not in _BLOCKS:
            break
        last = inner[-1]
    return last is not None and last.type in _LEAVING


def caught_type(caught: "Node | None", language: str) -> str:
    """What a handler catches, without the name that it gets."""
    if caught is not None and language == "Java":
        caught = next((c for c in caught.named_children if c.type == "catch_type"), caught)
    if caught is not None and language == "C++":
        typed = [t for c in caught.named_children if (t := c.child_by_field_name("type"))]
        caught = typed[0] if typed else None
    return " ".join(node_text(caught).split()) or "everything"


def body_kind(statements: list["Node"], caught: str) -> str:
    """What a handler does with the error that it caught: raises, logs, silent, uses or returns."""
    text = "\n".join(node_text(statement) for statement in statements)
    if not statements:
        return "silent"
    if re.search(r"\b(?:throw|raise|reject|next\(|abort|exit|panic)\b", text):
        return "raises"
    if _LOG.search(text):
        return "logs"
    if _passes_on(text, caught):
        return "uses"
    is_end = statements[0].type in {*tables.RETURNS, "continue_statement", "nil"}
    return "returns" if len(statements) == 1 and is_end else "other"


def _passes_on(text: str, caught: str) -> bool:
    """Whether the error goes somewhere: to a callback, a listener, a field."""
    if _TO_CALLBACK.search(text):
        return True
    return bool(caught) and re.search(rf"(?<![\w$.]){re.escape(caught)}(?![\w$])", text) is not None


def module_values(root: "Node", language: str) -> Iterator[tuple[str, bool, "Node"]]:
    """The names that a file declares at its top level: name, whether mutable, node."""
    waiting = [(child, 0) for child in root.named_children]
    while waiting:
        node, depth = waiting.pop(0)
        if node.type in tables.VALUES or (node.type == "assignment" and language == "Ruby"):
            name = node_text(node.child_by_field_name("name") or node.child_by_field_name("left"))
            value = node.child_by_field_name("value") or node.child_by_field_name("right")
            kinds = (
                {value.type} | {c.type for c in named_children(value)}
                if value is not None
                else set()
            )
            make = node_text(value).startswith(("make(", "map[")) if value is not None else False
            mutable = bool(kinds & tables.MUTABLE_VALUES) or make
            if NAME.fullmatch(name):
                yield name, mutable and node.type not in {"const_spec", "const_item"}, node
        elif depth < 3 and (
            "declaration" in node.type or node.type in {"export_statement", "var_spec_list"}
        ):
            waiting = [(child, depth + 1) for child in node.named_children] + waiting
