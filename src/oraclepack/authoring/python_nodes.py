"""Facts about single nodes of a Python syntax tree, independent of their context."""

import ast

_MUTABLE_CALLS = frozenset(
    {"dict", "list", "set", "defaultdict", "OrderedDict", "deque", "Counter", "WeakKeyDictionary"}
    | {"WeakValueDictionary", "WeakSet"}
)
_LONGEST_NAME = 80
LONGEST_TEXT = 120
_SILENT = (ast.Pass, ast.Continue, ast.Break)
_LOGGERS = frozenset({"log", "logger", "logging", "LOG", "LOGGER", "_logger", "_log", "warnings"})


def dotted(node: ast.AST | None) -> str:
    """The dotted name of an expression, `a.b.c`; `()` or `[]` stands for a call or a subscript."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    elif isinstance(node, ast.Call | ast.Subscript | ast.Await):
        parts.append("()" if isinstance(node, ast.Call) else "[]")
    elif node is not None and parts:
        parts.append("()")
    return ".".join(reversed(parts))[-_LONGEST_NAME:]


def class_named_by(annotation: ast.expr | None) -> str:
    """The class that an annotation names, also as `Class | None`; empty for other types."""
    if isinstance(annotation, ast.BinOp):
        annotation = annotation.left
    text = dotted(annotation) if isinstance(annotation, ast.Name | ast.Attribute) else ""
    return text if text.rpartition(".")[2][:1].isupper() else ""


def is_mutable(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Dict | ast.List | ast.Set):
        return True
    return isinstance(value, ast.Call) and dotted(value.func).rpartition(".")[2] in _MUTABLE_CALLS


def is_public(name: str) -> bool:
    return not name.startswith("_")


def switch_text(value: ast.expr) -> str:
    """`=True`, `=False` or `=None`; empty for other values."""
    is_switch = isinstance(value, ast.Constant) and isinstance(value.value, bool | None)
    return f"={ast.unparse(value)}" if is_switch else ""


def decorators_of(nodes: list[ast.expr]) -> tuple[tuple[str, int], ...]:
    named = ((dotted(n.func if isinstance(n, ast.Call) else n), n.lineno) for n in nodes)
    return tuple((name, line) for name, line in named if name)


def first_text_argument(node: ast.Call) -> str:
    """The first of the first two arguments that is a text; empty if none is."""
    for argument in node.args[:2]:
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
            return argument.value[:LONGEST_TEXT]
    return ""


def type_arguments(node: ast.Call) -> list[str]:
    """Classes among the arguments, as in `decode(text, type=Order)`."""
    given = [*node.args[:3], *(k.value for k in node.keywords if k.arg in {"type", "cls", "model"})]
    names = [dotted(one) for one in given if isinstance(one, ast.Name | ast.Attribute)]
    return [last for name in names if (last := name.rpartition(".")[2])[:1].isupper()]


def message_of(call: ast.Call | None) -> str:
    """The fixed parts of the first text among the arguments; `…` replaces the others."""
    if call is None:
        return ""
    for argument in call.args:
        parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
        texts = [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
        if texts:
            return " ".join("…".join(texts).split())[:LONGEST_TEXT]
    return ""


def message_line(call: ast.Call | None) -> int:
    """The line of the first text among the arguments; 0 if there is none."""
    for argument in call.args if call is not None else ():
        parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
        if any(isinstance(p, ast.Constant) and isinstance(p.value, str) for p in parts):
            return argument.lineno
    return 0


def ends_flow(body: list[ast.stmt]) -> bool:
    """Whether control never passes from the end of a block to the next statement."""
    return isinstance(body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def task_target(node: ast.Call) -> str:
    """The function that a call starts as a task or thread, taken from its arguments."""
    for keyword in node.keywords:
        if keyword.arg in {"target", "function"}:
            return dotted(keyword.value)
    # Their first argument is the delay, the executor, or the thread group.
    skipped = dotted(node.func).rpartition(".")[2] in {"Timer", "run_in_executor", "Thread"}
    for argument in node.args[skipped:]:
        inner = argument.func if isinstance(argument, ast.Call) else argument
        name = dotted(inner)
        if name:
            return name
    return ""


def caught_names(node: ast.expr | None) -> list[str]:
    if node is None:
        return ["everything"]
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    return [dotted(one) for one in nodes]


def is_broad(caught: list[str]) -> bool:
    return bool({*caught} & {"everything", "Exception", "BaseException"})


def imported_name(node: ast.Import | ast.ImportFrom) -> str:
    if isinstance(node, ast.Import):
        return node.names[0].name
    return "." * node.level + (node.module or "")


def disposition_of(handler: ast.ExceptHandler) -> str:
    """What a handler does with the error: raises, logs, silent, returns, uses or other."""
    inner = [n for statement in handler.body for n in ast.walk(statement)]
    if any(isinstance(n, ast.Raise) for n in inner):
        return "raises"
    calls = [dotted(n.func) for n in inner if isinstance(n, ast.Call)]
    if any(name.partition(".")[0] in _LOGGERS or ".log" in name for name in calls):
        return "logs"
    if all(isinstance(s, _SILENT) or _is_constant(s) for s in handler.body):
        return "silent"
    uses_error = "sys.exc_info" in calls or (
        handler.name is not None
        and any(isinstance(n, ast.Name) and n.id == handler.name for n in inner)
    )
    last = handler.body[-1]
    if isinstance(last, ast.Return) and not uses_error and _is_empty(last.value):
        return "returns"
    return "uses" if uses_error else "other"


def _is_empty(value: ast.expr | None) -> bool:
    """Whether a returned value is a constant, an empty collection, or missing."""
    if isinstance(value, ast.Dict | ast.List | ast.Tuple):
        return not (value.keys if isinstance(value, ast.Dict) else value.elts)
    return value is None or isinstance(value, ast.Constant)


def _is_constant(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
