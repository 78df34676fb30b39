"""The public names, and what each package may be imported for."""

from __future__ import annotations

import callblocks

NAMES = (
    *("Call", "Context", "Failure", "Limits", "Outcome", "Parser", "Policy", "Registry", "Result"),
    *("Rule", "Runtime", "Session", "Timeline", "ToolError", "ToolSpec", "conversion"),
    *("convert", "dialects", "parse", "tool"),
)


def test_the_public_names_are_these() -> None:
    assert callblocks.__all__ == NAMES
    assert all(hasattr(callblocks, name) for name in NAMES)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    assert not hasattr(callblocks, "nothing")


def test_the_five_of_the_specifications_come_first_in_the_order_of_auto() -> None:
    assert list(callblocks.dialects)[:5] == [
        "tool-fence",
        "scissors-cat",
        "chat-blocks",
        "emoji-bracket",
        "emoji-bracket+",
    ]
    assert len(callblocks.dialects) == len(list(callblocks.dialects))
    assert "tool-fence" in repr(callblocks.dialects)
    assert all(callblocks.dialects[name].name == name for name in callblocks.dialects)
