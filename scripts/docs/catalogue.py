"""Tables about the 37 types of the catalogue, and an example of each in every dialect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from page_text import code, fence, spaced, table
from running import parameter_rows

from callblocks.core.specs import CATALOGUE
from callblocks.dialects import TAUGHT, dialects
from callblocks.guard.files.root import Root
from callblocks.parser import parse
from callblocks.parsing.dialect import Dialect
from callblocks.toolkits.office.open_office import GOOGLE_METHODS, SERVICES, example_call
from callblocks.toolkits.standard import standard_tools
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool

__all__ = ("dialect_sizes", "service_types", "type_table")

OTHER = "other"


def type_table() -> str:
    """What each type does, what it takes, what a policy knows of it, and Google's method."""
    with _tools() as tools:
        rows = [_type_row(tools[name]) for name in CATALOGUE]
    return table(["type", "does", "parameters", "traits", "at Google"], rows)


def dialect_sizes() -> str:
    """How many characters the example of each type takes in each dialect that models write."""
    spoken = _spoken()
    with _tools() as tools:
        rows = [
            [code(name), *(str(len(_written(name, dialect, tools))) for dialect in spoken)]
            for name in CATALOGUE
        ]
    return table(["type", *(code(dialect.name) for dialect in spoken)], rows)


def service_types(service: str) -> str:
    """Each type of a service: what it takes, and its example in every dialect."""
    names = SERVICES.get(service) or [name for name in CATALOGUE if _service(name) == OTHER]
    with _tools() as tools:
        return "\n\n".join(_section(tools[name], tools) for name in names)


def _type_row(tool: Tool) -> list[str]:
    page = f"catalogue/{_service(tool.name)}.md#{tool.name}"
    required = tool.spec.required
    taken = [code(key if key in required else f"{key}?") for key in tool.spec.properties]
    return [
        f"[{code(tool.name)}]({page})",
        spaced(tool.spec.description.partition("\n\n")[0]),
        ", ".join(taken),
        ", ".join(map(code, tool.traits.names())) or "–",
        code(GOOGLE_METHODS[tool.name]) if tool.name in GOOGLE_METHODS else "–",
    ]


def _section(tool: Tool, tools: Registry) -> str:
    first, *others = _texts(tool, tools).items()
    shown = [
        f"<details><summary>in {' and '.join(names)}</summary>\n\n{fence(text)}\n\n</details>"
        for text, names in others
    ]
    rows = parameter_rows(tool)
    takes = table(["parameter", "type, default", "is"], rows) if rows else "It takes nothing."
    return "\n\n".join(
        [
            f"## {tool.name}",
            _paragraphs(tool.spec.description),
            *_facts(tool),
            takes,
            fence(first[0]),
            *shown,
        ]
    )


def _facts(tool: Tool) -> Iterator[str]:
    traits = ", ".join(map(code, tool.traits.names())) or "none"
    method = GOOGLE_METHODS.get(tool.name)
    yield f"Traits: {traits}." + (f" At Google: {code(method)}." if method else "")


def _texts(tool: Tool, tools: Registry) -> dict[str, list[str]]:
    """The example as it is written, with the dialects that write it so."""
    texts: dict[str, list[str]] = {}
    for dialect in _spoken():
        texts.setdefault(_written(tool.name, dialect, tools), []).append(dialect.name)
    return texts


def _written(name: str, dialect: Dialect, tools: Registry) -> str:
    """The example of a type in a dialect, which reads it again."""
    call = example_call(name)
    assert call is not None, f"{name} has no example"
    text = dialect.write([call], tools).strip("\n")
    assert parse(text, dialect.name, tools=tools).calls[0].input == call.input
    return text


def _paragraphs(text: str) -> str:
    return "\n\n".join(spaced(part) for part in re.split(r"\n\n+", text.strip()))


def _service(name: str) -> str:
    return next((service for service, names in SERVICES.items() if name in names), OTHER)


def _spoken() -> list[Dialect]:
    """The dialects that any model can be taught; those of model families say the same in theirs."""
    return [dialects[name] for name in TAUGHT]


@contextmanager
def _tools() -> Iterator[Registry]:
    with TemporaryDirectory() as folder, Root(folder) as root:
        yield standard_tools(root)
