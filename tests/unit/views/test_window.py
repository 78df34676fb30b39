from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from callblocks.views.text.listing import Window
from support.transcripts import cut, places

texts = st.text("ab\n", min_size=1, max_size=60)


@given(texts, places, st.data())
def test_lines_and_columns_are_those_of_the_whole_text(
    text: str, marks: list[int], data: st.DataObject
) -> None:
    window = Window()
    for piece in cut(text, marks):
        window.add(piece)
    window.forget(data.draw(st.integers(0, len(text))))
    offset = data.draw(st.integers(0, len(text)))
    assert window.line(offset) == text.count("\n", 0, offset) + 1
    assert window.column(offset) == offset - (text.rfind("\n", 0, offset) + 1) + 1
    end = text.find("\n", offset)
    assert window.line_end(offset) == (None if end < 0 else end + 1)
    assert window.text(offset, len(text)) == text[max(offset, window.base) :]


def test_what_is_forgotten_is_gone() -> None:
    window = Window()
    window.add("one\ntwo\n")
    window.forget(5)
    assert window.text(0, 8) == "wo\n"
    assert (window.line(5), window.column(5)) == (2, 2)
