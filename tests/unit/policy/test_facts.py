from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callblocks.policy.rules import ANY_HOST, Facts, gather
from callblocks.tools.declare import tool
from callblocks.tools.tool import Traits
from support.policies import a_tool, exec_traits

PATH = {"type": "string", "format": "path"}
URL = {"type": "string", "format": "uri"}


def known(path: str) -> str | None:
    return {"a": "real/a", "b": "b", "..": "..", "up": "x/../..", "/": "/etc"}.get(path)


def paths(given: dict[str, Any], **properties: Any) -> tuple[str | None, ...]:
    return gather(a_tool(**properties), given, resolve=known).paths


def hosts(given: dict[str, Any], **properties: Any) -> tuple[str | None, ...]:
    return gather(a_tool(**properties), given, resolve=known).hosts


@pytest.mark.parametrize("given", [{"far": True}, {"far": "yes"}, {}, {"far": None}])
def test_a_call_that_may_reach_any_host_is_open_world_and_one_in_doubt_too(given: Any) -> None:
    act = a_tool(reaches_any_host=lambda given: given["far"] is not False, traits=exec_traits)
    told = gather(act, given, resolve=known)
    assert told.hosts == (ANY_HOST,)
    assert told.traits == Traits(kind="exec", open_world=True)
    assert act.traits == exec_traits


def test_other_calls_of_the_same_tool_reach_what_they_name() -> None:
    schema = {"type": "boolean", "default": False}
    act = a_tool(reaches_any_host=lambda given: given["far"] is not False, far=schema, u=URL)
    for given in ({}, {"far": False}):
        told = gather(act, {**given, "u": "https://a.org/"}, resolve=known)
        assert (told.hosts, told.traits) == (("a.org",), Traits())
    assert gather(act, {"far": True, "u": "https://a.org/"}, resolve=known).hosts == (
        "a.org",
        "*",
    )


def test_facts_say_what_the_tool_and_the_turn_are() -> None:
    told = gather(
        a_tool("x", needs_approval=True, traits=exec_traits),
        {"n": 1},
        resolve=known,
        tainted=("a page",),
        person=True,
    )
    assert told == Facts(
        tool="x",
        traits=exec_traits,
        input={"n": 1},
        needs_approval=True,
        tainted=("a page",),
        person=True,
    )


def test_unsaid_facts_are_the_careful_ones() -> None:
    told = gather(a_tool("x"), {}, resolve=known)
    assert told == Facts(tool="x")
    assert (told.traits, told.input, told.paths, told.hosts) == (Traits(), {}, (), ())
    assert (told.needs_approval, told.tainted, told.person) == (False, (), False)


@pytest.mark.parametrize("form", ["path", "file-path", "directory-path"])
def test_a_path_is_resolved(form: str) -> None:
    assert paths({"p": "a"}, p={"type": "string", "format": form}) == ("real/a",)


@pytest.mark.parametrize("path", ["gone", "..", "up", "/", "a\0", 7, True, 1.5])
def test_what_is_no_path_below_the_workspace_is_none(path: object) -> None:
    assert paths({"p": path}, p=PATH) == (None,)


def test_a_path_with_a_nul_is_not_even_resolved() -> None:
    told = gather(a_tool(p=PATH), {"p": "a\0"}, resolve=lambda path: "fine")
    assert told.paths == (None,)


def test_a_name_with_two_dots_in_it_is_a_path() -> None:
    told = gather(a_tool(p=PATH), {"p": "x"}, resolve=lambda path: "a..b/..c")
    assert told.paths == ("a..b/..c",)


def test_paths_are_found_in_lists_unions_and_objects() -> None:
    assert paths({"p": ["a", "b"]}, p={"type": "array", "items": PATH}) == ("real/a", "b")
    assert paths({"p": "a"}, p={"anyOf": [PATH, {"type": "null"}]}) == ("real/a",)
    nested = {"type": "object", "properties": {"q": PATH}}
    assert paths({"p": {"q": "a"}}, p=nested) == ("real/a",)


def test_null_is_no_path_and_no_url() -> None:
    assert paths({"p": None}, p={"anyOf": [PATH, {"type": "null"}]}) == ()
    assert hosts({"u": None}, u={"anyOf": [URL, {"type": "null"}]}) == ()


def test_other_text_is_no_path_and_no_url() -> None:
    assert paths({"p": "a"}, p={"type": "string"}) == ()
    assert hosts({"u": "http://a.org"}, u={"type": "string"}) == ()


def test_a_default_counts_where_nothing_is_given() -> None:
    assert paths({}, p={**PATH, "default": "a"}) == ("real/a",)
    assert paths({"p": "b"}, p={**PATH, "default": "a"}) == ("b",)
    assert hosts({}, u={**URL, "default": "http://a.org"}) == ("a.org",)


def test_a_default_is_an_argument_like_any_other() -> None:
    defaults = a_tool(p={"default": "a"}, n={"type": "integer", "default": 3}, q={})
    assert gather(defaults, {}, resolve=known).input == {"p": "a", "n": 3}
    assert gather(defaults, {"p": None}, resolve=known).input == {"p": None, "n": 3}


def test_gathering_leaves_the_input_as_it_is() -> None:
    given: dict[str, Any] = {}
    gather(a_tool(p={"default": "a"}), given, resolve=known)
    assert given == {}


@pytest.mark.parametrize("form", ["uri", "url"])
def test_a_url_gives_its_host(form: str) -> None:
    assert hosts({"u": "http://A.org/x"}, u={"type": "string", "format": form}) == ("a.org",)


def test_a_url_without_a_host_is_none() -> None:
    assert hosts({"u": "http://a.org\\@b.org"}, u=URL) == (None,)


def test_a_checked_input_is_read_in_no_other_way() -> None:
    either = {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    given = {"n": "3", "any": "3", "s": "3"}
    act = a_tool(n=either, any={"anyOf": [{"type": "integer"}, {}]}, s={"type": "string"})
    assert gather(act, given, resolve=known).input == given


def test_a_declared_tool_gives_its_paths() -> None:
    @tool
    def move(source: Path, target: Path | None = None) -> None:
        """Move a file."""

    assert gather(move, {"source": "a", "target": "b"}, resolve=known).paths == ("real/a", "b")
    assert gather(move, {"source": "a"}, resolve=known).paths == ("real/a",)


def test_a_tool_that_tells_its_paths_is_judged_by_them() -> None:
    @tool(paths=lambda given: [f"{given['folder']}/{given['name']}"])
    def save(folder: str, name: str) -> None:
        """Save."""

    facts = gather(save, {"folder": "secrets", "name": "x"}, resolve=lambda path: path)
    assert facts.paths == ("secrets/x",)


def test_paths_that_a_tool_cannot_tell_count_as_unsafe() -> None:
    @tool(paths=lambda given: [given["gone"]])
    def save(name: str) -> None:
        """Save."""

    assert gather(save, {"name": "x"}, resolve=lambda path: path).paths == (None,)
