"""What `ArgumentDeltas` and `TextDeltas` send, piece by piece."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callblocks import ToolSpec
from callblocks.gateway.arguments import ArgumentDeltas, TextDeltas

WRITE = ToolSpec(
    "write",
    "",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "content": {"type": "string"},
            "days": {"type": "integer"},
            "tags": {"type": "array"},
        },
        "required": ["path", "content"],
    },
)
PATCH = ToolSpec("patch", "", {"type": "object", "properties": {"input": {"type": "string"}}})


def deltas(dialect: str, *pieces: str, **options: Any) -> list[str]:
    """The delta of each piece of a call of `write`."""
    one = ArgumentDeltas(dialect, WRITE, **options)
    return [one.feed(piece) for piece in pieces]


@pytest.mark.parametrize("dialect", ["hermes", "native", "", "emoji-bracket", "scissors-cat"])
def test_a_call_without_input_is_an_empty_object(dialect: str) -> None:
    one = ArgumentDeltas(dialect, WRITE)
    assert one.finish({}) == "{}"
    assert one.agrees


def test_strings_stream_at_any_depth_of_json() -> None:
    one = ArgumentDeltas("native", None)
    assert one.feed('{"edits": [{"old": "a') == '{"edits": [{"old": "a'
    assert one.feed('b", "new": "c\\') == 'b", "new": "c'
    assert one.feed('n"}], "n": 1') == '\\n"}]'
    assert one.finish({"edits": [{"old": "ab", "new": "c\n"}], "n": 1}) == ', "n": 1}'


def test_a_surrogate_pair_is_sent_as_one_character() -> None:
    assert deltas("native", '{"path": "\\ud83d', "\\ud", 'e00"') == ['{"path": "', "", "😀"]


def test_a_lone_surrogate_is_replaced_as_clients_refuse_it() -> None:
    one = ArgumentDeltas("native", None)
    assert one.feed('{"a": "\\ud83dx') == '{"a": "\ufffdx'
    assert one.finish({"a": "\ud83dx"}) == '"}'


def test_a_quote_inside_of_a_string_does_not_end_it() -> None:
    one = ArgumentDeltas("hermes", None)
    assert one.feed('{"a": "say "hi" now", "b": 1') == '{"a": "say '
    assert one.finish({"a": 'say "hi" now', "b": 1}) == '\\"hi\\" now", "b": 1}'


def test_json_in_a_string_streams_as_the_json_in_it() -> None:
    pieces = deltas("openai_json_text", '"{\\"path\\": \\"a', '\\\\nb\\", \\"days\\": 3, \\"c')
    assert pieces == ['{"path": "a', '\\nb", "days": 3']


def test_values_are_typed_by_the_schema_as_soon_as_they_end() -> None:
    pieces = deltas(
        "qwen3_coder",
        "<parameter=days>\n3\n</parameter>\n",
        "<parameter=path>\n3",
        "\n</parameter>\n<parameter=tags>\n[1]\n</parameter>\n<parameter=content>\n",
    )
    assert pieces == ["", '{"days": 3, "path": "3', '", "tags": [1], "content": "']


def test_text_that_may_be_json_waits_without_a_schema() -> None:
    one = ArgumentDeltas("glm45", None)
    start = "<arg_key>a</arg_key><arg_value>"
    assert one.feed(f"{start}tr") == ""
    assert one.feed("ack") == '{"a": "track'


def test_a_member_that_the_tool_does_not_have_comes_at_the_end() -> None:
    one = ArgumentDeltas("hermes", WRITE)
    assert one.feed('{"other": "x", "path": "a"') == '{"path": "a'
    assert one.finish({"other": "x", "path": "a"}) == '", "other": "x"}'


def test_a_key_that_is_written_again_is_sent_again() -> None:
    one = ArgumentDeltas("hermes", None)
    text = one.feed('{"a": [{"b": "x", "b": "y"}], "c": 1}')
    text += one.finish({"a": [{"b": "y"}], "c": 1})
    assert one.agrees
    assert json.loads(text) == {"a": [{"b": "y"}], "c": 1}


def test_a_key_that_is_none_after_all_does_not_agree() -> None:
    one = ArgumentDeltas("hermes", None)
    text = one.feed('{"a": "x') + one.finish({"b": 1})
    assert not one.agrees
    assert json.loads(text) == {"a": "x", "b": 1}


def test_a_value_that_had_not_begun_is_closed_as_null() -> None:
    one = ArgumentDeltas("hermes", None)
    text = one.feed('{"a": {"b": [1, 2, "x"') + one.finish({"c": 1})
    assert json.loads(text) == {"a": {"b": [1, 2, "x"]}, "c": 1}


def test_the_words_of_a_head_come_before_its_body() -> None:
    one = ArgumentDeltas("emoji-bracket", WRITE, opening="🛠️[write a.txt]")
    assert one.feed("one ") == '{"path": "a.txt", "content": "one '
    assert one.feed("🛠️[") == "🛠️"
    assert one.feed("\\/end] two") == "[/end] two"
    assert one.finish({"path": "a.txt", "content": "one 🛠️[/end] two"}) == '"}'


def test_a_body_that_may_be_the_whole_input_waits() -> None:
    one = ArgumentDeltas("emoji-bracket", WRITE, opening="🛠️[write]")
    assert one.feed('{"path": "a", ') == ""
    assert one.finish({"path": "a", "content": "b"}) == '{"path": "a", "content": "b"}'


def test_a_call_of_no_known_tool_has_its_words_and_its_body() -> None:
    one = ArgumentDeltas("emoji-bracket", None, opening="🛠️[ls a b]")
    assert one.feed("x") == '{"args": "a b", "body": "x'


def test_a_literal_block_streams_without_its_indent() -> None:
    pieces = deltas(
        "tool-fence",
        "input:\n  path: a.txt\n  content: |\n    one",
        "\n\n",
        "      two\n",
        "  days: 3\n  tags",
    )
    assert pieces == ['{"path": "a.txt", "content": "one', "", "\\n\\n  two", '\\n", "days": 3']


def test_a_string_in_quotes_of_yaml_streams() -> None:
    pieces = deltas("yaml_xml", '\n  path: "a\\tb', 'c"\n  content: |-\n    x\n', "  days: 1\n")
    assert pieces == ['{"path": "a\\tb', 'c", "content": "x', '"']


def test_arguments_of_python_stream() -> None:
    pieces = deltas("pythonic", "(path='a\\", "n\\d', ", 'days=3, content="""x\'', '"y')
    assert pieces == ['{"path": "a', "\\n\\\\d", '", "days": 3, "content": "x\'', '\\"y']


def test_a_sign_in_a_shown_text_is_taken_out_of_a_copy() -> None:
    one = ArgumentDeltas("native", None, restores=True)
    assert one.feed('{"a": "x<␛') == '{"a": "x<'
    assert one.feed("b> ␛␛") == "b> "
    assert one.feed('y␛"') == "␛y"
    assert one.finish({"a": "x<␛b> ␛␛y␛"}) == '"}'


@pytest.mark.parametrize("text", ["␛", "␛x", "x␛", "x ␛y", "␛␛", "a␛␛␛b", "", "<␛b>␛"])
def test_any_cut_of_signs_restores_the_same(text: str) -> None:
    raw = json.dumps({"k": text, "n": 1}, ensure_ascii=False)
    for pieces in ([raw], list(raw)):
        one = ArgumentDeltas("native", None, restores=True)
        joined = "".join(map(one.feed, pieces)) + one.finish({"k": text, "n": 1})
        assert one.agrees
        assert joined.count('"k"') == 1


def test_a_free_text_call_gives_plain_text() -> None:
    one = TextDeltas("emoji-bracket", PATCH, opening="🛠️[patch]")
    assert one.feed('*** "Begin"\n') == '*** "Begin"\n'
    assert one.finish({"input": '*** "Begin"\nend'}) == "end"
    assert one.agrees


def test_a_free_text_call_in_json_gives_the_decoded_text() -> None:
    one = TextDeltas("hermes", PATCH)
    assert one.feed('{"input": "a\\nb') == "a\nb"
    assert one.feed('", "x": {"input": ["no"]}') == ""
    assert one.finish({"input": "a\nb", "x": {}}) == ""


@pytest.mark.parametrize(
    ("given", "text"), [({}, ""), ({"input": 3}, "3"), ({"other": "x"}, '{"other": "x"}')]
)
def test_a_free_text_call_without_its_text_gives_json(given: dict[str, Any], text: str) -> None:
    assert TextDeltas("hermes", PATCH).finish(given) == text


def test_a_free_text_that_turned_out_different_does_not_agree() -> None:
    one = TextDeltas("hermes", PATCH, restores=True)
    assert one.feed('{"input": "abc') == "abc"
    assert one.finish({"input": "x"}) == ""
    assert not one.agrees
