from __future__ import annotations

import pytest

from callblocks.core.calls import Call
from callblocks.core.errors import Unwritable
from callblocks.core.specs import read_specs
from callblocks.dialects import dialects

TOOLS = read_specs(
    [
        {
            "name": "ls",
            "parameters": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "to": {"type": "string"}},
            },
        }
    ]
)
PLUS = dialects["emoji-bracket+"]


@pytest.mark.parametrize("value", [{"path": "/"}, {"path": "a", "to": "/"}, {"path": "a /"}])
def test_a_last_word_that_is_a_slash_is_written_so_that_it_stays_a_word(
    value: dict[str, str],
) -> None:
    text = PLUS.write([Call(id="c", name="ls", input=value)], TOOLS)
    assert text.endswith("'/']\n🛠️[/end]") or " /'" in text


def test_raw_arguments_that_end_with_a_slash_cannot_be_written() -> None:
    with pytest.raises(Unwritable):
        PLUS.write([Call(id="c", name="ls", input={"args": "/", "body": ""})])
