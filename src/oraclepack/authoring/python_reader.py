"""One walk over the tree of a Python module: definitions, imports and marks."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from oraclepack.authoring.python_nodes import (
    LONGEST_TEXT,
    caught_names,
    class_named_by,
    decorators_of,
    disposition_of,
    dotted,
    ends_flow,
    first_text_argument,
    imported_name,
    is_broad,
    is_public,
    message_line,
    message_of,
    switch_text,
    task_target,
    type_arguments,
)
from oraclepack.authoring.source_facts import Definition, ImportedModule, Mark, MarkKind

_MUTATORS = frozenset(
    {"append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "clear"}
    | {"remove", "discard", "appendleft", "popleft"}
)
_ENUM_BASES = frozenset({"Enum", "StrEnum", "IntEnum", "Flag", "IntFlag"})
_ENV_CALLS = frozenset({"os.getenv", "os.environ.get", "environ.get", "getenv", "os.environ.pop"})
_LOCK = re.compile(r"(?:^|[._])(?:r?lock|mutex|semaphore|condition)s?$", re.IGNORECASE)
_TASKS = frozenset(
    {"threading.Thread", "Thread", "threading.Timer", "Timer", "multiprocessing.Process"}
    | {"asyncio.create_task", "create_task", "asyncio.ensure_future", "ensure_future"}
)
_TASK_METHOD = re.compile(
    r"(?i:loop|group|tg|nursery|\(\))\.create_task$|(?i:executor|exec|pool|client|\(\))\.submit$"
    r"|\.(?:apply_async|run_in_executor|start_soon)$"
)
"""Methods that start something, of objects that can: others have methods of these names too."""
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})


class _Scope:
    """The position of the reader inside the module."""

    __slots__ = (
        "finishing",
        "handling",
        "klass",
        "locked",
        "loop",
        "owner",
        "parameters",
        "trying",
        "types",
    )

    def __init__(self, owner: int = -1, klass: int = -1, parameters: Iterable[str] = ()) -> None:
        self.owner = owner
        self.klass = klass
        self.parameters = frozenset(parameters)
        self.loop = 0
        self.locked = 0
        self.trying = 0
        self.handling = 0
        self.finishing = 0
        self.types: dict[str, str] = {}
        """The classes of parameters and local names, as far as they are written down."""


class PythonReader:
    """One walk over the tree of a module."""

    def __init__(self, tree: ast.Module, names: "ModuleNames") -> None:
        self._tree = tree
        self._scope = _Scope()
        self._comparing = ""
        self._chained: set[ast.If] = set()
        self._typing = False
        self._branches: list[int] = []
        self._module_values = names
        self._handlers: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
            ast.Call: self._call,
            ast.Raise: self._raise,
            ast.Return: self._return,
            ast.Try: self._try,
            ast.TryStar: self._try,
            ast.If: self._branch,
            ast.IfExp: self._count,
            ast.While: self._loop,
            ast.For: self._loop,
            ast.AsyncFor: self._loop,
            ast.comprehension: self._count,
            ast.match_case: self._case,
            ast.Compare: self._compare,
            ast.Dict: self._dictionary,
            ast.With: self._with,
            ast.AsyncWith: self._with,
            ast.Assign: self._assign,
            ast.AnnAssign: self._assign,
            ast.AugAssign: self._assign,
            ast.Delete: self._delete,
            ast.Subscript: self._subscript,
            ast.Attribute: self._attribute,
            ast.Expr: self._expression,
        }
        self.definitions: list[Definition] = []
        self.imports: list[ImportedModule] = []
        self.marks: list[Mark] = []
        self.lines: set[int] = set()
        self.prose: set[int] = set()

    def read(self) -> None:
        for statement in self._tree.body:
            self._visit(statement)

    def finished(self) -> list[Definition]:
        return [
            d._replace(branches=n) for d, n in zip(self.definitions, self._branches, strict=True)
        ]

    def _visit(self, node: ast.AST) -> None:
        handler = self._handlers.get(type(node))
        if isinstance(node, ast.stmt):
            self.lines.add(node.lineno)
        if handler is not None:
            handler(node)
        else:
            self._children(node)

    def _children(self, node: ast.AST) -> None:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        self._visit(item)
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                self._visit(value)

    def _all(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self._visit(node)

    def _mark(
        self,
        kind: MarkKind,
        line: int,
        name: str,
        detail: str = "",
        flags: Iterable[str] = (),
        lines: tuple[int, ...] = (),
    ) -> None:
        mark = Mark(kind, line, self._scope.owner, name, detail, frozenset(flags), lines)
        self.marks.append(mark)

    def _place(self) -> list[str]:
        scope = self._scope
        places = ["loop"] if scope.loop else []
        places += ["locked"] if scope.locked else []
        places += ["try"] if scope.trying else []
        places += ["handler"] if scope.handling else []
        places += ["finally"] if scope.finishing else []
        return places

    # Definitions

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        scope, arguments = self._scope, node.args
        in_class = scope.klass >= 0 and scope.owner == scope.klass
        plain = [*arguments.posonlyargs, *arguments.args]
        defaults = dict(zip([a.arg for a in plain[::-1]], arguments.defaults[::-1], strict=False))
        defaults |= {
            a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d
        }
        names = [a.arg for a in (*plain, *arguments.kwonlyargs)]
        if in_class and names and names[0] in {"self", "cls"}:
            names = names[1:]
        switches = [n for n in names if isinstance(getattr(defaults.get(n), "value", None), bool)]
        self._define(
            Definition(
                node.name,
                "method" if in_class else "function",
                node.lineno,
                node.end_lineno or node.lineno,
                scope.owner,
                tuple(names),
                tuple(switches),
                decorators=decorators_of(node.decorator_list),
                is_public=is_public(node.name) and self._is_reachable(),
                is_async=isinstance(node, ast.AsyncFunctionDef),
                has_return_type=node.returns is not None,
            )
        )
        self._all(node.decorator_list)
        self._all([d for d in (*arguments.defaults, *arguments.kw_defaults) if d is not None])
        self._scope = _Scope(len(self.definitions) - 1, scope.klass if in_class else -1, names)
        typed = ((a.arg, class_named_by(a.annotation)) for a in (*plain, *arguments.kwonlyargs))
        self._scope.types = {name: known for name, known in typed if known}
        self._all(node.body)
        self._scope = scope

    def _is_reachable(self) -> bool:
        """Whether what is defined here can be named from outside: no function is around it."""
        owner = self._scope.owner
        return owner < 0 or (self.definitions[owner].is_public and owner == self._scope.klass)

    def _class(self, node: ast.ClassDef) -> None:
        scope = self._scope
        bases = tuple(dotted(base) for base in node.bases)
        is_enum = any(base.rpartition(".")[2] in _ENUM_BASES for base in bases)
        members = tuple(
            (target.id, statement.lineno)
            for statement in node.body
            if is_enum and isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Name) and target.id.isupper()
        )
        self._define(
            Definition(
                node.name,
                "enum" if is_enum else "class",
                node.lineno,
                node.end_lineno or node.lineno,
                scope.owner,
                bases=bases,
                decorators=decorators_of(node.decorator_list),
                members=members,
                is_public=is_public(node.name) and self._is_reachable(),
            )
        )
        self._all(node.decorator_list)
        index = len(self.definitions) - 1
        self._scope = _Scope(index, index)
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                flags = ["default"] if statement.value is not None else []
                name, line = statement.target.id, statement.lineno
                self._mark(MarkKind.FIELD_SHAPE, line, name, flags=flags)
        self._all(node.body)
        self._scope = scope

    def _define(self, definition: Definition) -> None:
        self.definitions.append(definition)
        self._branches.append(0)

    # Imports

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            local = alias.asname or alias.name.partition(".")[0]
            names = ((local, ""),) if alias.asname else ((alias.name, ""),)
            inside = self._scope.owner >= 0
            module = ImportedModule(alias.name, node.lineno, names, inside, self._typing)
            self.imports.append(module)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        names = tuple((alias.asname or alias.name, alias.name) for alias in node.names)
        inside = self._scope.owner >= 0
        self.imports.append(ImportedModule(module, node.lineno, names, inside, self._typing))

    # Statements

    def _expression(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            # A docstring, or a text that does nothing.
            self.lines.discard(node.lineno)
            self.prose.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            return
        self._visit(node.value)

    def _count(self, node: ast.AST) -> None:
        if self._scope.owner >= 0:
            self._branches[self._scope.owner] += 1
        self._children(node)

    def _branch(self, node: ast.If) -> None:
        if dotted(node.test).rpartition(".")[2] == "TYPE_CHECKING":
            self._typing = True
            self._all(node.body)
            self._typing = False
            self._all(node.orelse)
            return
        parameters = self._scope.parameters
        names = ast.walk(node.test) if parameters else ()
        used = sorted({n.id for n in names if isinstance(n, ast.Name)} & parameters)
        following = node.orelse[0] if len(node.orelse) == 1 else None
        if isinstance(following, ast.If):
            self._chained.add(following)
        ends = isinstance(following, ast.If) or node in self._chained or ends_flow(node.body)
        flags = [*self._place(), *(["ends"] if ends else [])]
        self._mark(MarkKind.BRANCH, node.lineno, "if", " ".join(used), flags)
        self._count(node)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While) -> None:
        scope = self._scope
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant)
        flags = [*self._place(), *(["endless"] if endless else [])]
        self._mark(MarkKind.LOOP, node.lineno, "while" if endless else "for", flags=flags)
        if scope.owner >= 0:
            self._branches[scope.owner] += 1
        head = [node.test] if isinstance(node, ast.While) else [node.target, node.iter]
        self._all(head)
        scope.loop += 1
        self._all(node.body)
        scope.loop -= 1
        self._all(node.orelse)

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        locks = 0
        for item in node.items:
            expression = item.context_expr
            called = expression.func if isinstance(expression, ast.Call) else expression
            locks += bool(_LOCK.search(dotted(called)))
            if isinstance(expression, ast.Call):
                if isinstance(item.optional_vars, ast.Name):
                    self._learn(item.optional_vars.id, expression)
                self._record_call(expression, "with")
                self._arguments(expression)
            else:
                self._visit(expression)
        self._scope.locked += bool(locks)
        self._all(node.body)
        self._scope.locked -= bool(locks)

    def _try(self, node: ast.Try | ast.TryStar) -> None:
        self._scope.trying += 1
        self._all(node.body)
        self._scope.trying -= 1
        first = node.body[0].lineno
        for handler in node.handlers:
            caught = caught_names(handler.type)
            if {*caught} & _IMPORT_ERRORS and isinstance(node.body[0], ast.Import | ast.ImportFrom):
                name = imported_name(node.body[0])
                self._mark(MarkKind.OPTIONAL_IMPORT, first, name, lines=(handler.lineno,))
            body = disposition_of(handler)
            lines = (handler.body[0].lineno, first)
            flags = ["broad"] if is_broad(caught) else []
            flags += ["loop"] if self._scope.loop else []
            self._mark(MarkKind.HANDLER, handler.lineno, ", ".join(caught), body, flags, lines)
            self._scope.handling += 1
            self._all(handler.body)
            self._scope.handling -= 1
        self._all(node.orelse)
        self._scope.finishing += 1
        self._all(node.finalbody)
        self._scope.finishing -= 1

    def _raise(self, node: ast.Raise) -> None:
        call = node.exc if isinstance(node.exc, ast.Call) else None
        name = dotted(call.func if call else node.exc)
        if name:
            lines = (message_line(call) or node.lineno,)
            self._mark(MarkKind.RAISE, node.lineno, name, message_of(call), self._place(), lines)
        self._children(node)

    def _return(self, node: ast.Return) -> None:
        none = node.value is None or (
            isinstance(node.value, ast.Constant) and node.value.value is None
        )
        self._mark(MarkKind.RETURN, node.lineno, "return", flags=["none" if none else "value"])
        self._children(node)

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            self._target(target, node)
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return
        if node.value is not None:
            self._visit(node.value)

    def _target(self, target: ast.expr, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        scope = self._scope
        if isinstance(target, ast.Tuple | ast.List):
            for part in target.elts:
                self._target(part, node)
        elif isinstance(target, ast.Attribute):
            if isinstance(target.value, ast.Name) and target.value.id in {"self", "cls"}:
                self._mark(MarkKind.FIELD, node.lineno, target.attr, flags=self._place())
            else:
                self._visit(target.value)
        elif isinstance(target, ast.Subscript):
            self._mutation(target.value, node.lineno)
            self._visit(target.slice)
        elif isinstance(target, ast.Name):
            self._learn(target.id, node.value)
            if scope.owner < 0:
                self._module_value(target.id, node)
            elif isinstance(node, ast.AugAssign) or target.id in self._module_values.rebound:
                self._mutation(target, node.lineno)

    def _learn(self, name: str, value: ast.expr | None) -> None:
        """Remember the class of a local name that an object of it is given to."""
        made = dotted(value.func) if isinstance(value, ast.Call) else ""
        self._scope.types.pop(name, None)
        if made.rpartition(".")[2][:1].isupper():
            self._scope.types[name] = made

    def _module_value(self, name: str, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> None:
        flags = ["mutable"] if name in self._module_values.mutable else []
        text = ""
        if isinstance(node.value, ast.Constant | ast.BinOp | ast.UnaryOp):
            text = ast.unparse(node.value)
        if len(text) <= LONGEST_TEXT:
            self._mark(MarkKind.MODULE_VALUE, node.lineno, name, text, flags)

    def _mutation(self, target: ast.expr, line: int) -> None:
        if isinstance(target, ast.Name) and self._scope.owner >= 0:
            known = target.id in self._module_values.mutable
            if known or target.id in self._module_values.rebound:
                self._mark(MarkKind.MUTATION, line, target.id, flags=self._place())

    def _delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                self._mutation(target.value, node.lineno)
        self._children(node)

    # Expressions

    def _call(self, node: ast.Call) -> None:
        self._record_call(node)
        if not isinstance(node.func, ast.Name):
            function = node.func
            self._visit(function.value if isinstance(function, ast.Attribute) else function)
        self._arguments(node)

    def _arguments(self, node: ast.Call) -> None:
        self._all(node.args)
        self._all([keyword.value for keyword in node.keywords])

    def _record_call(self, node: ast.Call, flag: str = "") -> None:
        name = dotted(node.func)
        if not name:
            return
        line = node.func.end_lineno or node.lineno
        flags = [*self._place(), f"args:{len(node.args)}", *([flag] if flag else [])]
        for keyword in node.keywords[:12]:
            value = keyword.value
            flags.append(f"kw:{keyword.arg or '**'}{switch_text(value)}")
        flags += [f"type:{name}" for name in type_arguments(node)]
        holder, _, method = name.rpartition(".")
        if holder in self._scope.types:
            flags.append(f"on:{self._scope.types[holder]}")
        self._mark(MarkKind.CALL, line, name, first_text_argument(node), flags)
        if name in _ENV_CALLS and self._is_environment(name):
            self._env(node, line)
        if name in _TASKS or _TASK_METHOD.search(name):
            self._mark(MarkKind.TASK, line, task_target(node) or name, name, self._place())
        if method in _MUTATORS and holder in self._module_values.mutable and self._scope.owner >= 0:
            self._mark(MarkKind.MUTATION, line, holder, flags=self._place())

    def _is_environment(self, name: str) -> bool:
        """Whether a name means the variables of the process: WSGI calls a request `environ`."""
        root = name.partition(".")[0]
        return name.startswith("os.") or any(
            one.module == "os" and any(local == root for local, _ in one.names)
            for one in self.imports
        )

    def _env(self, node: ast.Call, line: int) -> None:
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            default = ast.unparse(node.args[1]) if len(node.args) > 1 else "None"
            self._mark(MarkKind.ENV, line, first.value, default[:LONGEST_TEXT], self._place())

    def _subscript(self, node: ast.Subscript) -> None:
        key = node.slice
        is_text = isinstance(key, ast.Constant) and isinstance(key.value, str)
        if is_text and self._is_environment(dotted(node.value)):
            assert isinstance(key, ast.Constant)
            self._mark(MarkKind.ENV, node.lineno, str(key.value), "", self._place())
        self._children(node)

    @contextmanager
    def _naming(self, how: str) -> Iterator[None]:
        """Inside, members of enumerations are named in order to tell cases apart."""
        before, self._comparing = self._comparing, how
        yield
        self._comparing = before

    def _compare(self, node: ast.Compare) -> None:
        with self._naming("compare"):
            self._children(node)

    def _case(self, node: ast.match_case) -> None:
        with self._naming("case"):
            self._visit(node.pattern)
        if self._scope.owner >= 0:
            self._branches[self._scope.owner] += 1
        self._all([*([node.guard] if node.guard else []), *node.body])

    def _dictionary(self, node: ast.Dict) -> None:
        """The keys of a table say which cases it covers."""
        with self._naming("key"):
            self._all([key for key in node.keys if key is not None])
        self._all(node.values)

    def _attribute(self, node: ast.Attribute) -> None:
        root = node.value
        if isinstance(root, ast.Name):
            is_member = node.attr.isupper() and root.id[:1].isupper() and not root.id.isupper()
            if is_member and self._comparing:
                name = f"{root.id}.{node.attr}"
                self._mark(MarkKind.MEMBER, node.lineno, name, flags=[self._comparing])
        else:
            self._visit(root)


class ModuleNames:
    """Names bound at module level."""

    __slots__ = ("mutable", "rebound")

    def __init__(self, mutable: frozenset[str], rebound: frozenset[str]) -> None:
        self.mutable = mutable
        self.rebound = rebound
        """Names that some function declares `global`."""
