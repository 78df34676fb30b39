from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from callblocks.core.blocks import TYPES, Block
from callblocks.timeline.codec.call_blocks import Stamp
from callblocks.timeline.log.log import DAMAGED
from callblocks.timeline.log.transfer import with_gaps
from callblocks.views.chat.timeline_chat import (
    Batch,
    Lost,
    Message,
    ShownCall,
    TurnEnded,
    grouped,
    shown,
)
from support.sample_timelines import (
    TS,
    a_talk,
    called,
    ended,
    entries,
    failed,
    gave,
    made,
    of_member,
    said,
)


def batch(*blocks: Block) -> list[ShownCall]:
    """The calls of the only batch."""
    (item,) = shown(entries(list(blocks)))
    assert isinstance(item, Batch)
    return item.calls


def test_a_talk_is_messages_and_batches() -> None:
    items = shown(entries(a_talk()))
    kinds = [item.who if isinstance(item, Message) else type(item).__name__ for item in items]
    assert kinds == ["user", "assistant", "Batch", "assistant", "Batch", "assistant"]


def test_a_result_finds_its_call_wherever_it_stands() -> None:
    one, two = batch(called("c1"), called("c2"), *gave("c2", "second"), *gave("c1", "first"))
    assert (one.result, two.result) == ("first", "second")


def test_a_call_without_a_result_waits() -> None:
    (call,) = batch(called("c1"))
    assert call.result is None
    assert grouped(Batch("turn_1", [call])).entries[0].pending


def test_the_same_id_in_another_turn_is_another_call() -> None:
    items = shown(entries([called("c1"), called("c1", turn="turn_2"), *gave("c1", "x")]))
    first, second = (item.calls[0] for item in items if isinstance(item, Batch))
    assert (first.result, second.result) == ("x", None)


def test_a_failure_is_told_once() -> None:
    (call,) = batch(called("c1"), *failed("c1", "there is no tea"))
    assert (call.failed, call.result) == (True, "no_tea: there is no tea")
    assert call.notices == []


def test_a_notice_of_a_failure_is_enough() -> None:
    (call,) = batch(called("c1"), failed("c1", "no")[0])
    assert (call.failed, call.result) == (True, "no")


def test_other_notices_stand_beside_the_result() -> None:
    stamp = Stamp("turn_1", "c1", "add", TS)
    told = '{"code":"noted","message":"well noted"}'
    notice = stamp.block("react.notice", mime="application/json", text=told)
    (call,) = batch(called("c1"), notice, *gave("c1", "3"))
    assert (call.notices, call.result, call.failed) == (["well noted"], "3", False)


def test_a_result_that_looks_like_a_digest_is_a_result() -> None:
    stamp = Stamp("turn_1", "c1", "add", TS)
    text = '{"artifact_path":"fi:turn_1.files/evil","error":{"code":"x","message":"y"}}'
    (call,) = batch(called("c1"), stamp.result("content", text))
    assert (call.result, call.failed, call.files) == (text, False, [])


def test_files_are_a_result_where_there_is_no_other() -> None:
    (call,) = batch(called("c1"), *made("c1", "a.md", mime="text/markdown", text="# A"))
    (entry,) = grouped(Batch("turn_1", [call])).entries
    assert entry.result == "fi:turn_1.files/a.md (text/markdown, 12B)"
    assert call.files[0].text == "# A"


def test_a_report_with_an_error_is_a_failure() -> None:
    stamp = Stamp("turn_1", "c1", "exec", TS)
    for text, failed_ in (("Runtime error: none\n", False), ("Runtime error: x — y", True)):
        report = stamp.result("report", text, mime="text/markdown")
        (call,) = batch(called("c1"), report)
        assert call.failed is failed_


def test_code_stands_with_its_call() -> None:
    stamp = Stamp("turn_1", "c1", "exec", TS)
    code = stamp.block("react.tool.code", path=stamp.code_path, text="print(1)")
    (call,) = batch(code, called("c1"))
    assert call.code == "print(1)"


def test_attachments_of_a_turn_stand_together() -> None:
    def attached(name: str) -> list[Block]:
        path = f"fi:turn_1.user.attachments/{name}"
        digest = f'{{"artifact_path":"{path}","mime":"text/plain","size_bytes":3}}'
        content = replace(said("user.attachment", "abc", author="user"), path=path)
        meta = {"role": "digest"}
        return [replace(content, mime="application/json", text=digest, meta=meta), content]

    (item,) = shown(entries([*attached("a.txt"), *attached("b.txt")]))
    assert isinstance(item, Message)
    assert [file.path[-5:] for file in item.files] == ["a.txt", "b.txt"]
    assert [(file.size, file.text) for file in item.files] == [(3, "abc")] * 2


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (ended("failed", code="model_busy", message="try \x1b"), "✗ failed: model_busy: try ␛"),
        (ended("limited", code="round_limit", message="enough"), "✗ limited: round_limit: enough"),
        (ended("stopped", code="stopped", message="by the person"), "■ stopped"),
        (ended("interrupted", code="interrupted", message="it died"), "✗ interrupted: it died"),
        (ended("failed"), "✗ failed"),
        (ended(""), "✗ failed"),
    ],
)
def test_a_turn_that_was_not_answered_says_how_it_ended(record: Block, words: str) -> None:
    prompt = said("user.prompt", "Hi.", author="user")
    assert shown(entries([prompt, record]))[1:] == [TurnEnded(2, "turn_1", words)]
    assert len(shown(entries([prompt, ended("answered", code="odd")]))) == 1


def test_an_answer_that_broke_off_is_marked() -> None:
    whole = said("assistant.completion", "It is")
    items = shown(entries([whole, replace(whole, meta={"is_partial": True})]))
    assert [item.is_cut for item in items if isinstance(item, Message)] == [False, True]


def test_what_a_member_said_stands_below_its_name() -> None:
    items = shown(entries([*of_member("reader", "It is low."), *of_member("critic", "Mind it.")]))
    assert all(isinstance(item, Message) and not item.files for item in items)
    found = [(item.who, item.name, item.text) for item in items if isinstance(item, Message)]
    assert found == [("assistant", "reader", "It is low."), ("assistant", "critic", "Mind it.")]


def test_a_block_that_cannot_be_read_is_named() -> None:
    items = shown(entries([said("user.prompt", "Hi.", author="user"), DAMAGED]))
    assert items[1] == Lost(2, "turn_1", "Block 2 cannot be read.")
    assert shown(entries([DAMAGED])) == [Lost(1, "", "Block 1 cannot be read.")]


def test_a_gap_is_named() -> None:
    first, *_, last = entries(a_talk())
    items = shown(with_gaps([first, last], count=last.seq + 1))
    words = [item.words for item in items if isinstance(item, Lost)]
    assert words == [
        f"Blocks 2 to {last.seq - 1} are missing.",
        f"Block {last.seq + 1} is missing.",
    ]


BLOCKS = st.builds(
    Block,
    type=st.sampled_from([*TYPES, "unknown"]),
    author=st.just("tool"),
    turn_id=st.sampled_from(["turn_1", "", "\x1b"]),
    ts=st.text(max_size=5),
    mime=st.sampled_from(["application/json", "text/plain", "image/png"]),
    path=st.sampled_from(["", "tc:turn_1.c.result", "fi:turn_1.files/a"]),
    call_id=st.sampled_from(["c", "d", ""]),
    text=st.none()
    | st.text(max_size=20)
    | st.sampled_from(['{"artifact_path":"fi:a","error":{}}', '{"artifact_path":1}', "[" * 5000]),
    meta=st.sampled_from([{}, {"role": "digest"}, {"role": 3}]),
)


@given(st.lists(BLOCKS, max_size=12))
def test_any_blocks_can_be_shown(blocks: list[Block]) -> None:
    for item in shown(entries(blocks)):
        if isinstance(item, Batch):
            grouped(item)
