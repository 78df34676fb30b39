"""A call block tells its parameters, and whether those are all."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks.core.blocks import Block
from callblocks.core.calls import Call
from callblocks.timeline.codec.call_blocks import Stamp, call_blocks, is_whole, params_of, shape_of


def block_of(name: str, **given: Any) -> Block:
    call = Call(id="c1", name=name, input=given)
    stamp = Stamp("turn_1", "c1", name, "2030-01-31T12:00:00Z")
    return call_blocks(stamp, call, shape_of(name))[-1]


@pytest.mark.parametrize("given", [{}, {"a": 1, "b": [None, {"c": "é"}]}, {"path": "x" * 5000}])
def test_a_call_says_all_of_its_input(given: dict[str, Any]) -> None:
    block = block_of("look", **given)
    assert params_of(block) == given
    assert is_whole(block)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("react.write", {"path": "a.md", "content": "# A"}),
        ("look", {"token": "ghp_" + "a" * 36}),
        ("exec_tools.execute_code_python", {"code": "print(1)" * 50}),
    ],
)
def test_what_was_cut_or_taken_out_is_missed(name: str, given: dict[str, Any]) -> None:
    assert not is_whole(block_of(name, **given))


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}", '{"params":7}', '{"params":[1]}'])
def test_a_block_that_says_no_parameters_has_none(text: str | None) -> None:
    block = Block(type="react.tool.call", author="assistant", turn_id="t", ts="", text=text)
    assert params_of(block) == {}
    assert not is_whole(block)
