from __future__ import annotations

import asyncio
import math
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.blocks import TextPart
from callblocks.core.errors import CallerError
from callblocks.models.model import Message, Model, Piece, Request, Spoken, Stopped, Usage
from callblocks.models.scripted import ScriptedModel

LOOK = (
    "---\nmatch: [look]\n---\nI look.\n"
    "<!-- results -->\nThere is {{result}}, as you said: {{prompt}}"
)


def pieces(model: Model, **asked: Any) -> list[Piece]:
    async def read() -> list[Piece]:
        request = Request(**{"messages": (), **asked})
        async with aclosing(model.reply(request)) as reply:
            return [piece async for piece in reply]

    return asyncio.run(read())


def text(model: Model, **asked: Any) -> str:
    return "".join(one.text for one in pieces(model, **asked) if isinstance(one, Spoken))


def scripted(folder: Path, **scripts: str) -> ScriptedModel:
    for name, script in scripts.items():
        (folder / f"{name}.md").write_text(script, "utf-8")
    return ScriptedModel(folder, pace=0)


def test_each_round_has_its_reply(tmp_path: Path) -> None:
    model = scripted(tmp_path, look=LOOK)
    results = (("c1", "nothing\n"), ("c2", "a file"))
    assert text(model, prompt="Look!") == "I look."
    assert text(model, prompt="Look!", round=2, results=results) == (
        "There is a file, as you said: Look!"
    )
    assert text(model, prompt="Look!", round=3) == "That is all that my script says."
    assert text(model, prompt="Look!", round=0) == "I look."


def test_the_reply_ends_with_its_cost_and_why_it_ended(tmp_path: Path) -> None:
    model = scripted(tmp_path, look=LOOK)
    messages = (Message("user", (TextPart("12345\n"),)), Message("system", (TextPart("123\n"),)))
    assert pieces(model, prompt="look", messages=messages) == [
        *(Spoken("I"), Spoken(" look"), Spoken(".")),
        *(Usage(tokens_in=3, tokens_out=2), Stopped("stop")),
    ]


def test_without_a_prompt_the_last_word_of_the_user_counts(tmp_path: Path) -> None:
    model = scripted(tmp_path, look=LOOK, wait="I wait.")
    said = [("user", "look"), ("assistant", "look"), ("user", "wait"), ("system", "look")]
    messages = tuple(Message(role, (TextPart(words),)) for role, words in said)  # pyright: ignore[reportArgumentType] roles
    assert text(model, messages=messages) == "I wait."
    assert text(model).startswith("I play scripts")


def test_the_most_tokens_and_stop_words_end_a_reply(tmp_path: Path) -> None:
    model = scripted(tmp_path, a="one two three four")
    assert text(model, prompt="a", max_tokens=2) == "one two "
    assert pieces(model, prompt="a", max_tokens=2)[-1] == Stopped("length")
    assert text(model, prompt="a", stop=("four", "two", "")) == "one "
    assert pieces(model, prompt="a", stop=("two",), max_tokens=99)[-1] == Stopped("stop")


def test_where_nothing_fits_it_says_what_it_knows(tmp_path: Path) -> None:
    model = scripted(tmp_path, b="---\nprompt: 'Say `b`'\nmatch: b\n---\nb", a="a")
    assert model.suggestions == ("a", "Say `b`")
    assert text(model, prompt="what?") == (
        "I play scripts, and none of mine fits what you said. Try one of these:\n\n- a\n- Say ‘b‘\n"
    )


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    model = ScriptedModel(tmp_path, pace=0)
    assert model.suggestions == ()
    assert text(model, prompt="what?").endswith("There are none in my folder yet.")


def test_the_default_answers_what_nothing_else_does_and_is_not_suggested(tmp_path: Path) -> None:
    model = scripted(tmp_path, a="a", default="You said {{prompt}}.")
    assert model.suggestions == ("a",)
    assert text(model, prompt="[what?]") == "You said (what?)."


def test_what_is_no_script_is_told_and_left_out(tmp_path: Path) -> None:
    model = scripted(tmp_path, a="a", b="---\nmatch: []\n---\nb")
    assert list(model.broken) == ["b.md"]
    assert model.suggestions == ("a",)
    said = text(model, prompt="b")
    assert said.startswith("I play scripts")
    assert "- a\n\nThese files are no scripts:\n\n- b.md: " in said


@pytest.mark.parametrize(
    ("own", "script", "slept"), [(None, 500, True), (None, 0, False), (0, 500, False)]
)
def test_the_pace_of_the_model_goes_before_that_of_a_script(
    own: float | None, script: float, slept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("asyncio.sleep", sleep)
    (tmp_path / "a.md").write_text(f"---\npace: {script}\nmatch: a\n---\na b c", "utf-8")
    assert text(ScriptedModel(tmp_path, pace=own), prompt="a") == "a b c"
    assert any(pauses) is slept


@pytest.mark.parametrize("pace", [-1, math.inf, math.nan])
def test_a_pace_that_is_none_is_the_callers_mistake(pace: float) -> None:
    with pytest.raises(CallerError, match="the pace is in characters a second"):
        ScriptedModel(pace=pace)


def test_many_turns_are_served_at_once(tmp_path: Path) -> None:
    model = scripted(tmp_path, a="a " * 500, b="b " * 500)

    async def said(prompt: str) -> str:
        reply = model.reply(Request(messages=(), prompt=prompt))
        return "".join([piece.text async for piece in reply if isinstance(piece, Spoken)])

    async def both() -> list[str]:
        return await asyncio.gather(*map(said, "ab"))

    first, second = asyncio.run(both())
    assert set(first) == {"a", " "}
    assert set(second) == {"b", " "}


def test_it_is_named_after_its_folder_and_writes_results(tmp_path: Path) -> None:
    (tmp_path / "talks").mkdir()
    model = ScriptedModel(tmp_path / "talks")
    assert (model.name, ScriptedModel().name) == ("scripted:talks", "scripted")
    assert model.writes_results
    asyncio.run(model.close())
