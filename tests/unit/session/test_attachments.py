"""Files that a person gives with a prompt: all of them are in the turn, or it says why not."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from callblocks.core.blocks import ImagePart
from callblocks.core.errors import BadPath
from callblocks.core.paths import FilePath, Place, file_path
from callblocks.session import session as attaching
from callblocks.session.model_choice import Attachment
from callblocks.session.session import named_apart
from callblocks.toolkits import turn_files
from support.documents import png
from support.scripted_sessions import Replies, blocks_of, check_grammar, run_turn, some_host, texts


def test_a_text_is_shown_before_the_prompt(tmp_path: Path) -> None:
    model = Replies("Yes.")
    with some_host(tmp_path, model) as host:
        asyncio.run(run_turn(host.session("talk"), "Read it.", Attachment("a.txt", b"17:20\n")))
    ((_, text),) = texts(model.requests[0].messages)
    assert "17:20" in text
    assert "fi:turn_1.user.attachments/a.txt" in text
    assert text.endswith("[User say]: Read it.\n")


def test_an_image_is_a_part_of_the_message(tmp_path: Path) -> None:
    model = Replies("Yes.")
    with some_host(tmp_path, model) as host:
        asyncio.run(run_turn(host.session("talk"), "Look.", Attachment("a.png", png())))
    _, message = model.requests[0].messages
    (image,) = (part for part in message.parts if isinstance(part, ImagePart))
    assert image.mime == "image/png"


@pytest.mark.parametrize("name", ["../a", "/etc/passwd", "", "a\0b", "a\\b", "x" * 300, "\ud800"])
def test_a_name_that_no_file_can_have_begins_nothing(tmp_path: Path, name: str) -> None:
    with some_host(tmp_path, Replies("Yes.")) as host:
        session = host.session("talk")
        with pytest.raises(BadPath):
            asyncio.run(run_turn(session, "Go.", Attachment("a", b""), Attachment(name, b"")))
        assert blocks_of(session) == []
        assert not session.is_running


def test_a_file_that_is_too_large_fails_the_turn_and_leaves_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_files, "MAX_FILE", 10)
    model = Replies("Yes.", "Yes.")
    with some_host(tmp_path, model) as host:
        session = host.session("talk")
        small, large = Attachment("a.txt", b"small"), Attachment("b.txt", b"x" * 11)
        events = asyncio.run(run_turn(session, "Go.", small, large))
        check_grammar(events)
        (_, last) = events
        assert getattr(last, "code", "") == "file_too_large"
        types = [block.type for block in blocks_of(session)]
        assert types == ["timeline.settings", "user.prompt", "timeline.turn"]
        assert model.requests == []
        asyncio.run(run_turn(session, "Then so.", small))
    assert "small" in texts(model.requests[0].messages)[0][1]


def test_a_huge_text_is_shown_in_part(tmp_path: Path) -> None:
    model = Replies("Yes.")
    with some_host(tmp_path, model) as host:
        huge = Attachment("a.txt", b"0123456789\n" * 200_000)
        asyncio.run(run_turn(host.session("talk"), "Go.", huge))
    ((_, text),) = texts(model.requests[0].messages)
    assert len(text) < 500_000


def test_files_of_one_name_are_told_apart() -> None:
    names = ["a.png", "./a.png", "b/a.png", "a.png", "a-2.png", "a"]
    files = named_apart(Attachment(name, b"") for name in names)
    assert [file.name for file in files] == [
        *("a.png", "a-2.png", "b/a.png", "a-3.png", "a-2-2.png", "a"),
    ]


def test_many_files_of_one_name_cost_no_more_than_as_many_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried: list[str] = []

    def counted(turn: str, name: str, place: Place) -> FilePath:
        tried.append(name)
        return file_path(turn, name, place)

    monkeypatch.setattr(attaching, "file_path", counted)
    files = named_apart([Attachment("a.png", b"")] * 500)
    assert len({file.name for file in files}) == 500
    assert files[-1].name == "a-500.png"
    assert len(tried) < 1500
