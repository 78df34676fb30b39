from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.blocks import Block, DocumentPart, Entry, ImagePart, TextPart
from callblocks.timeline.codec.call_blocks import Stamp
from callblocks.timeline.log.log import DAMAGED, Summary
from callblocks.timeline.log.transfer import Finding
from callblocks.views.chat.timeline_chat import ShownFile, shown
from callblocks.views.rows import columns, plain, visible_line
from callblocks.views.terminal.terminal import (
    chat_rows,
    entry_json,
    entry_rows,
    finding_rows,
    part_rows,
    summary_rows,
)
from support.sample_timelines import PNG, TS, a_talk, called, ended, entries, gave, of_member, said
from support.terminal_rows import EVIL, lines


def test_a_list_says_name_blocks_last_change_and_how_the_last_hash_begins() -> None:
    known = [
        Summary("a", 1, "0123456789abcdef" * 4, TS, "2030-02-01T08:00:00.123Z"),
        Summary("longer", 1234, "fedcba9876543210" * 4, TS, TS),
    ]
    assert lines(summary_rows(known, 80)) == [
        "a          1 block  2030-02-01 08:00:00  1:0123456789ab",
        "longer  1234 blocks  2030-01-31 12:00:00  1234:fedcba987654",
    ]


def test_an_empty_list_says_so() -> None:
    assert lines(summary_rows([], 80)) == ["No timeline is kept here."]


def test_an_entry_is_its_head_and_how_it_begins() -> None:
    entry = entries([called("c1", "ls", path="x")])[0]
    head, begins = lines(entry_rows(entry, 80))
    assert head == "    1  2030-01-31 12:00:00  react.tool.call  tc:turn_1.c1.call  94B"
    assert begins.startswith('       {"tool_id": "ls", "tool_call_id": "c1"')
    assert begins.endswith("…")


def test_a_picture_is_named_by_its_type() -> None:
    block = Block(type="x", author="x", turn_id="t", ts=TS, mime="image/png", base64=PNG)
    assert lines(entry_rows(Entry(1, block), 80))[1].strip() == "(image/png, base64)"


def test_an_empty_block_is_one_row() -> None:
    block = Block(type="x", author="x", turn_id="t", ts="soon")
    assert lines(entry_rows(Entry(1, block), 80)) == ["    1  soon  x  0B"]


def test_an_entry_as_json_is_one_line() -> None:
    entry = entries([said("user.prompt", "a\nb\ud800")])[0]
    line = entry_json(entry)
    assert line.count(b"\n") == 1
    said_ = json.loads(line)
    assert (said_["seq"], said_["hash"]) == (1, entry.hash)
    assert said_["block"]["text"] == "a\nb\ufffd"


def test_a_chat_has_turns_words_and_batches() -> None:
    rows = list(chat_rows(shown(entries(a_talk())), 80, expanded=True))
    found = lines(rows)
    assert found[:4] == ["── turn_1", "", "User  2030-01-31 12:00:00", "Add them up."]
    assert "🔧 2 tool calls, 1 failed" in found
    assert "  add(a=1, b=2) → 3" in found
    assert "  fail() → ❌ no_tea: there is no tea" in found


def test_files_and_notices_are_rows_of_their_own() -> None:
    stamp = Stamp("turn_1", "c", "run", TS)
    told = '{"code":"noted","message":"well noted"}'
    attached = msgspec.structs.replace(
        said("user.attachment", "abc", author="user"), path="fi:turn_1.user.attachments/a.txt"
    )
    notice = stamp.block("react.notice", mime="application/json", text=told)
    found = lines(chat_rows(shown(entries([attached, called("c"), notice])), 80, expanded=False))
    assert "+ fi:turn_1.user.attachments/a.txt (text/plain)" in found
    assert "ⓘ add: well noted" in found


def test_a_folded_chat_hides_what_calls_gave() -> None:
    found = lines(chat_rows(shown(entries(a_talk())), 80, expanded=False))
    assert "🔧 2 tool calls, 1 failed (show details)" in found
    assert not any("add(" in line for line in found)


def test_a_new_turn_and_a_lost_block_are_seen() -> None:
    blocks = [said("user.prompt", "a"), said("user.prompt", "b", turn="turn_2"), DAMAGED]
    found = lines(chat_rows(shown(entries(blocks)), 80, expanded=False))
    assert [line for line in found if line.startswith("──")] == ["── turn_1", "── turn_2"]
    assert found[-1] == "Block 3 cannot be read."


def test_what_broke_off_how_a_turn_ended_and_who_of_a_team_spoke_is_seen() -> None:
    cut = msgspec.structs.replace(said("assistant.completion", "It is"), meta={"is_partial": True})
    blocks = [*of_member("reader", "Low."), cut, ended("failed", code="model_busy")]
    found = lines(chat_rows(shown(entries(blocks)), 80, expanded=False))
    assert found[2:4] == ["reader  2030-01-31 12:00:00", "Low."]
    assert found[-4:] == ["It is", "… it broke off here", "", "✗ failed: model_busy"]


@given(st.text(max_size=30) | st.just(EVIL), st.integers(50, 120))
def test_nothing_steers_a_terminal_and_rows_keep_their_width(text: str, width: int) -> None:
    blocks = [
        said("user.prompt", text, author="user"),
        called("c", text, **{text: text}),
        *gave("c", text),
        Block(type=text, author=text, turn_id=text, ts=text, mime=text, path=text, text=text),
    ]
    found = entries(blocks)
    rows = [row for entry in found for row in entry_rows(entry, width)]
    rows += chat_rows(shown(found), width, expanded=True)
    rows += part_rows([TextPart(text), ImagePart(text, PNG)], width)
    rows += finding_rows(text, 3, [Finding(1, text, text)], width)
    rows += summary_rows([Summary(text, 1, text, text, text)], width)
    assert all(visible_line(part) == part for row in rows for _, part in row)
    assert all(columns(plain(row)) <= width + 1 for row in rows)


def test_parts_show_where_a_cache_may_end() -> None:
    parts = [
        TextPart("[User say]: Hi\n", cache=True),
        DocumentPart("application/pdf", "AAAA"),
        TextPart("[TOOL CALL a].call ls\n" + "x" * 60 + "\n", cache=True),
    ]
    point = "── cache point ──"
    document = "<document media_type=application/pdf b64_len=4>"
    assert lines(part_rows(parts, 50)) == [
        *("[User say]: Hi", point, document, "[TOOL CALL a].call ls"),
        *("x" * 50, "x" * 10, point),
    ]
    assert "x" * 60 in lines(part_rows(parts, None))


def test_findings_are_named_with_their_codes() -> None:
    assert lines(finding_rows("talk", 1, [], 80)) == ["talk  1 block, all as they were written"]
    found = [Finding(3, "chain_broken", "the hash does not fit"), Finding(12, "x", "y")]
    assert lines(finding_rows("talk", 15, found, 80)) == [
        "talk  15 blocks, 2 problems",
        "    3  chain_broken      the hash does not fit",
        "   12  x                 y",
    ]
    assert lines(finding_rows("talk", 15, found[:1], 80))[0].endswith("1 problem")


def test_what_is_said_of_a_file_is_one_line() -> None:
    file = ShownFile("fi:a\nb", "image/png\n+ fi:turn_1.files/other (text/plain)")
    assert len(file.about.splitlines()) == 1
