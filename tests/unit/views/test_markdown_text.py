from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from callblocks.views.markdown import code_span, fenced, quoted
from callblocks.views.rows import visible, visible_line

SIGNS = st.text(
    st.sampled_from("\\`*_{}[]()<>&~|$^=@:!#+-.1 \n\tax\r\u2028\x1b") | st.characters(), max_size=40
)
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def words(tokens: list[Token]) -> str:
    """The text of inline tokens, with their line ends; anything but text is not allowed."""
    found: list[str] = []
    for token in tokens:
        for child in token.children or []:
            assert child.type in ("text", "text_special", "hardbreak", "softbreak"), child.type
            found.append("\n" if child.type.endswith("break") else child.content)
    return "".join(found)


@given(SIGNS)
@example("# no\n- list\n1. one\n    code\n```\n<b>\n---\n===\n[a](b)\n|a|b|\n|-|-|")
@example("10) x\n+ y\n&amp; <!-- x -->")
@example("a\\\n\nb")
def test_prose_stays_words_in_one_quote(text: str) -> None:
    tokens = READER.parse("\n".join(quoted(text)))
    kinds = {token.type for token in tokens}
    assert kinds <= {
        *("blockquote_open", "blockquote_close", "paragraph_open", "paragraph_close", "inline")
    }
    assert [token.type for token in tokens].count("blockquote_open") == 1
    shown = [line.strip().replace("\xa0", " ") for line in words(tokens).split("\n")]
    wanted = [line.strip().replace("\xa0", " ") for line in visible(text).split("\n")]
    assert "".join(shown).replace(" ", "") == "".join(wanted).replace(" ", "")


@given(SIGNS)
@example("```\nafter")
@example("````text\n`````")
def test_nothing_closes_a_fence(text: str) -> None:
    (token,) = READER.parse("\n".join(fenced(text)))
    assert token.type == "fence"
    assert token.content == f"{visible(text)}\n"


@given(SIGNS)
@example("```\nafter")
def test_a_fence_in_a_list_stays_in_its_item(text: str) -> None:
    tokens = READER.parse("\n".join(["- one", "", *fenced(text, "  "), "", "after"]))
    fences = [token for token in tokens if token.type == "fence"]
    assert [token.content for token in fences] == [f"{visible(text)}\n"]
    assert tokens[-2].content == "after"
    assert tokens[-2].level == 1


@given(SIGNS)
@example("` a")
@example("``")
def test_a_span_is_code_in_one_line(text: str) -> None:
    (_, inline, _) = READER.parse(f"x {code_span(text)} y")
    before, code, after = inline.children or []
    assert (before.content, after.content) == ("x ", " y")
    assert code.type == "code_inline"
    assert code.content.strip() == visible_line(text).strip()
