"""The parts of a block, by name."""

from __future__ import annotations

from callblocks.views.text.spec_functions import EmojiCall, parse_emoji_brackets


def test_the_example_of_the_specification_is_one_call() -> None:
    text = (
        "Here is your file:\n🛠️[create-file script.py]\n"
        'print("Hello World")\n🛠️[/end]\nHope that helps!'
    )
    assert parse_emoji_brackets(text) == [
        EmojiCall("create-file", "script.py", 'print("Hello World")\n')
    ]


def test_blocks_come_in_order_of_appearance() -> None:
    text = "🛠️[run-query main.sql 100]🛠️[/end] and 🛠️[tool1]\nx\n🛠️[/end]"
    assert parse_emoji_brackets(text) == [
        EmojiCall("run-query", "main.sql 100", ""),
        EmojiCall("tool1", "", "x\n"),
    ]


def test_a_block_without_its_end_marker_says_so() -> None:
    text = "🛠️[ls src]🛠️[/end] 🛠️[rm build]\nhalf a bo"
    assert [call.ended for call in parse_emoji_brackets(text)] == [True, False]
    assert parse_emoji_brackets(text)[1].body == "half a bo"
