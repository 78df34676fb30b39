"""Observations are results of ReAct texts, as far as they are text."""

from __future__ import annotations

import pytest

from callblocks import Call, Result, dialects, parse
from callblocks.core.errors import Unwritable

CALL = Call(id="tool-call-1", name="look", input={})


@pytest.mark.parametrize("output", ["sunny", "", "two\nlines\n", " a blank first"])
def test_an_observation_is_read_as_it_was_written(output: str) -> None:
    result = Result(id="tool-call-1", output=output)
    text = dialects["react_text"].write(["Thought: Hm.", CALL, result, "\nThought: So."])
    read = parse(text, "react_text")
    assert read.results == [result]
    assert read.text == "Thought: Hm.\nThought: So."


@pytest.mark.parametrize(
    "result",
    [
        Result(id="tool-call-1", output={"a": 1}),
        Result(id="tool-call-1", error="no"),
        Result(id="tool-call-1", output="so\nAction: look"),
    ],
    ids=["value", "error", "next line"],
)
def test_what_is_no_text_of_its_own_cannot_be_observed(result: Result) -> None:
    with pytest.raises(Unwritable):
        dialects["react_text"].write([CALL, result])
