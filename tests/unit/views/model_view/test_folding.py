"""A view within its budget: what is folded first, to what, and when."""

from __future__ import annotations

import json
from collections.abc import Iterable

import msgspec
import pytest

from callblocks.core.blocks import Block, Entry, TextPart, text_of
from callblocks.timeline.codec.call_blocks import Stamp
from callblocks.timeline.timeline import CacheSettings, Tokens
from callblocks.views.model_view.view import ModelView

TS = "2030-01-31T12:00:00Z"
TEXT = "word " * 160


def said(type: str, text: str, turn: str = "turn_1", path: str = "") -> Block:
    return Block(type=type, author="user", turn_id=turn, ts=TS, path=path, text=text)


def prompt(text: str, turn: str = "turn_1") -> Block:
    return said("user.prompt", text, turn, f"ar:{turn}.user.prompt")


def call(id: str, turn: str = "turn_1", tool: str = "look") -> Block:
    stamp = Stamp(turn, id, tool, TS)
    return stamp.block("react.tool.call", path=stamp.path("call"), mime="x/json", text="{}")


def result(id: str, text: str = TEXT, turn: str = "turn_1", file: str = "") -> list[Block]:
    stamp = Stamp(turn, id, "look", TS)
    path = file or stamp.path("result")
    return [
        stamp.result("digest", json.dumps({"artifact_path": path})),
        stamp.result("content", text, mime="text/plain", path=path),
    ]


def around(id: str, text: str = TEXT, turn: str = "turn_1", file: str = "") -> list[Block]:
    return [call(id, turn), *result(id, text, turn, file)]


def view_of(blocks: Iterable[Block], budget: int = 1000) -> ModelView:
    view = ModelView(budget=budget)
    view.feed(Entry(seq, block) for seq, block in enumerate(blocks, 1))
    return view


def shown(blocks: Iterable[Block], budget: int = 1000) -> str:
    return text_of(view_of(blocks, budget).parts())


def test_nothing_is_folded_within_the_budget() -> None:
    view = view_of([prompt("hi"), *around("a"), *around("b")])
    assert view.generation == 0
    assert "→" not in text_of(view.parts())


def test_older_rounds_become_one_line_each() -> None:
    rounds = [*around("a", file="fi:turn_1.files/a.md"), *around("b"), *around("c"), *around("d")]
    text = shown([prompt("hi"), *rounds, *around("e")])
    assert text.startswith(
        "[User say]: hi\n"
        "[TOOL CALL a] look → ok, fi:turn_1.files/a.md; "
        'read it again with react.read(paths=["fi:turn_1.files/a.md"])\n'
        '[TOOL CALL b] look → ok; read it again with react.read(paths=["tc:turn_1.b.result"])\n'
    )
    assert "[TOOL CALL e].call look" in text
    assert text.count(TEXT) < 5


def test_a_view_is_folded_to_half_of_its_budget_at_once() -> None:
    view = view_of([prompt("hi"), *(block for id in "abcde" for block in around(id))])
    assert view.generation == 1
    assert view.cost <= 500


def test_between_foldings_nothing_changes_before_the_cache_point() -> None:
    view = ModelView(
        CacheSettings(cache_point_min_rounds=1, cache_point_offset_rounds=1), budget=900
    )
    generations: list[int] = []
    before = ""
    for seq, block in enumerate((b for n in range(40) for b in around(f"c{n}")), 1):
        view.feed([Entry(seq, block)])
        text = text_of(view.parts())
        if generations and generations[-1] == view.generation:
            assert text.startswith(before)
        generations.append(view.generation)
        marks = [at for at, part in enumerate(view.parts()) if part.cache]
        before = text_of(view.parts()[: marks[0] + 1]) if len(marks) == 2 else ""
    assert 5 < generations[-1] < 40


def test_a_call_that_failed_says_so_in_its_line() -> None:
    stamp = Stamp("turn_1", "bad", "look", TS)
    error = json.dumps({"artifact_path": stamp.path("result"), "error": {"code": "timeout"}})
    failed = [call("bad"), stamp.result("digest", error)]
    text = shown([*failed, *(block for id in "abcdef" for block in around(id))])
    assert "[TOOL CALL bad] look → error timeout; read it" in text


def test_a_call_without_results_says_so_and_its_results_are_shown_when_they_come() -> None:
    blocks = [call("slow"), *(block for id in "abcde" for block in around(id))]
    assert "[TOOL CALL slow] look → no result\n" in shown(blocks)
    late = shown([*blocks, *result("slow", "at last")])
    assert "[TOOL CALL slow] look → no result\n" in late
    assert late.endswith("content:\nat last\n")


def test_an_id_that_comes_again_is_another_call() -> None:
    text = shown([block for _ in range(6) for block in around("a")])
    assert text.count("[TOOL CALL a] look → ok") >= 3
    assert "[TOOL CALL a].call look" in text


def test_notes_and_messages_stay_when_rounds_are_folded() -> None:
    notes = said("react.notes", "I look at it")
    rounds = [block for id in "abcdef" for block in (notes, *around(id))]
    text = shown([prompt("What is it?"), *rounds])
    assert text.count("[AI Agent say]: I look at it\n") == 6
    assert "[User say]: What is it?\n" in text


def test_messages_are_folded_after_rounds_the_oldest_turns_first() -> None:
    turns = [f"turn_{number}" for number in range(6)]
    text = shown([prompt(TEXT, turn) for turn in turns])
    assert text.startswith(
        "[User say]: (folded, about 204 tokens; "
        'read it again with react.read(paths=["ar:turn_0.user.prompt"]))\n'
    )
    assert text.endswith(f"[User say]: {TEXT}\n")


def test_attachments_are_folded_before_messages() -> None:
    files = [
        said("user.attachment", TEXT, f"turn_{n}", f"fi:turn_{n}.user.attachments/a.txt")
        for n in range(6)
    ]
    text = shown([prompt("Look at these"), *files])
    assert "[User say]: Look at these\n" in text
    assert "[User attachment] (folded, about" in text
    assert 'react.read(paths=["fi:turn_0.user.attachments/a.txt"]))\n' in text


def test_in_the_end_old_lines_are_only_counted() -> None:
    notes = said("react.notes", "short")
    view = view_of([prompt("hi"), *(b for n in range(99) for b in (notes, *around(f"c{n}")))])
    text = text_of(view.parts())
    assert text.startswith("[folded]: ")
    assert " calls and " in text.splitlines()[0]
    assert "[User say]: hi\n" in text
    assert "[TOOL CALL c98].call look\n" in text
    assert view.cost <= 1000


def test_the_files_of_what_is_not_listed_are_named_the_newest_first() -> None:
    rounds = [b for n in range(60) for b in around(f"c{n}", file=f"fi:turn_1.files/{n}.md")]
    view = view_of([prompt("hi"), *rounds], budget=2000)
    line = text_of(view.parts()).splitlines()[0]
    counts, _, files = line.partition("; their files, the newest first: ")
    assert counts.endswith(" messages that came before are not listed here")
    named, _, how = files.partition("; read one again with ")
    paths = named.partition(" and ")[0].split(", ")
    numbers = [int(path.removeprefix("fi:turn_1.files/").removesuffix(".md")) for path in paths]
    assert numbers == list(range(numbers[0], numbers[0] - len(numbers), -1))
    assert len(numbers) > 5
    assert named.endswith(f" and {numbers[-1]} more")
    assert f"[TOOL CALL c{numbers[0] + 1}]" in text_of(view.parts())
    assert how == f'react.read(paths=["{paths[0]}"])'
    assert len(line) / 4 < 2000 / 8 + 25
    assert view.cost <= 2000


def test_a_file_is_named_once_and_an_attachment_too() -> None:
    attached = "fi:turn_1.user.attachments/a.txt"
    blocks = [said("user.attachment", TEXT, path=attached), *around("r", file="fi:t.files/r")]
    rounds = [b for n in range(60) for b in around(f"c{n}", file="fi:turn_1.files/same.md")]
    line = shown([*blocks, *rounds], budget=1200).splitlines()[0]
    assert f": fi:turn_1.files/same.md, fi:t.files/r, {attached}; read one" in line


def test_a_budget_with_no_room_for_a_file_names_none() -> None:
    rounds = [b for n in range(30) for b in around(f"c{n}", file=f"fi:turn_1.files/{n}.md")]
    line = shown(rounds, budget=200).splitlines()[0]
    assert line.startswith("[folded]: ")
    assert line.endswith(" are not listed here")


@pytest.mark.parametrize(
    ("tool", "meta"),
    [
        ("react.read", {}),
        ("react.hide", {}),
        ("custom", {"runs": "react.read", "result": "read"}),
        ("bring_back", {"result": "read"}),
    ],
)
def test_calls_that_nobody_needs_again_are_unlisted_first_and_say_no_more(
    tool: str, meta: dict[str, str]
) -> None:
    def spent(id: str) -> list[Block]:
        stamp = Stamp("turn_1", id, tool, TS)
        path = "fi:turn_1.files/again.md"
        own = msgspec.structs.replace(call(id, tool=tool), meta=meta)
        return [own, stamp.result("content", TEXT, path=path)]

    few = [*around("first"), *spent("s0"), *around("b"), *around("c"), *around("d"), *around("e")]
    assert f"[TOOL CALL s0] {tool} → ok\n" in shown([prompt("hi"), *few], budget=1200)
    many = [b for n in range(12) for b in (*around(f"c{n}"), *spent(f"s{n}"))]
    text = shown([prompt("hi"), *many], budget=900)
    assert text.startswith("[folded]: ")
    assert "] look → ok" in text
    assert f"] {tool} → ok" not in text
    assert "again.md" not in text.splitlines()[0]


def test_a_block_larger_than_the_budget_is_its_header_and_its_path() -> None:
    text = shown([prompt("hi"), *around("a", TEXT * 9), *around("b", "small")])
    assert TEXT not in text
    assert "path: tc:turn_1.a.result\ncontent: (about " in text
    assert " tokens, too many to show here: tc:turn_1.a.result)\n" in text
    assert "content:\nsmall\n" in text


def test_a_picture_that_there_is_no_room_for_is_left_out() -> None:
    stamp = Stamp("turn_1", "p", "draw", TS)
    path = "fi:turn_1.files/a.png"
    block = stamp.block("react.tool.result", path=path, mime="image/png", base64="iVBORw0KGgo=")
    parts = view_of([block], budget=1000).parts()
    assert all(isinstance(part, TextPart) for part in parts)
    assert f"path: {path}\ncontent: (about " in text_of(parts)


def test_many_files_of_the_newest_call_are_left_out_one_by_one() -> None:
    files = [b for n in range(12) for b in result("a", file=f"fi:turn_1.files/{n}.md")]
    view = view_of([prompt("hi"), call("a"), *files], budget=1500)
    text = text_of(view.parts())
    assert view.cost <= 1500
    assert "too many to show here: fi:turn_1.files/0.md" in text
    assert f"content:\n{TEXT}\n" in text
    assert text.startswith("[User say]: hi\n")


def test_a_prompt_is_left_out_last() -> None:
    view = view_of([prompt(TEXT * 4), call("a"), *result("a", TEXT * 3)], budget=1000)
    text = text_of(view.parts())
    assert f"[User say]: {TEXT * 4}\n" in text
    assert "too many to show here: tc:turn_1.a.result" in text


def test_what_is_folded_stays_so_when_it_is_hidden() -> None:
    blocks = [prompt("hi"), *(b for id in "abcde" for b in around(id))]
    hide = said("timeline.hidden", "[hidden; x]", path="tc:turn_1.a.result")
    assert shown([*blocks, hide]) == shown(blocks)


def test_what_is_folded_keeps_its_line() -> None:
    file = said("user.attachment", TEXT, path="fi:turn_1.user.attachments/a.txt")
    blocks = [file, *(b for n in range(5) for b in around(f"c{n}"))]
    more = [*blocks, *(b for n in range(5, 9) for b in around(f"c{n}"))]
    first, second = view_of(blocks), view_of(more)
    line = text_of(first.parts()).splitlines()[0]
    assert line.startswith("[User attachment] (folded, about")
    assert second.generation > first.generation
    assert text_of(second.parts()).startswith(line)


def test_a_text_shorter_than_what_would_stand_for_it_is_shown() -> None:
    files = [*result("a", "ok"), *result("a", TEXT[:400], file="fi:turn_1.files/a")]
    text = shown([call("a"), *files], budget=140)
    assert "content:\nok\n" in text
    assert TEXT[:400] not in text


def test_odd_blocks_are_folded_too() -> None:
    blocks = [said("timeline.damaged", ""), said("later.type", "x")]
    rounds = [b for n in range(60) for b in around(f"c{n}")]
    text = shown([*blocks, *rounds])
    assert "[damaged block" not in text
    assert text.startswith("[folded]: ")


def test_the_callers_way_of_counting_is_used() -> None:
    words = Tokens(lambda text: len(text.split()), "words")
    view = ModelView(tokens=words, budget=10_000)
    view.feed([Entry(1, prompt("one two three"))])
    assert view.cost == 5


@pytest.mark.parametrize("budget", [1, 5, 20])
def test_a_budget_too_small_for_anything_still_gives_a_view(budget: int) -> None:
    blocks = [prompt("hi"), *(b for id in "abcde" for b in around(id))]
    text = shown(blocks, budget)
    assert text.startswith("[folded]: 5 calls and ")
    assert TEXT not in text


def test_long_names_and_many_paths_do_not_make_a_line_long() -> None:
    stamp = Stamp("turn_1", "i" * 999, "t" * 999, TS)
    files = [
        block
        for n in range(9)
        for block in (
            stamp.result("digest", json.dumps({"artifact_path": f"fi:turn_1.files/{n}"}), path="x"),
            stamp.result("content", TEXT, path=f"fi:turn_1.files/{n}"),
        )
    ]
    text = shown([*files, *(b for n in range(9) for b in around(f"c{n}"))], budget=4000)
    line = next(line for line in text.splitlines() if line.startswith("[TOOL CALL iii"))
    assert len(line) < 800
    assert line.count("fi:turn_1.files/") == 6


def test_a_view_says_what_it_shows_whole_and_what_it_does_not() -> None:
    blocks = [prompt("hi"), *[block for id in "abcdef" for block in around(id)]]
    view = view_of(blocks)
    assert view.generation == 1
    contents = [seq for seq, block in enumerate(blocks, 1) if block.text == TEXT]
    assert not view.shows(contents[0])
    assert view.shows(contents[-1])
    whole = text_of(view.parts()).count(TEXT.strip())
    assert sum(map(view.shows, contents)) == whole
    assert not view.shows(0)
    assert not view.shows(len(blocks) + 1)


def test_a_view_does_not_show_what_is_too_large_or_hidden() -> None:
    view = view_of([prompt("hi"), call("a"), *result("a", "word " * 4000)])
    assert not view.shows(4)
    small = view_of([prompt("hi"), *around("a", "short")])
    path = "tc:turn_1.a.result"
    record = Block(type="timeline.hidden", author="timeline", turn_id="turn_1", ts=TS, path=path)
    assert small.shows(4)
    small.feed([Entry(5, msgspec.structs.replace(record, meta={"after": 0, "before": 5}))])
    assert not small.shows(4)
