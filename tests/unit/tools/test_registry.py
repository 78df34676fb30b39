from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from callblocks.core.calls import Call
from callblocks.core.errors import BadSpec, BadTool, UnknownTool
from callblocks.core.text import close_to, listed
from callblocks.dialects import dialects
from callblocks.parser import parse
from callblocks.tools.declare import tool
from callblocks.tools.registry import Registry
from callblocks.tools.tool import Tool, is_name


@tool
def read(path: str) -> str:
    """Read a file."""
    return path


@tool(name="write.file")
def write(path: str) -> str:
    """Write a file."""
    return path


def plain(number: int) -> int:
    """Take a plain function."""
    return number


def test_a_registry_holds_tools_by_name_in_order() -> None:
    registry = Registry([read, write, plain])
    assert registry.names == ("read", "write.file", "plain")
    assert registry.tools[:2] == (read, write)
    assert [spec.name for spec in registry] == ["read", "write.file", "plain"]
    assert len(registry) == 3
    assert "read" in registry
    assert "write" not in registry
    assert registry["read"] is read
    assert registry.get("read") is read
    assert registry.get("nothing") is None
    assert repr(registry) == "Registry(read, write.file, plain)"
    assert not Registry()


def test_a_registry_is_what_a_parser_takes() -> None:
    text = "🛠️[plain 3]\n🛠️[/end]"
    assert parse(text, "emoji-bracket", tools=Registry([plain])).calls[0].input == {"number": 3}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raed", "no tool 'raed'; there are: read, plain; did you mean read?"),
        ("zzz", "no tool 'zzz'; there are: read, plain"),
        (5, "no tool 5; there are: read, plain"),
    ],
)
def test_an_unknown_tool_is_refused_with_the_nearest_name(name: str, words: str) -> None:
    with pytest.raises(UnknownTool) as caught:
        Registry([read, plain])[name]
    assert str(caught.value) == words
    assert caught.value.name == name
    assert isinstance(caught.value, LookupError)


def test_tools_that_are_added_later_are_made_once_and_together_when_one_is_asked_for() -> None:
    made: list[int] = []

    def make() -> tuple[Tool, ...]:
        made.append(1)
        return write, read

    registry = Registry([plain])
    registry.add_later(["read", "write.file"], make)
    joined = registry | Registry([tool(plain, name="other")])
    assert registry.names == ("plain", "read", "write.file")
    assert "read" in registry
    assert len(registry) == 3
    assert repr(registry) == "Registry(plain, read, write.file)"
    assert (registry.get("nothing"), registry.specs.get("nothing")) == (None, None)
    assert "plain" in registry.specs
    assert (list(registry.specs), len(registry.specs)) == (list(registry.names), 3)
    assert made == []
    assert registry["read"] is joined["read"] is read
    assert registry.specs["write.file"] is write.spec
    assert registry.tools[1:] == (read, write)
    assert made == [1]


def test_a_parser_makes_only_the_tools_that_are_called() -> None:
    registry = Registry([plain])
    registry.add_later(["read"], lambda: pytest.fail("nobody called it"))
    text = "🛠️[plain 3]\n🛠️[/end]"
    assert parse(text, "emoji-bracket", tools=registry).calls[0].input == {"number": 3}
    call = Call(id="a", name="plain", input={"number": 3})
    assert dialects["emoji-bracket"].write([call], registry) == text


def test_a_kit_that_makes_other_tools_than_it_said_is_refused() -> None:
    registry = Registry()
    registry.add_later(["read", "gone"], lambda: (read, write))
    with pytest.raises(BadTool, match=r"gone, write\.file"):
        registry["read"]


def test_a_name_is_not_added_twice_also_if_it_is_made_later() -> None:
    registry = Registry([read])
    with pytest.raises(BadTool, match="two tools are named read"):
        registry.add_later(["read"], lambda: (read,))
    later = Registry()
    later.add_later(["read"], lambda: (tool(plain, name="read"),))
    with pytest.raises(BadTool, match="two tools are named read: "):
        later.add(read)
    with pytest.raises(BadTool, match="two tools are named read: "):
        _ = later | registry


def test_a_registry_with_only_some_tools_keeps_their_order() -> None:
    registry = Registry([read, write, plain])
    assert registry.choose(["plain", "read", "nothing"]).names == ("read", "plain")
    assert registry.without(["read"]).names == ("write.file", "plain")
    assert registry.only(["*l*", "read"]).names == ("read", "write.file", "plain")
    assert registry.only(["write.*"]).names == ("write.file",)
    assert registry.only([]).names == ()


def test_an_empty_registry_says_that_there_are_none() -> None:
    with pytest.raises(UnknownTool, match="there are: none"):
        Registry()["read"]


def test_two_tools_of_one_name_are_refused_naming_both() -> None:
    other = tool(plain, name="read")
    with pytest.raises(BadTool) as caught:
        Registry([read, other])
    assert "two tools are named read: " in str(caught.value)
    assert str(caught.value).count("test_registry.py:") == 2
    known = Registry.from_json([{"name": "read"}])
    with pytest.raises(BadTool, match=r"one that is external and .*test_registry"):
        known.add(read)


def test_the_same_tool_may_be_added_again() -> None:
    assert len(Registry([read, read])) == 1


def test_registries_join_into_a_new_one() -> None:
    one, two = Registry([read]), Registry([write])
    joined = one | two
    assert joined.names == ("read", "write.file")
    assert (len(one), len(two)) == (1, 1)
    with pytest.raises(BadTool):
        _ = joined | Registry([tool(plain, name="read")])


def test_tools_that_are_made_later_are_made_once_for_all_threads() -> None:
    made: list[Tool] = []
    together = threading.Barrier(8)

    def make() -> list[Tool]:
        time.sleep(0.01)
        made.append(tool(plain))
        return made[-1:]

    registry = Registry()
    registry.add_later(["plain"], make)

    def ask(_: int) -> Tool:
        together.wait()
        return registry["plain"]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert len(made) == 1
    assert all(one is made[0] for one in found)


def test_what_is_neither_tool_nor_function_is_refused() -> None:
    with pytest.raises(BadSpec, match="tool 1 is 5; a tool is a ToolSpec, a @tool, a typed funct"):
        Registry([read, 5])  # pyright: ignore[reportArgumentType] that is the point


def test_adding_gives_the_tool() -> None:
    assert Registry().add(plain).name == "plain"


def test_a_registry_is_cheap_to_import() -> None:
    heavy = "{'pydantic', 'jsonschema_rs', 'difflib', 'asyncio'}"
    code = f"import sys, callblocks.tools.registry; print({heavy} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "set()\n"


@pytest.mark.parametrize(
    "name", ["a", "file_read", "a.b", "create-file", "mcp:x/y", "é", "9", "a" * 128]
)
def test_names(name: str) -> None:
    assert is_name(name)


@pytest.mark.parametrize(
    "name",
    ["", " ", "a b", "a\n", "\na", "-a", ".", "a\x1b[0m", "a" * 129, "[x]", "\u202ea", None, 5],
)
def test_no_names(name: object) -> None:
    assert not is_name(name)


def test_the_nearest_name_ignores_case_and_gives_up_on_the_far_and_the_long() -> None:
    assert close_to("FILE_RAED", ["file_read", "x"]) == "file_read"
    assert close_to("file", ["zzz"]) == ""
    assert close_to("a" * 61, ["a" * 60]) == ""
    assert close_to("a" * 60, ["a" * 61]) == ""


def test_a_long_list_of_names_is_cut() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed(map(str, range(25))) == ", ".join(map(str, range(20))) + " and 5 more"
