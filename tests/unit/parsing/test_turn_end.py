"""Tokens that end a model's turn show nothing at the end of a text, whatever the dialect."""

from __future__ import annotations

import pytest

from callblocks import ToolSpec, dialects, parse
from callblocks.parser import AUTO
from callblocks.parsing.engine.openers import TURN_ENDS

TOOL = ToolSpec("look", "", {"type": "object", "properties": {"at": {"type": "string"}}})
WRITTEN = [name for name, one in dialects.items() if one.turn_ends]


def seen(text: str, dialect: str) -> tuple[str, list[tuple[str, object]]]:
    parsed = parse(text, dialect, tools=[TOOL])
    return parsed.text, [(call.name, call.input) for call in parsed.calls]


@pytest.mark.parametrize("dialect", WRITTEN)
@pytest.mark.no_cover  # other tests walk the same ways
def test_after_a_call_and_after_prose_they_show_nothing(dialect: str) -> None:
    example = dialects[dialect].example([TOOL])
    expected = seen(example, dialect)
    for token in dialects[dialect].turn_ends:
        assert seen(f"{example}{token}", dialect) == expected
        assert seen(f"Done.{token}", dialect) == ("Done.", [])


@pytest.mark.parametrize("token", TURN_ENDS)
def test_auto_knows_those_that_nothing_else_looks_like(token: str) -> None:
    assert parse(f"Done.{token}").text == "Done."
    assert parse(f"Done.{token} <|im_end|>\n").text == "Done."
    assert parse(f"It says {token}{token} here.").text == f"It says {token}{token} here."


def test_what_is_no_model_s_own_keeps_its_text() -> None:
    others = set(dialects) - set(WRITTEN)
    assert {"tool-fence", "scissors-cat", "chat-blocks", "emoji-bracket"} <= others
    for name in others:
        assert parse("Done.<|im_end|>", name).text == "Done.<|im_end|>"
    assert AUTO not in others
