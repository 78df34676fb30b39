"""Tools, choices of tools and forms of an answer, as both APIs of OpenAI have them.

    tools = OpenAITools()
    tools.read(tool)                         one entry of `tools`
    tools.specs, tools.free_text, tools.strict, tools.left_out, tools.namespaces
    tools.choice(fields, "tool_choice")      the tools that the reply may or must call
    json_format(form)                        the form of an answer

Chat completions nest what a tool is below its type (`{"type": "function", "function": {…}}`), and
responses do not. Clients and proxies mix the two up, so both forms are read on both wires.

A tool of a namespace is named `namespace.tool` for the model. `namespaces` says which name its
client knows it by.
"""

from __future__ import annotations

from typing import Any

from callblocks.core.specs import ToolSpec
from callblocks.core.text import brief
from callblocks.gateway.exchange import ANY_TOOL, Demand, JsonFormat, ToolChoice
from callblocks.gateway.wires.parts import (
    Fields,
    as_fields,
    choice_of,
    free_text_spec,
    tool_spec,
)

__all__ = ("OpenAITools", "json_format")

# What clients send for a choice that names no tool, as a text or as the `type` of an object.
_PLAIN_CHOICES: dict[str, Demand] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "any": "required",
}


class OpenAITools:
    """The tools of a request, by the name under which the model knows them."""

    def __init__(self) -> None:
        self.specs: dict[str, ToolSpec] = {}
        self.free_text: set[str] = set()
        self.strict: set[str] = set()
        self.left_out: list[str] = []
        # The namespace and the inner name of each tool that has a namespace.
        self.namespaces: dict[str, tuple[str, str]] = {}

    def read(self, tool: Fields, namespace: str = "") -> None:
        """Take one entry of `tools`; one of an unknown kind is left out and named."""
        kind = tool.text("type", "function")
        match kind:
            case "function":
                self.read_function(tool.object("function") or tool, namespace)
            case "custom":
                self._custom(tool.object("custom") or tool, namespace)
            case "namespace":
                outer = tool.object("namespace") or tool
                for inner in outer.objects("tools"):
                    self.read(inner, outer.needed_text("name"))
            case _:
                name = tool.get("name") or tool.get("server_label")
                self.left_out.append(f"{kind} {name}" if isinstance(name, str) else kind)

    def read_function(self, function: Fields, namespace: str = "") -> None:
        """Take one function."""
        name = self._register_name(function, namespace)
        schema, path = function.get("parameters"), function.where("parameters")
        self.specs[name] = tool_spec(name, function.text("description"), schema, path)
        if function.flag("strict"):
            self.strict.add(name)

    def flat_name(self, call: Fields) -> str:
        """Return the model's name of a tool that a call or a choice names."""
        name = call.needed_text("name")
        flat = _flat(call.text("namespace"), name)
        # Clients may also name a namespace for tools that were given without one (`functions`).
        return name if flat not in self.specs and name in self.specs else flat

    def choice(self, fields: Fields, name: str) -> ToolChoice:
        """Return the tools that a field of a request allows or demands."""
        if fields.get(name) is None:
            return ANY_TOOL
        demand, names = self._demand(fields, name)
        return choice_of(demand, names, list(self.specs.values()), self.left_out, name)

    def _demand(self, fields: Fields, name: str) -> tuple[Demand, list[str]]:
        value = fields.get(name)
        if isinstance(value, str):
            if demand := _PLAIN_CHOICES.get(value):
                return demand, []
            known = "auto, none, required or a tool"
            raise fields.fault(name, f"expected {known}, not {brief(value, 40)}")
        choice = as_fields(value, fields.where(name))
        kind = choice.text("type")
        if demand := _PLAIN_CHOICES.get(kind):
            return demand, []
        match kind:
            case "function" | "custom" | "":
                return "required", [self._tool_name(choice)]
            case "allowed_tools":
                allowed = choice.object("allowed_tools") or choice
                mode = allowed.text("mode", "auto")
                if mode not in ("auto", "required"):
                    raise allowed.fault("mode", "expected auto or required")
                # Tools of servers have a type alone.
                named = [one for one in allowed.objects("tools") if _has_name(one)]
                return mode, [self._tool_name(one) for one in named]
            case _:
                # The demand for a tool of a kind that the gateway cannot give.
                self.left_out.append(kind)
                return "auto", []

    def _tool_name(self, choice: Fields) -> str:
        return self.flat_name(choice.object("function") or choice.object("custom") or choice)

    def _custom(self, tool: Fields, namespace: str) -> None:
        name = self._register_name(tool, namespace)
        self.specs[name] = free_text_spec(name, tool.text("description"), tool.get("format"))
        self.free_text.add(name)

    def _register_name(self, tool: Fields, namespace: str) -> str:
        """Return the flat name of a tool, and forget an earlier tool of that name."""
        inner = tool.needed_text("name")
        name = _flat(namespace, inner)
        self.free_text.discard(name)
        self.strict.discard(name)
        self.namespaces.pop(name, None)
        if namespace:
            self.namespaces[name] = (namespace, inner)
        return name


def _flat(namespace: str, name: str) -> str:
    # Codex names the namespaces of MCP servers `mcp__server__`.
    if not namespace:
        return name
    return f"{namespace}{name}" if namespace.endswith("__") else f"{namespace}.{name}"


def _has_name(tool: Fields) -> bool:
    return any(tool.get(name) is not None for name in ("name", "function", "custom"))


def json_format(form: Fields | None) -> JsonFormat | None:
    """Return the form of an answer that a field demands; `None` for a text, and an unknown one."""
    if form is None:
        return None
    match form.text("type", "text"):
        case "json_object":
            return JsonFormat(_schema(form))
        case "json_schema":
            inner = form.object("json_schema") or form
            return JsonFormat(_schema(inner), inner.text("name"), inner.flag("strict"))
        case _:
            return None


def _schema(form: Fields) -> dict[str, Any] | None:
    schema = form.object("schema")
    return schema.raw if schema else None
