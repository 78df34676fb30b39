from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from callblocks.parser import Parser, parse
from callblocks.views.chat.chat import BrokenBlock, Chat, Item, ThoughtLine
from callblocks.views.chat.groups import CallGroup, GroupedCall, Validation
from support.transcripts import EXAMPLES, cut, places


def items(text: str, dialect: str = "auto", **options: object) -> list[Item]:
    chat = Chat()
    chat.feed(parse(text, dialect, **options).events)  # pyright: ignore[reportArgumentType] as given
    return chat.close()


def test_calls_with_blanks_between_are_a_group() -> None:
    text = "Hi.\n🛠️[a 1]🛠️[/end]\n\n🛠️[b]🛠️[/end]\nBye."
    first, group, *rest = items(text)
    assert first == "Hi.\n"
    assert group == CallGroup(
        [GroupedCall("a(args=1)", id="tool-call-1"), GroupedCall("b()", id="tool-call-2")]
    )
    assert "".join(map(str, rest)) == "\nBye."


def test_a_result_finds_its_call() -> None:
    text = "🛠️[a]🛠️[/end]🛠️[b]🛠️[/end]🛠️[/result 1]\none\n🛠️[/end]🛠️[/result 2 error]\nno\n🛠️[/end]"
    (group,) = items(text)
    assert isinstance(group, CallGroup)
    assert [(entry.result, entry.failed) for entry in group.entries] == [
        ("one\n", False),
        ("no\n", True),
    ]


def test_what_a_display_showed_stays_as_it_was() -> None:
    shown = f"{'x' * 500}… (truncated, 2.3KB)"
    (group,) = items(f"<tool>read(path=a)\n{shown}</tool>")
    assert group == CallGroup([GroupedCall("read(path=a)", shown, id="tool-call-1")])


def test_a_call_that_breaks_is_no_entry() -> None:
    (broken,) = items("```tool a\ninput: {\n```\n")
    assert isinstance(broken, BrokenBlock)
    assert broken.code == "tool-fence.yaml"


def test_an_old_validation_is_one() -> None:
    assert items("<validation>ok</validation>") == [Validation("ok")]


def test_thoughts_are_lines_of_their_own() -> None:
    reasoning = [("<think>", "</think>")]
    assert items("<think>a\nb</think>c", reasoning=reasoning) == [
        ThoughtLine("a\n"),
        ThoughtLine("b"),
        "c",
    ]


def test_a_started_call_is_pending_before_its_input_is_there() -> None:
    chat, parser = Chat(), Parser("emoji-bracket")
    chat.feed(parser.feed("🛠️[write a.txt]\nsome of "))
    assert chat.items == [CallGroup([GroupedCall("write(…)", id="tool-call-1")])]


def test_a_line_is_settled_when_it_is_over() -> None:
    chat, parser = Chat(), Parser("emoji-bracket")
    chat.feed(parser.feed("one line\nand the st"))
    assert chat.settle() == ["one line\n"]
    assert chat.items == ["and the st"]


def test_a_pending_call_holds_what_follows() -> None:
    chat, parser = Chat(), Parser("emoji-bracket")
    chat.feed(parser.feed("🛠️[a]🛠️[/end]\nwords\n"))
    assert chat.settle() == []
    chat.feed(parser.feed("🛠️[/result 1]\nok\n🛠️[/end]\nmore\n"))
    assert isinstance(chat.settle()[0], CallGroup)


def test_a_result_that_comes_too_late_is_shown_with_its_call_again() -> None:
    chat, parser = Chat(), Parser("emoji-bracket")
    chat.feed(parser.feed("🛠️[a]🛠️[/end]\nwords\n"))
    given_up = chat.give_up()
    assert given_up[0] == CallGroup([GroupedCall("a()", id="tool-call-1")])
    chat.feed(parser.feed("🛠️[/result 1]\nok\n🛠️[/end]"))
    assert chat.close()[-1] == CallGroup([GroupedCall("a()", "ok\n", id="tool-call-1")])


def test_a_call_that_was_given_up_half_read_comes_whole() -> None:
    chat, parser = Chat(), Parser("emoji-bracket")
    chat.feed(parser.feed("🛠️[a]\nhalf"))
    chat.give_up()
    chat.feed(parser.feed(" done🛠️[/end]"))
    assert chat.close() == [CallGroup([GroupedCall("a(body=half done)", id="tool-call-1")])]


def test_a_call_that_was_given_up_and_breaks_leaves_its_text() -> None:
    chat, parser = Chat(), Parser("tool-fence")
    chat.feed(parser.feed("```tool a\ninput: {"))
    chat.give_up()
    chat.feed(parser.close())
    assert [type(item) for item in chat.close()] == [BrokenBlock]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
@given(marks=places)
def test_cuts_do_not_matter(example: Path, marks: list[int]) -> None:
    text = example.read_text("utf-8")
    chat, parser = Chat(), Parser()
    found: list[Item] = []
    for piece in cut(text, marks):
        chat.feed(parser.feed(piece))
        found += chat.settle()
    chat.feed(parser.close())
    found += chat.close()
    whole = items(text)
    assert _solid(found) == _solid(whole)


def _solid(items: list[Item]) -> list[Item]:
    return [item for item in items if not isinstance(item, str) or item.strip()]
