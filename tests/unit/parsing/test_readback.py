"""A writer is told the first thing that its text would not say."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from callblocks import Call, Result, dialects, parse
from callblocks.core.calls import Item, Thought
from callblocks.core.errors import CallerError
from callblocks.parsing.dialect import difference, joined

LS = Call(id="a", name="ls", input={"args": "", "body": ""})
ONE = "🛠️[ls]🛠️[/end]"


def test_neighbouring_prose_is_one_and_empty_prose_is_none() -> None:
    assert joined(["a", "", "b", LS, "", LS, "c"]) == ["ab", LS, LS, "c"]
    assert joined([]) == []
    assert joined([""]) == []
    thoughts = joined(["a", Thought("b"), Thought(""), Thought("c"), "d"])
    assert [(type(one), one) for one in thoughts] == [(str, "a"), (Thought, "bc"), (str, "d")]


@pytest.mark.parametrize("item", [None, 5, b"a", ["a"], {"name": "ls"}], ids=repr)
@pytest.mark.parametrize("dialect", dialects)
def test_what_is_no_item_is_refused_by_every_dialect(dialect: str, item: Any) -> None:
    with pytest.raises(CallerError, match="an item is a str, a Call or a Result"):
        dialects[dialect].write(["prose", item])


@pytest.mark.parametrize(
    ("wanted", "text", "what"),
    [
        ([LS], ONE, ""),
        (["a", LS, "b"], f"a{ONE}b", ""),
        ([LS], "🛠️[cd]🛠️[/end]", "the call 'a' of 'ls': it would be read as cd("),
        ([], ONE, "prose that reads as a call: ls("),
        ([LS, LS], ONE, "the call 'a' of 'ls': it would not be read as a call"),
        ([LS, Result(id="a", output="x")], ONE, "these results: [[0, 'x', None, '']] would be"),
        ([LS, "a"], f"{ONE}b", "the prose 'a': it would be read as 'b'"),
        ([LS, Thought("a")], ONE, "the thought 'a': it would be read as ''"),
        ([replace(LS, extra={"when": 1})], ONE, "the call 'a' of 'ls': it would be read without"),
    ],
)
def test_the_first_difference_is_named(wanted: list[Item], text: str, what: str) -> None:
    found = difference(wanted, parse(text, "emoji-bracket"), by_id=False, in_order=True)
    assert found.startswith(what)
    assert bool(found) == bool(what)


def test_ids_differ_only_where_the_dialect_keeps_them() -> None:
    read = parse(ONE, "emoji-bracket")
    assert difference([LS], read, by_id=False, in_order=True) == ""
    told = "the call 'a' of 'ls': its id would be 'tool-call-1'"
    assert difference([LS], read, by_id=True, in_order=True) == told


def test_what_would_be_lost_or_added_beside_the_input_is_named() -> None:
    read = parse("```tool ls a\nnote: x\ninput: {}\n```", "tool-fence")
    call = Call(id="a", name="ls", extra={"note": "y", "when": 1})
    lost = "the call 'a' of 'ls': it would be read without its 'note', 'when'"
    assert difference([call], read, by_id=True, in_order=True) == lost
    new = "the call 'a' of 'ls': it would be read with 'note'"
    assert difference([replace(call, extra={})], read, by_id=True, in_order=True) == new


def test_a_result_belongs_to_its_call_whatever_the_ids() -> None:
    text = f"{ONE}🛠️[/result 1]\nx🛠️[/end]"
    read = parse(text, "emoji-bracket")
    assert difference([LS, Result(id="a", output="x")], read, by_id=False, in_order=True) == ""
    assert difference([LS, Result(id="b", output="x")], read, by_id=False, in_order=True)
