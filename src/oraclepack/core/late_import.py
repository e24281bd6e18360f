"""Importing a library without the modules it imports and hardly ever uses.

click imports `inspect` to lay out help, msgspec `textwrap` for schemas; such modules cost more than
a short command itself. While a library is being imported, stand-ins take their places. A stand-in
imports the real module as soon as something of it is used, so nothing is lost but the wait; what
others import later is the real one from the start, unless the stand-in is told to last.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class _StandIn(ModuleType):
    """A module that is imported when something of it is used."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)  # `find_spec` wants one of whatever is loaded

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the module holds
        if name.startswith("__"):
            raise AttributeError(name)  # `from … import` asks for `__path__`, and uses nothing
        if sys.modules.get(self.__name__) is self:
            sys.modules.pop(self.__name__, None)  # another thread may be as far
        return getattr(import_module(self.__name__), name)


@contextmanager
def imported_late(
    modules: Mapping[str, Mapping[str, object]], lasting: Collection[str] = ()
) -> Iterator[None]:
    """Stand-ins for modules that are not loaded yet, each with what it can answer by itself.

    Afterwards they are gone but for the `lasting` ones, which stay until they are used.
    """
    stand_ins = {name: _StandIn(name) for name in modules if name not in sys.modules}
    for name, module in stand_ins.items():
        vars(module).update(modules[name])
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name, module in stand_ins.items():
            if sys.modules.get(name) is module and name not in lasting:
                del sys.modules[name]


def late_function(module: str, name: str) -> Callable[..., Any]:
    """A function of a module that is imported when the function is called."""

    def called(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - whatever the function takes
        return getattr(import_module(module), name)(*args, **kwargs)

    return called
