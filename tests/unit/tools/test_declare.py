from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import math
from collections.abc import AsyncIterator, Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from pydantic import AnyUrl, BaseModel, DirectoryPath, Field, FilePath
from typing_extensions import TypedDict

from callblocks.core.errors import BadTool, CallerError
from callblocks.tools.declare import tool
from callblocks.tools.tool import Checked, Context, Tool, Traits

if TYPE_CHECKING:
    from decimal import Decimal


class Colour(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Row:
    name: str
    count: int = 0


class Place(TypedDict):
    town: str


class Node(BaseModel):
    kids: list[Node] = []


class Shared(BaseModel):
    """Held twice."""

    size: int


def properties(made: Tool) -> dict[str, Any]:
    return made.spec.parameters["properties"]


def test_a_bare_function_becomes_a_tool_of_its_name_and_docstring() -> None:
    @tool
    def remove(path: str, force: bool = False) -> str:
        """Delete a file.

        Args:
            path: the file
        """
        return f"{path} {force}"

    assert remove.name == "remove"
    assert remove.spec.description == "Delete a file."
    assert remove.spec.parameters == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "the file"},
            "force": {"type": "boolean", "default": False},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    assert remove("x", force=True) == "x True"


def test_what_is_not_said_is_assumed_for_the_worse() -> None:
    @tool
    def work() -> None:
        pass

    assert work.traits == Traits(destructive=True)
    assert (work.origin, work.needs_approval, work.timeout) == ("function", False, None)
    assert (work.preview, work.isolated, work.context) == (None, False, None)


def test_a_read_only_tool_is_harmless_and_may_be_repeated() -> None:
    made = tool(_nothing, read_only=True)
    assert made.traits == Traits(read_only=True, destructive=False, idempotent=True)


def test_everything_that_is_said_is_kept() -> None:
    def preview(text: str) -> str:
        return text

    @tool(
        name="say",
        description="Say it.",
        destructive=False,
        idempotent=True,
        open_world=True,
        kind="exec",
        needs_approval=True,
        timeout=5,
        body="text",
        preview=preview,
        isolated=True,
        origin="builtin",
    )
    def other(text: str) -> str:
        """Something else."""
        return text

    assert (other.name, other.spec.description, other.spec.body) == ("say", "Say it.", "text")
    assert other.traits == Traits(destructive=False, idempotent=True, open_world=True, kind="exec")
    assert (other.needs_approval, other.timeout, other.isolated) == (True, 5, True)
    assert (other.preview, other.origin) == (preview, "builtin")


def test_two_functions_of_one_place_are_two_tools() -> None:
    def make(kind: Any, most: int) -> Tool:
        @tool(origin="builtin")
        def take(what: kind, count: int = most) -> str:  # pyright: ignore[reportInvalidTypeForm] that is the point
            """Take it."""
            return f"{what} {count}"

        return take

    numbers, texts = make(int, 1), make(str, 2)
    assert [one.spec.properties["what"]["type"] for one in (numbers, texts)] == [
        "integer",
        "string",
    ]
    assert [one.spec.properties["count"]["default"] for one in (numbers, texts)] == [1, 2]
    assert texts.check({"what": "x"}).values == {"what": "x", "count": 2}


def test_an_async_function_stays_async() -> None:
    @tool
    async def later(number: int) -> int:
        return number + 1

    assert asyncio.run(later(1)) == 2


def test_a_tool_without_a_function_says_so_when_called() -> None:
    known = Tool(spec=tool(_nothing).spec, check=Checked)
    with pytest.raises(CallerError, match="_nothing has no function here"):
        known()


def test_the_types_of_python_become_a_schema_without_noise() -> None:
    def take(
        path: Path,
        url: AnyUrl,
        colour: Colour,
        by: Literal["copy", "link"],
        rows: list[Row],
        place: Place,
        when: date,
        either: int | str,
        maybe: float | None = None,
    ) -> None: ...

    assert properties(tool(take)) == {
        "path": {"type": "string", "format": "path"},
        "url": {"type": "string", "format": "uri", "minLength": 1},
        "colour": {"type": "string", "description": "A colour.", "enum": ["red", "blue"]},
        "by": {"type": "string", "enum": ["copy", "link"]},
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "count": {"type": "integer", "default": 0},
                },
                "required": ["name"],
                "additionalProperties": False,
            },
        },
        "place": {
            "type": "object",
            "properties": {"town": {"type": "string"}},
            "required": ["town"],
            "additionalProperties": False,
        },
        "when": {"type": "string", "format": "date"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "maybe": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None},
    }


def test_a_parameter_named_title_keeps_its_name() -> None:
    def take(title: str, json: str, schema: int, model_config: int, _hidden: int) -> None: ...

    made = tool(take)
    assert list(properties(made)) == ["title", "json", "schema", "model_config", "_hidden"]
    given = {"title": "a", "json": "b", "schema": 1, "model_config": 2, "_hidden": 3}
    assert made.check(given) == Checked(given)


def test_a_type_that_holds_itself_stays_a_reference() -> None:
    def take(node: Node, one: Shared, two: Shared) -> None: ...

    schema = tool(take).spec.parameters
    assert schema["properties"]["node"] == {"$ref": "#/$defs/Node"}
    assert list(schema["$defs"]) == ["Node"]
    assert schema["properties"]["one"] == schema["properties"]["two"]
    assert schema["properties"]["one"]["properties"] == {"size": {"type": "integer"}}


def test_a_parameter_is_described_by_field_then_annotation_then_docstring() -> None:
    def take(
        a: Annotated[str, Field(description="of field"), "of string"],
        b: Annotated[str, "of string"],
        c: str,
        d: int = Field(default=3, description="of default", ge=1),
    ) -> None:
        """Take.

        Args:
            a: of docstring
            b: of docstring
            c: of docstring
            d: of docstring
        """

    known = properties(tool(take))
    said = [known[name]["description"] for name in "abcd"]
    assert said == ["of field", "of string", "of docstring", "of default"]
    assert (known["d"]["default"], known["d"]["minimum"]) == (3, 1)
    assert tool(take).check({"a": "", "b": "", "c": ""}).values["d"] == 3


def test_a_default_of_pydantic_is_made_anew_for_each_input() -> None:
    def take(rows: Annotated[list[str], Field(default_factory=list)]) -> None: ...

    made = tool(take)
    first, second = made.check({}).values["rows"], made.check({}).values["rows"]
    assert first == second == []
    assert first is not second
    assert "required" not in made.spec.parameters


def test_an_alias_is_the_name_for_the_model() -> None:
    def send(from_: Annotated[str, Field(alias="from")] = "me") -> None: ...

    made = tool(send, body="from")
    assert properties(made) == {"from": {"type": "string", "default": "me"}}
    assert made.check({"from": "you"}).values == {"from_": "you"}
    assert made.check({}).values == {"from_": "me"}


def test_a_default_of_none_lets_null_be_given() -> None:
    def take(x: int, y: Any = None) -> None: ...

    take.__defaults__ = (None, None)  # `x: int = None`, as people write it

    assert tool(take).check({"x": None}).values == {"x": None, "y": None}


def test_a_default_that_json_cannot_say_is_left_out_of_the_schema() -> None:
    def take(x: float = math.nan, y: Any = object) -> None: ...

    assert properties(tool(take)) == {"x": {"type": "number"}, "y": {}}


@pytest.mark.parametrize("position", ["plain", "optional", "annotated"])
def test_a_context_is_not_for_the_model(position: str) -> None:
    def plain(a: int, ctx: Context) -> None: ...
    def optional(a: int, ctx: Context | None = None) -> None: ...
    def annotated(a: int, *, ctx: Annotated[Context, "of this run"]) -> None: ...

    made = tool({"plain": plain, "optional": optional, "annotated": annotated}[position])
    assert made.context == "ctx"
    assert list(properties(made)) == ["a"]


def test_types_known_only_around_the_function_are_found() -> None:
    class Local(enum.Enum):
        ONE = 1

    @tool
    def take(x: Local) -> Local:
        return x

    assert take.check({"x": 1}).values == {"x": Local.ONE}


def test_a_bound_method_is_a_tool() -> None:
    class Shop:
        def buy(self, what: str) -> str:
            """Buy."""
            return what

    made = tool(Shop().buy)
    assert (made.name, list(properties(made)), made("tea")) == ("buy", ["what"], "tea")


def test_a_wrapped_function_shows_what_it_wraps() -> None:
    def traced(function: Any) -> Any:
        @functools.wraps(function)
        def inner(**values: Any) -> Any:
            return function(**values)

        return inner

    @tool
    @traced
    def double(number: int) -> int:
        """Double it."""
        return 2 * number

    assert properties(double) == {"number": {"type": "integer"}}
    assert double(number=2) == 4


def test_what_a_function_returns_may_be_unknown() -> None:
    def take(x: int) -> Decimal: ...

    assert tool(take).name == "take"


def _nothing() -> None:
    pass


def _untyped(path) -> None:
    pass


def _args(*names: str) -> None: ...
def _kwargs(**names: str) -> None: ...
def _positional(name: str, /) -> None: ...
def _contexts(a: Context, b: Context) -> None: ...
def _unknown(a: Decimal) -> None: ...
def _no_type(a: int) -> None: ...


_no_type.__annotations__["a"] = "1 +"


def _function(a: functools.partial[int]) -> None: ...
def _looks(a: list[FilePath]) -> None: ...
def _folder(a: DirectoryPath | None = None) -> None: ...
def _yields() -> Iterator[int]:
    yield 1


async def _yields_later() -> AsyncIterator[int]:
    yield 1


def _twins(a: Annotated[int, Field(alias="b")], b: int) -> None: ...


class Thing:
    def method(self, a: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_untyped, "_untyped is no tool yet: it has no type for `path`; write `path: str`"),
        (Thing.method, "declare the bound one"),
        (_args, "`*names: 'str'` has no fixed name; make it a list"),
        (_kwargs, "make it `names: dict[str, str]`"),
        (_positional, "cannot be given by name; drop the `/`"),
        (_contexts, "takes more than one Context: a, b"),
        (_unknown, "names 'Decimal', which is not known there"),
        (_no_type, "an annotation that is no type"),
        (_function, "_function: the type of `a` cannot come from JSON"),
        (_looks, "`a` is a FilePath, which looks at the disk before a policy has decided"),
        (_folder, "`a` is a DirectoryPath"),
        (_yields, "_yields yields; a tool returns its output"),
        (_yields_later, "`context.report(…)`"),
        (_twins, "_twins: two parameters have the same name: b, b"),
        (len, "is no function; write one that calls it"),
        (functools.partial(_nothing), "is no function"),
        (Thing, "is no function"),
        (lambda: None, "'<lambda>' is no name for a tool"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_function_that_is_no_tool_is_refused_with_the_reason(function: Any, words: str) -> None:
    with pytest.raises(BadTool) as caught:
        tool(function)
    assert words in str(caught.value)


def _two(text: str, number: int = 0) -> None: ...


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "a b"}, "'a b' is no name for a tool"),
        ({"name": ""}, "'' is no name"),
        ({"name": "a\n"}, "is no name"),
        ({"read_only": True, "destructive": True}, "say one of them"),
        ({"kind": "magic"}, "kind is one of plain, writer, exec, source, not 'magic'"),
        ({"origin": "moon"}, "origin is one of builtin, function, external, not 'moon'"),
        ({"timeout": 0}, "timeout is a number of seconds above 0, not 0"),
        ({"timeout": True}, "not True"),
        ({"timeout": math.inf}, "not inf"),
        ({"body": "words"}, "body='words' is no parameter; there are: text, number"),
        ({"body": "number"}, "body='number' must be a `str`, a `list` or a `dict`"),
        ({"preview": lambda text: ""}, "preview must take the same values as the tool"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadTool) as caught:
        tool(_two, **options)
    assert words in str(caught.value)


def test_a_body_of_a_tool_without_parameters_is_refused() -> None:
    with pytest.raises(BadTool, match="there are: none"):
        tool(_nothing, body="text")
