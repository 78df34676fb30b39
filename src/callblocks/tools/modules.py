"""The tools of a Python file or module: `-T tools.py`, `-T my_package.tools`.

    TOOLS = [remove, send]        these, where the module lists them
    __all__ = ["remove"]          or else the tools that it exports
    @tool def remove(…): …        or else every tool at its top level

The file is executed, but its folder is not put on `sys.path`: a file that a model wrote into the
same folder must never be imported in place of a module of that name.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from callblocks.model.brief import brief
from callblocks.model.errors import BadSpec, BadTool, CallblocksError
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

__all__ = ("load_tools",)

_EXAMPLE = "declare one: `from callblocks import tool`, then `@tool` above a typed function"


def load_tools(module: str | os.PathLike[str]) -> tuple[Tool, ...]:
    """Load a file (`tools.py`, a path) or a dotted name, and collect its tools."""
    name = os.fspath(module)
    found = _found(_load(name), name)
    try:
        tools = Registry(found).tools
    # The file's name goes before the message, because several files may be loaded.
    except (BadTool, BadSpec) as error:
        raise BadTool(f"{name}: {error}") from error
    if not tools:
        raise BadTool(f"{name} has no tools; {_EXAMPLE}")
    return tools


def _load(name: str) -> ModuleType:
    # A path wins over a module name: what the person can see in the folder is what they mean.
    if name.endswith(".py") or os.sep in name or Path(name).is_file():
        return _load_file(Path(name))
    return _run(name, lambda: importlib.import_module(name), name)


def _load_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise BadTool(f"{path}: no such file; tools are in a Python file or a module")
    whole = path.resolve()
    module = ModuleType(f"callblocks_tools_{hashlib.sha256(os.fsencode(whole)).hexdigest()[:16]}")
    module.__file__ = str(whole)
    # Dataclasses and pydantic look up `sys.modules[cls.__module__]` while a class is created.
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try:
        _run(str(path), lambda: _execute(module, whole), str(whole))
    except BaseException:
        _restore(module.__name__, before)
        raise
    return module


def _execute(module: ModuleType, path: Path) -> None:
    # Read and compiled here, because `__pycache__` may have been written by anyone.
    code = compile(path.read_bytes(), path, "exec", dont_inherit=True)
    exec(code, module.__dict__)


def _restore(name: str, before: ModuleType | None) -> None:
    if before is None:
        del sys.modules[name]
    else:
        sys.modules[name] = before


def _run(name: str, load: Callable[[], Any], filename: str) -> Any:
    try:
        return load()
    except (Exception, SystemExit) as error:  # the module's own code may raise anything
        raise BadTool(
            f"{name} cannot be loaded{_where(error, filename)}: {_what(error)}"
        ) from error


def _where(error: BaseException, filename: str) -> str:
    """Return the line of the file that failed: of a syntax error, or the last that ran in it."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f" (line {error.lineno} of {error.filename})"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == filename] or [
        frame for frame in frames if "importlib" not in frame.filename
    ]
    own = [frame for frame in own if frame.filename != __file__]
    return f" (line {own[-1].lineno} of {own[-1].filename})" if own else ""


def _what(error: BaseException) -> str:
    if isinstance(error, CallblocksError):
        return str(error)
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    what = f"{type(error).__name__}: {brief(str(error), 200)[1:-1]}"
    if isinstance(error, ModuleNotFoundError):
        return f"{what}; a file of tools does not see the files beside it: give a package instead"
    return what


def _found(module: ModuleType, name: str) -> Iterable[Tool]:
    listed = getattr(module, "TOOLS", None)
    if listed is not None:
        return _listed(listed, name)
    exported = getattr(module, "__all__", None)
    names = vars(module) if exported is None else exported
    values = [getattr(module, one, None) for one in names]
    return [value for value in values if isinstance(value, Tool)]


def _listed(listed: object, name: str) -> Iterable[Tool]:
    if isinstance(listed, Registry):
        return listed.tools
    if isinstance(listed, list | tuple):
        return cast("list[Tool]", listed)
    raise BadTool(f"{name}: TOOLS is a list of tools, not {brief(listed)}")
