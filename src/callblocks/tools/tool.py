"""A tool: what a model sees of it, what a policy knows of it, and the function that runs it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import cached_property
from typing import Any, Literal, TypeAlias

import msgspec

from callblocks.model.errors import CallerError
from callblocks.model.specs import ToolSpec
from callblocks.tools.places import formats_of, holds_format, values_of_format
from callblocks.tools.traits import Traits

__all__ = (
    "Check",
    "Checked",
    "FieldFault",
    "OfInput",
    "Origin",
    "Paths",
    "Precheck",
    "StandsFor",
    "Tool",
)

Origin: TypeAlias = Literal["builtin", "function", "external"]
"""builtin: shipped here; function: a caller's own; external: runs elsewhere."""


class FieldFault(msgspec.Struct, frozen=True):
    """What is wrong with one field of an input, in words a model can act on.

    `field` is a path such as `to` or `rows[2].name`; "" is the input as a whole.
    """

    field: str
    problem: str


class Checked(msgspec.Struct, frozen=True):
    """An input after checking: values as the function takes them, or what is wrong.

    `input` is the input that was meant, as JSON, where it was not taken as it was given.
    """

    values: dict[str, Any] = {}
    faults: tuple[FieldFault, ...] = ()
    input: dict[str, Any] | None = None


Check: TypeAlias = Callable[[dict[str, Any]], Checked]
Paths: TypeAlias = Callable[[dict[str, Any]], Iterable[object]]
OfInput: TypeAlias = Callable[[dict[str, Any]], bool]
Precheck: TypeAlias = Callable[..., Awaitable[None] | None]
"""Takes the checked values as keywords; raises `ToolError` where the call cannot work."""
StandsFor: TypeAlias = Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]
"""Takes the checked values, and gives the name and the input of the call that is meant."""


class Tool(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Something that can be called.

    `function` takes the checked values as keywords; a tool without one is known but cannot run
    here. `context` names the parameter that takes a `Context`. `preview` tells what a call would
    change, for a person to see before it is approved: it takes the same values, and changes
    nothing. A `ToolError` that it raises for what the call says is its outcome, and nobody is
    asked. `precheck` takes the same values, changes nothing, and raises the `ToolError` of a call
    that cannot work, whoever says yes to it: it runs before a person is asked. `paths` gives the
    paths that an input means, where its single parameters do not. `reaches` gives the files that an
    input means by an id: it may have to look them up, and is only asked where a policy has a rule
    about paths. `reaches_any_host` says whether a call with this input may reach any host, where
    the tool as such does not reach out: it is judged as a call of an `open_world` tool is.
    `isolated` runs the function in a process of its own. With `stands_for` a call of this tool is
    another way to write a call of another: that one is judged, approved and run in its place.

    `stores` names the place where a tool keeps what it is given, outside of the workspace: what a
    tainted call put there taints whoever reads it, by any tool that names the same place. Tools
    that say nothing and do not come with callblocks share one; "" is for a tool that keeps nothing.
    `carries` gives the paths of what leaves with a call, where its other paths do not say it.
    """

    spec: ToolSpec
    check: Check
    function: Callable[..., Any] | None = None
    traits: Traits = Traits()
    origin: Origin = "function"
    needs_approval: bool = False
    timeout: float | None = None
    context: str | None = None
    preview: Callable[..., str] | None = None
    precheck: Precheck | None = None
    paths: Paths | None = None
    reaches: Paths | None = None
    reaches_any_host: OfInput | None = None
    isolated: bool = False
    stands_for: StandsFor | None = None
    stores: str | None = None
    carries: Paths | None = None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the function itself, as Python code that imported it expects."""
        if self.function is None:
            raise CallerError(f"the tool {self.name} has no function here; it is only known")
        return self.function(*args, **kwargs)

    @property
    def name(self) -> str:
        """The name that a call uses."""
        return self.spec.name

    @property
    def brings_text_of_others(self) -> bool:
        """Whether that is known before it runs; some tools say so when they do.

        What reaches out may bring such text. A tool that comes with callblocks tells: by its kind,
        or by `context.taint`.
        """
        reaches_out = self.traits.open_world and self.origin != "builtin"
        return reaches_out or self.traits.kind == "source"

    @property
    def is_sandboxed(self) -> bool:
        """Whether it runs commands in our sandbox, from where nothing leaves but by the network."""
        return self.traits.kind == "exec" and self.origin == "builtin"

    def with_defaults(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return an input with the default of each parameter that is not given and has one."""
        defaults = {
            name: schema["default"]
            for name, schema in self.spec.properties.items()
            if "default" in schema and name not in given
        }
        return {**given, **defaults}

    @cached_property
    def _formats(self) -> frozenset[str]:
        """Most tools have none of these formats: then no input need be looked through."""
        return formats_of(self.spec.parameters, self.spec.parameters)

    def parameters_of_format(self, *formats: str) -> tuple[str, ...]:
        """The parameters that hold a value of one of these formats, at any depth: `path`, `uri`."""
        root = self.spec.parameters
        known = self.spec.properties.items()
        return tuple(name for name, schema in known if holds_format(schema, root, formats))

    def values_of_format(self, given: dict[str, Any], *formats: str) -> tuple[Any, ...]:
        """The values of an input that have one of these formats, in lists and objects too."""
        if self._formats.isdisjoint(formats):
            return ()
        return values_of_format(self.spec.parameters, given, formats)
