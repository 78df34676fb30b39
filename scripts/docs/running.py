"""Tables about tools and about running them: what there is, what may fail, what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from tempfile import TemporaryDirectory

import msgspec
from page_text import amount, code, drawing, mark, spaced, table

from callblocks.core.outcomes import FAILURES
from callblocks.guard.files.replace_file import PROTECTED
from callblocks.guard.files.root import Root
from callblocks.policy.lint import FINDINGS
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import Timeline
from callblocks.toolkits.documents.document_tools import rendering_tools
from callblocks.toolkits.documents.write_document import TurnPlace
from callblocks.toolkits.react_tools import react_tools
from callblocks.toolkits.standard import standard_tools
from callblocks.toolkits.turn_files import FolderFiles
from callblocks.tools import tool as traits
from callblocks.tools.tool import Tool

__all__ = (
    "failure_table",
    "field_table",
    "finding_table",
    "parameter_rows",
    "parameter_table",
    "protected_table",
    "tool_table",
    "trait_table",
)


def failure_table() -> str:
    """Every code of a failed call."""
    return table(["code", "means"], [[code(name), words] for name, words in FAILURES.items()])


def finding_table() -> str:
    """What may be odd about a policy."""
    rows = [[code(name), bad, words] for name, (bad, words) in FINDINGS.items()]
    return table(["code", "how bad", "means"], rows)


def protected_table() -> str:
    """The files that no call writes."""
    rows = [[", ".join(map(code, entry.paths)), entry.reason] for entry in PROTECTED]
    return table(["names", "why"], rows)


def trait_table() -> str:
    """The traits of a tool, as their module explains them."""
    lines = [line.split(maxsplit=1) for line in drawing(traits.__doc__ or "").splitlines()]
    return table(["trait", "means"], [[code(name), words] for name, words in lines])


def tool_table(kit: str = "standard") -> str:
    """The tools of a kit that comes with callblocks."""
    rows = [
        [
            code(tool.name),
            ", ".join(map(code, tool.traits.names())),
            mark(tool.needs_approval),
            spaced(tool.spec.description),
        ]
        for tool in _KITS[kit]()
    ]
    return table(["tool", "traits", "needs approval", "does"], rows)


def parameter_table(name: str) -> str:
    """What one of these tools takes."""
    tool = next(tool for kit in _KITS.values() for tool in kit() if tool.name == name)
    return table(["parameter", "type, default", "is"], parameter_rows(tool))


def parameter_rows(tool: Tool) -> list[list[str]]:
    """The parameters of a tool: name, type and default, and what it is."""
    required = tool.spec.required
    return [
        [code(key if key in required else f"{key}?"), _type(schema), schema.get("description", "")]
        for key, schema in tool.spec.properties.items()
    ]


def field_table(path: str) -> str:
    """The fields of a value, with their defaults: `runtime.running.RunLimits`."""
    module, _, name = path.rpartition(".")
    owner = getattr(import_module(f"callblocks.{module}"), name)
    rows = [[code(one.name), amount(one.default)] for one in msgspec.structs.fields(owner)]
    return table(["limit", "default"], rows)


def _standard() -> Iterator[Tool]:
    with TemporaryDirectory() as folder, Root(folder) as root:
        yield from standard_tools(root).tools


def _react() -> Iterator[Tool]:
    with (
        TemporaryDirectory() as folder,
        Timeline.open(f"{folder}/timeline.sqlite", "docs") as timeline,
        FolderFiles(f"{folder}/turns") as files,
    ):
        yield from react_tools(Recorder(timeline, files, Artifacts(folder)), "turn_1")


def _rendering() -> Iterator[Tool]:
    with (
        TemporaryDirectory() as folder,
        Timeline.open(f"{folder}/timeline.sqlite", "docs") as timeline,
        FolderFiles(f"{folder}/turns") as files,
    ):
        recorder = Recorder(timeline, files, Artifacts(folder))
        yield from rendering_tools(TurnPlace(recorder, "turn_1"))


_KITS: dict[str, Callable[[], Iterator[Tool]]] = {
    "standard": _standard,
    "react": _react,
    "rendering": _rendering,
}


def _type(schema: dict[str, object]) -> str:
    """The type of a parameter: one, or several, or what there is to choose from; its default."""
    default = schema.get("default")
    words = _named_type(schema)
    return words if default is None else f"{words}, {code(msgspec.json.encode(default).decode())}"


def _named_type(schema: dict[str, object]) -> str:
    if "enum" in schema:
        return " or ".join(code(choice) for choice in msgspec.convert(schema["enum"], list[str]))
    if "anyOf" in schema:
        return " or ".join(map(_type, msgspec.convert(schema["anyOf"], list[dict[str, object]])))
    return f"{schema.get('format', '')} {schema['type']}".strip()
