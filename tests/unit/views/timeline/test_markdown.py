from __future__ import annotations

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from callblocks.core.blocks import Block
from callblocks.timeline.codec.call_blocks import Stamp
from callblocks.timeline.log.log import DAMAGED
from callblocks.views.chat.timeline_chat import shown
from callblocks.views.markdown import timeline_markdown
from support.sample_timelines import (
    TS,
    a_talk,
    called,
    ended,
    entries,
    failed,
    gave,
    made,
    of_member,
    said,
)

READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = {
    *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "fence"),
    *("blockquote_open", "blockquote_close", "list_item_open", "list_item_close"),
    *("bullet_list_open", "bullet_list_close"),
}
INLINE = {
    *("text", "text_special", "code_inline", "strong_open", "strong_close"),
    *("hardbreak", "softbreak", "em_open", "em_close"),
}


def page(blocks: list[Block], name: str = "talk") -> str:
    return "".join(timeline_markdown(name, shown(entries(blocks))))


def test_a_talk_is_a_page() -> None:
    lines = page(a_talk()).splitlines()
    assert lines[:3] == ["# Timeline `talk`", "", "## `turn_1`"]
    assert "> Add them up." in lines
    assert "**2 tool calls, 1 failed**" in lines
    assert "- `fail()` **failed**" in lines
    assert "  File: `fi:turn_1.files/plot.png (image/png, 12B)`" in lines


@given(st.text(st.sampled_from("`#*_<>[]()!|-=~ \n\\1.a") | st.characters(), min_size=1))
@example("```\n# Timeline `other`\n")
@example("</details><script>")
def test_no_text_becomes_structure(text: str) -> None:
    turn = "turn_1"
    blocks = [
        said("user.prompt", text, author="user"),
        called("c", text, **{text: text}),
        *gave("c", text),
        called("f", text),
        *failed("f", text),
        called("m"),
        *made("m", text, mime=text, text=text),
        said("assistant.completion", text),
    ]
    tokens = READER.parse(page(blocks, text))
    assert {token.type for token in tokens} <= OURS
    inline = {child.type for token in tokens for child in token.children or []}
    assert inline <= INLINE
    headings = [
        tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"
    ]
    assert len(headings) == 2
    assert headings[1] == f"`{turn}`"
    assert sum(token.type == "list_item_open" for token in tokens) == 3
    assert sum(token.type == "blockquote_open" for token in tokens) == (
        2 if text.strip("\n") else 0
    )


def test_a_call_without_an_outcome_says_so() -> None:
    assert "- `add()` (no result)\n" in page([called("c")])


def test_files_of_a_person_code_and_notices_are_there() -> None:
    stamp = Stamp("turn_1", "c", "run", TS)
    told = '{"code":"noted","message":"well noted"}'
    attached = msgspec.structs.replace(
        said("user.attachment", "abc", author="user"), path="fi:turn_1.user.attachments/a.txt"
    )
    blocks = [
        attached,
        stamp.block("react.tool.code", text="print(1)"),
        called("c"),
        stamp.block("react.notice", mime="application/json", text=told),
    ]
    text = page(blocks)
    assert "File: `fi:turn_1.user.attachments/a.txt (text/plain)`\n\n```text\nabc\n```\n" in text
    assert "  ```text\n  print(1)\n  ```\n" in text
    assert "  Notice: `well noted`\n" in text


def test_what_broke_off_how_a_turn_ended_and_who_of_a_team_spoke_is_seen() -> None:
    cut = msgspec.structs.replace(said("assistant.completion", "It is"), meta={"is_partial": True})
    text = page([*of_member("re*der", "Low."), cut, ended("failed", code="*odd*")])
    assert "**`re*der`** · `2030-01-31T12:00:00Z`\n\n> Low.\n" in text
    assert "> It is\n\n*It broke off here.*\n" in text
    assert text.endswith("\n✗ `failed: *odd*`\n")


def test_a_block_that_cannot_be_read_is_named() -> None:
    assert "*Block 1 cannot be read.*" in page([DAMAGED])


def test_a_long_result_is_cut_and_says_its_size() -> None:
    assert "… (truncated, 29.3KB)" in page([called("c"), *gave("c", "x" * 30_000)])
