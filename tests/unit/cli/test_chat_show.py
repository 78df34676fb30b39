from __future__ import annotations

from collections.abc import Iterable

from callblocks.cli.chat.chat_screen import file_rows, recent_rows, view_rows
from callblocks.core.blocks import Block, Entry
from callblocks.views.rows import Row, plain
from support.entries import TS, numbered, prompt, round_of


def answer(text: str, turn: str) -> Block:
    path = f"ar:{turn}.assistant.completion"
    return Block(
        type="assistant.completion", author="assistant", turn_id=turn, ts=TS, path=path, text=text
    )


def chat(turns: int, said: str = "fine") -> list[Entry]:
    blocks: list[Block] = []
    for number in range(1, turns + 1):
        turn = f"turn_{number}"
        blocks += [prompt(f"question {number}", turn), *round_of("c1", turn=turn)]
        blocks.append(answer(said, turn))
    return numbered(blocks)


def text(rows: Iterable[Row]) -> str:
    return "\n".join(map(plain, rows))


def test_the_last_turns_are_shown_and_the_others_counted() -> None:
    shown = text(recent_rows(chat(5), 80))
    assert "… 2 turns before; /show has all of it" in shown
    assert "question 2" not in shown
    assert all(f"question {number}" in shown for number in (3, 4, 5))
    assert "1 turn before" in text(recent_rows(chat(4), 80))
    assert "before" not in text(recent_rows(chat(3), 80))
    assert recent_rows([], 80) == []


def test_what_is_long_is_cut_in_the_last_turns_and_whole_in_all() -> None:
    lines = "\n".join(f"line {number}" for number in range(50))
    assert "line 7 …" in text(recent_rows(chat(1, lines), 80))
    assert "line 8" not in text(recent_rows(chat(1, lines), 80))
    assert "x" * 601 not in text(recent_rows(chat(1, "x" * 2000), 4000))
    assert "line 49" in text(view_rows(chat(1, lines), "show", 80, None))


def test_nothing_in_a_kept_chat_steers_the_terminal() -> None:
    evil = chat(1, "see \x1b[2J\u202e")
    for view in ("show", "raw", "view"):
        shown = text(view_rows(evil, view, 80, None))
        assert "␛[2J⟨U+202E⟩" in shown
        assert "\x1b" not in shown
    assert "\x1b" not in text(recent_rows(evil, 80))


def test_each_view_shows_the_chat_in_its_way() -> None:
    shown = {view: text(view_rows(chat(2), view, 80, 1000)) for view in ("show", "raw", "view")}
    assert "(hide details)" not in shown["show"]
    assert "react.tool.call" in shown["raw"]
    assert "[TOOL CALL" in shown["view"]


def test_files_are_those_of_the_person_and_of_calls() -> None:
    path = "fi:turn_1.user.attachments/a.csv"
    given = Block(
        type="user.attachment", author="user", turn_id="turn_1", ts=TS, path=path, text="1,2"
    )
    made = round_of("c1")[:1]
    entries = numbered([given, *made])
    assert "fi:turn_1.user.attachments/a.csv" in text(file_rows(entries, 80))
    assert file_rows(chat(1), 80) == []
