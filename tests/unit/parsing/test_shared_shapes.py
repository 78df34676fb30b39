"""What shapes and openers prepare once and share."""

from __future__ import annotations

import pytest

from callblocks import ToolSpec, parse
from callblocks.parsing.engine import openers
from callblocks.parsing.engine.markers import is_within_quotation
from callblocks.parsing.engine.openers import Openers
from callblocks.parsing.shapes import xml_call
from callblocks.parsing.shapes.tag_arguments import function_tags


def test_tags_of_arguments_are_those_of_their_names_or_any_where_none_is_known() -> None:
    xml_call._elements.cache_clear()
    for keys, tags in ((("path",), ["<path>"]), ((), ["<path>", "<b>"])):
        marks = xml_call._elements(keys).final
        assert [hit[0] for hit in marks.finditer("a<path>b<b>")] == tags


def test_marks_of_arguments_are_found_in_a_value() -> None:
    tags = function_tags("own_wrapper")
    hits = tags.argument_marks.finditer("a <parameter=b>c</parameter>")
    assert [hit[0].strip() for hit in hits] == ["<parameter=b>", "</parameter>"]


def test_openers_forget_beginnings_when_they_know_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openers, "_MOST_BEGINNINGS", 2)
    known = Openers([])
    for text in ("a", "b", "c", "a"):
        assert known.at(text, fresh=False) == []
    assert len(known._found) == 2


def test_an_apostrophe_before_markup_quotes_nothing() -> None:
    assert not is_within_quotation("don'<b> see")
    assert is_within_quotation("say don'<b> '<b> see")


def test_a_thought_that_swallowed_a_damaged_header_is_told() -> None:
    text = (
        " to=self<|message|>Hm. <|xtart|>assistant to=now<|message|><atem:function_calls>\n"
        '<atem:invoke name="now">\n</atem:invoke>\n</atem:function_calls><|eom|>'
    )
    read = parse(text, "muse_glimmer", tools=[ToolSpec("now")])
    assert "unread-call" in [problem.code for problem in read.problems]
