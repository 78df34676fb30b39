"""Lines may end in one character or in two: the tags of a call are the same."""

from __future__ import annotations

from typing import Any

import pytest

from callblocks import dialects
from callblocks.model.events import CallReady
from callblocks.parsing.shapes.xml_parameters import XmlParameters
from support.corpus import CASES, content, options
from support.reading import read

IN_TAGS = [name for name in dialects if isinstance(dialects[name], XmlParameters)]


def inputs(dialect: str, text: str, **given: Any) -> list[str]:
    """What the calls of a text are given, whatever the ends of lines in it."""
    events = read(dialect, [text], **given)
    found = [event.call.input for event in events if isinstance(event, CallReady)]
    return [repr(value).replace("\\r\\n", "\\n") for value in found]


@pytest.mark.parametrize("dialect", IN_TAGS)
def test_the_line_ends_of_a_text_change_no_input(dialect: str) -> None:
    for path in CASES:
        text = content(path)
        if path.parent.name == dialect and "\r" not in text:
            given = options(path)
            lines = text.replace("\n", "\r\n")
            assert inputs(dialect, lines, **given) == inputs(dialect, text, **given), path.stem
