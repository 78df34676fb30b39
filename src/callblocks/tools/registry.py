"""The registry: the tools that a program knows, by name.

    registry = Registry([remove, send])
    registry |= Registry.from_module("tools.py")

    Parser(tools=registry)        dialect.teach(registry)        registry["remove"]

Iterating over a registry yields specifications, which is what a parser and a dialect take. Tools
that many programs never call are registered by name only, and made when one of them is needed:

    registry.add_later(["gmail_list", "gmail_read"], lambda: gmail_tools(office))
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias, cast

import msgspec

from callblocks.core.errors import BadSpec, BadTool, CallblocksError, UnknownTool
from callblocks.core.extras import needing
from callblocks.core.specs import (
    ToolLike,
    ToolSpec,
    ToolSpecs,
    entries,
    is_declared,
    read_annotated,
)
from callblocks.core.text import brief, close_to
from callblocks.tools.tool import Check, Checked, Tool, Traits, is_name

__all__ = (
    "Registry",
    "Run",
    "foreign_tool",
    "load_tools",
    "run_by",
)


class Registry:
    """Tools by name, in the order in which they were added.

    `tools` are in any of the shapes that `callblocks.core.specs` lists, mixed. A plain function is
    declared. A tool with a schema only is known but cannot run, unless `run(name, input)` runs it.
    `trust_hints` accepts the claims of dicts about their tools, such as MCP's `annotations`.
    """

    def __init__(
        self,
        tools: ToolSpecs = (),
        run: Callable[[str, dict[str, Any]], Any] | None = None,
        *,
        trust_hints: bool = False,
    ) -> None:
        self._tools: dict[str, Tool | _Later] = {}
        self._absent: dict[str, str] = {}
        if isinstance(tools, Registry):
            self._tools.update(tools._tools)
            self._absent.update(tools._absent)
        else:
            for at, entry in enumerate(entries(tools)):
                for tool in _tools_of(entry, at, trust_hints=trust_hints):
                    self._add(tool)
        if run is not None:
            self._tools = _run_by(self._tools, run)

    @classmethod
    def from_module(cls, module: str | os.PathLike[str]) -> Registry:
        """Return the tools of a Python file or of a module by its dotted name."""

        return cls(load_tools(module))

    @classmethod
    def from_json(
        cls,
        value: object,
        run: Callable[[str, dict[str, Any]], Any] | None = None,
        *,
        trust_hints: bool = False,
    ) -> Registry:
        """Return the tools of a value that was read from JSON, as `Registry(…)` takes them."""
        return cls(cast("ToolSpecs", value), run, trust_hints=trust_hints)

    def add(self, tool: ToolLike) -> Tool:
        """Add one tool; a second of the same name is refused."""
        made = _tools_of(tool, 0)
        if len(made) != 1:
            raise BadTool(f"{brief(tool)} is {len(made)} tools; `Registry(…)` takes them")
        return self._add(made[0])

    # A second tool of a name is refused, never replaced: a policy that names a tool must mean one.
    def _add(self, added: Tool) -> Tool:
        known = self._tools.get(added.name)
        if known is not None and _made(known, added.name) is not added:
            raise BadTool(
                f"two tools are named {added.name}: {_origin(_made(known, added.name))} and "
                f'{_origin(added)}; give one another name: `@tool(name="…")`'
            )
        self._tools[added.name] = added
        return added

    def add_later(self, names: Iterable[str], make: Callable[[], Iterable[Tool]]) -> None:
        """Add tools by their names; `make` returns exactly these, when one of them is needed."""
        later = _Later(tuple(names), make)
        for name in later.names:
            if name in self._tools:
                raise BadTool(f"two tools are named {name}; a kit that is made later has one too")
            self._tools[name] = later

    def note_absent(self, names: Iterable[str], install: str) -> None:
        """Note tools that are not here because an extra is not: `install` is how to get them."""
        self._absent.update(dict.fromkeys(names, install))

    @property
    def absent(self) -> Mapping[str, str]:
        """The tools that an extra would bring, each with the command that installs it."""
        return {name: how for name, how in self._absent.items() if name not in self._tools}

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or `None`."""
        known = self._tools.get(name)
        return None if known is None else _made(known, name)

    def choose(self, names: Iterable[str]) -> Registry:
        """Return a registry with only these of the tools, in the order of this one."""
        wanted = frozenset(names)
        chosen = {name: tool for name, tool in self._tools.items() if name in wanted}
        return _holding(chosen, self._absent)

    def only(self, patterns: Iterable[str]) -> Registry:
        """Return a registry with the tools whose names match one of these: `file_read`,
        `gmail_*`.
        """
        wanted = tuple(patterns)
        return self.choose(
            name for name in self._tools if any(fnmatchcase(name, one) for one in wanted)
        )

    def without(self, names: Iterable[str]) -> Registry:
        """Return a registry with all of the tools but these."""
        unwanted = frozenset(names)
        return self.choose(name for name in self._tools if name not in unwanted)

    @property
    def tools(self) -> tuple[Tool, ...]:
        """Return all tools."""
        return tuple(_made(tool, name) for name, tool in self._tools.items())

    @property
    def specs(self) -> Mapping[str, ToolSpec]:
        """Return the specification of each tool by its name; deferred tools are not made by
        this.
        """
        return _Specs(self._tools)

    @property
    def names(self) -> tuple[str, ...]:
        """Return all names."""
        return tuple(self._tools)

    def __getitem__(self, name: str) -> Tool:
        if name in self.absent:
            raise UnknownTool(name, self._tools, install=self._absent[name])
        if name not in self._tools:
            raise UnknownTool(name, self._tools, close_to(str(name), self._tools))
        return _made(self._tools[name], name)

    def __iter__(self) -> Iterator[ToolSpec]:
        return iter([tool.spec for tool in self.tools])

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __or__(self, other: Registry) -> Registry:
        both = self._tools | other._tools
        for name in self._tools.keys() & other._tools.keys():
            # A name in both registries must be the same tool; `add` has the message for any other.
            if self._tools[name] is not other._tools[name]:
                self.choose((name,)).add(other[name])
        return _holding(both, self._absent | other._absent)

    def __repr__(self) -> str:
        return f"Registry({', '.join(self._tools)})"


class _Later:
    """Tools that are known by name and not made yet; all registries that know them share the
    result.
    """

    def __init__(self, names: tuple[str, ...], make: Callable[[], Iterable[Tool]]) -> None:
        self.names = names
        self._make = make
        self._made: dict[str, Tool] | None = None
        self._lock = threading.RLock()

    @property
    def tools(self) -> dict[str, Tool]:
        """Return the tools by name; of several threads that ask, one makes them."""
        if self._made is None:
            with self._lock:
                self._made = self._made or self._make_all()
        return self._made

    def _make_all(self) -> dict[str, Tool]:
        # Checked against the announced names: a kit that makes other tools would break lookups
        # silently.
        made = {tool.name: tool for tool in self._make()}
        if made.keys() != set(self.names):
            odd = ", ".join(sorted(made.keys() ^ set(self.names)))
            raise BadTool(f"a kit does not make the tools that it was added with: {odd}")
        return made


class _Specs(Mapping[str, ToolSpec]):
    """Specifications by name, each looked up when it is needed."""

    def __init__(self, tools: dict[str, Tool | _Later]) -> None:
        self._tools = tools

    def __getitem__(self, name: str) -> ToolSpec:
        return _made(self._tools[name], name).spec

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)


def _made(tool: Tool | _Later, name: str) -> Tool:
    return tool.tools[name] if isinstance(tool, _Later) else tool


def _holding(tools: dict[str, Tool | _Later], absent: Mapping[str, str]) -> Registry:
    """A registry of what is known to fit together."""
    registry = Registry()
    registry._absent.update(absent)  # pyright: ignore[reportPrivateUsage] it is our own
    registry._tools.update(tools)  # pyright: ignore[reportPrivateUsage] it is our own
    return registry


def _run_by(
    tools: dict[str, Tool | _Later], run: Callable[[str, dict[str, Any]], Any]
) -> dict[str, Tool | _Later]:
    """Let `run` run the tools without a function; deferred tools stay deferred."""
    # Names of one kit share one deferred object; wrapping each name by itself would make the kit
    # several times.
    kits: dict[_Later, _Later] = {}
    ran: dict[str, Tool | _Later] = {}
    for name, tool in tools.items():
        if isinstance(tool, _Later):
            made = _Later(
                tool.names, lambda kit=tool: [run_by(one, run) for one in kit.tools.values()]
            )
            ran[name] = kits.setdefault(tool, made)
        else:
            ran[name] = run_by(tool, run)
    return ran


def _tools_of(entry: object, at: int, *, trust_hints: bool = False) -> Sequence[Tool]:
    """Return the tool that an entry is or declares, or those that it describes."""
    if isinstance(entry, Tool):
        return (entry,)
    if is_declared(entry):
        with needing("run", "declaring a tool by a function"):
            from callblocks.tools.declare import is_model
            from callblocks.tools.declare import tool as declare

        if not is_model(entry):
            return (declare(entry),)
    # An instance with `spec` and `__call__` runs itself; a class with `spec` is only a description.
    has_spec = isinstance(getattr(entry, "spec", None), ToolSpec)
    own = entry if has_spec and callable(entry) and not isinstance(entry, type) else None
    return [
        foreign_tool(spec, hints if trust_hints else {}, own)
        for spec, hints in read_annotated(entry, at)
    ]


def _origin(tool: Tool) -> str:
    """Return where a tool comes from, for a person to find it."""
    code = getattr(tool.function, "__code__", None)
    if code is None or tool.origin == "external":
        return f"one that is {tool.origin}"
    return f"{code.co_filename}:{code.co_firstlineno}"


# --- The tools of a Python file or module: `-T tools.py`, `-T my_package.tools` ---
#
#     TOOLS = [remove, send]        these, where the module lists them
#     __all__ = ["remove"]          or else the tools that it exports
#     @tool def remove(…): …        or else every tool at its top level
#
# The file is executed, but its folder is not put on `sys.path`: a file that a model wrote into the
# same folder must never be imported in place of a module of that name.

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


# --- Tools that are known by their schema only and run elsewhere: a list of dicts ---
#
#     [{"type": "function", "function": {"name": "search", "parameters": {…}}}]
#
# The dicts are those of OpenAI, Anthropic, Gemini, MCP and others (`callblocks.core.specs`).
#
# Their behaviour is unknown, so the worst is assumed: destructive, and reaching out. A list's own
# claims about its tools, such as `annotations` with `readOnlyHint`, count only where the caller
# trusts the list: a hostile server would call its tools read-only.


# A function that runs a tool by its name and input, sync or async, and returns an envelope.
Run: TypeAlias = Callable[[str, dict[str, Any]], Any]


def foreign_tool(
    spec: ToolSpec, hints: Mapping[str, Any], own: Callable[..., Any] | None = None
) -> Tool:
    """Make a tool from a specification; `hints` are the claims of its list.

    `own` is the object that has the specification, where it can be called; without it, the tool is
    known but cannot run.
    """
    if not is_name(spec.name):
        raise BadSpec(f"{spec.name!r:.80} is no name for a tool; use letters, digits and `_-.:/`")
    _require_object(spec)
    return Tool(
        spec=spec,
        check=_schema_check(spec),
        function=own and _caller(own),
        traits=_traits(hints),
        origin="external" if own is None else "function",
    )


def run_by(tool: Tool, run: Run) -> Tool:
    """Return the tool with `run` as its function, if it has none itself."""
    if tool.function is not None:
        return tool
    return msgspec.structs.replace(tool, function=_runner(tool.name, run))


def _schema_check(spec: ToolSpec) -> Check:
    """Return the check of an input by the schema.

    Reading, writing and teaching check no input: without the packages that do, a tool is known,
    and `MissingExtra` is raised when an input is to be checked.
    """
    try:
        from callblocks.tools.schema_check import SchemaCheck
    except ImportError:

        def check(given: dict[str, Any]) -> Checked:
            with needing("run", f"checking the input of {spec.name}"):
                from callblocks.tools.schema_check import SchemaCheck
            return SchemaCheck(spec.name, spec.parameters)(given)

        return check
    return SchemaCheck(spec.name, spec.parameters)


def _require_object(spec: ToolSpec) -> None:
    kind = spec.parameters.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise BadSpec(f"tool {spec.name}: its parameters are an object, not {kind!r:.60}")
    if spec.body is not None and spec.body not in spec.properties:
        raise BadSpec(f"tool {spec.name}: its body {spec.body!r:.60} is no parameter")


def _runner(name: str, run: Run) -> Callable[..., Any]:
    """Return the function of one tool; it is async if the caller's is."""
    if _is_async(run):

        async def answer_later(**values: Any) -> Any:
            return await run(name, values)

        return answer_later

    def answer(**values: Any) -> Any:
        return run(name, values)

    return answer


def _caller(own: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that calls an object, and is async where the object is."""
    if not _is_async(own):
        return own

    async def answer_later(**values: Any) -> Any:
        return await own(**values)

    return answer_later


def _is_async(run: Callable[..., Any]) -> bool:
    called = getattr(run, "__call__", None)  # noqa: B004 an object may be called and be async
    return inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(called)


def _traits(hints: Mapping[str, Any]) -> Traits:
    """Return the traits that hints give; a hint that is not `true` or `false` is ignored."""
    said = {key: value for key, value in hints.items() if isinstance(value, bool)}
    read_only = said.get("readOnlyHint", False)
    return Traits(
        read_only=read_only,
        destructive=not read_only and said.get("destructiveHint", True),
        idempotent=said.get("idempotentHint", read_only),
        open_world=said.get("openWorldHint", True),
    )
