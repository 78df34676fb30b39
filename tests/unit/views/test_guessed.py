from __future__ import annotations

import pytest

from callblocks.parser import parse
from callblocks.views.text.rewrite import guess

EMOJI = "Hi\n\n🛠[ls src]\n🛠[/end]\n"
FENCE = "\n```tool save c1\ninput: {}\n```\n"
WHY = {
    EMOJI: ("emoji-bracket", "1 call, the first on line 3 with 🛠[ls src]."),
    f"{EMOJI}{EMOJI}{FENCE}": (
        "emoji-bracket",
        "2 calls, the first on line 3 with 🛠[ls src]; also tool-fence, 1 call.",
    ),
    "Hello": ("", "nothing opens a call in any dialect: all of it is text."),
    "a 🛠[/end]": ("emoji-bracket", "something opens like a call of it, and is none."),
    f"🛠[ls {'x' * 99}]": ("emoji-bracket", f"1 call, the first on line 1 with 🛠[ls {'x' * 35}…."),
}


@pytest.mark.parametrize("text", WHY)
def test_it_is_said_what_was_found_and_by_what(text: str) -> None:
    assert guess(text, parse(text).events) == WHY[text]
