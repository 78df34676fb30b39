"""The recorder writes each step whole, and knows nothing that the timeline does not say."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.blocks import Block
from callblocks.core.calls import Call
from callblocks.core.errors import BadPath, TimelineError, ToolError
from callblocks.core.outcomes import Failure, Outcome
from callblocks.core.paths import call_segment
from callblocks.timeline import recorder as writer_module
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.codec.call_blocks import input_digest
from callblocks.timeline.codec.call_stamp import ROOM
from callblocks.timeline.recorder import Recorder
from callblocks.timeline.timeline import Timeline, Tokens
from callblocks.timeline.timeline_state import CacheSettings
from support.documents import pdf
from support.entries import result_block, stamp
from support.memory_artifacts import FullDisk, MemoryArtifacts
from support.memory_files import MemoryFiles
from support.recorded_sessions import NOON, TS
from support.tool_runtime import call


@pytest.fixture
def timeline(tmp_path: Path) -> Iterator[Timeline]:
    with Timeline.open(tmp_path / "timeline.sqlite", "talk") as timeline:
        yield timeline


def a_recorder(timeline: Timeline, artifacts: Artifacts | None = None, **settings: Any) -> Recorder:
    kept = artifacts or MemoryArtifacts()
    return Recorder(timeline, MemoryFiles(), kept, clock=lambda: NOON, **settings)


def blocks(timeline: Timeline) -> list[Block]:
    return [entry.block for entry in timeline.entries()]


def outcome(id: str = "c1", output: Any = "done") -> Outcome:
    return Outcome(id=id, name="look", output=output)


def paths(timeline: Timeline) -> list[str]:
    return [block.path for block in blocks(timeline)]


def test_a_turn_from_its_prompt_to_its_answer(timeline: Timeline):
    recorder = a_recorder(timeline)
    recorder.prompt("turn_1", "What is there?")
    recorder.notes("turn_1", "c1", "I look.")
    recorder.started("turn_1", call("look"))
    recorder.ended("turn_1", call("look"), outcome())
    recorder.completion("turn_1", "This is there.")
    written = blocks(timeline)
    assert [(block.type, block.author, block.path) for block in written] == [
        ("timeline.settings", "timeline", ""),
        ("user.prompt", "user", "ar:turn_1.user.prompt"),
        ("react.notes", "assistant", "ar:turn_1.react.notes.c1"),
        ("react.tool.call", "assistant", "tc:turn_1.c1.call"),
        ("react.tool.result", "tool", "tc:turn_1.c1.result"),
        ("react.tool.result", "tool", "tc:turn_1.c1.result"),
        ("assistant.completion", "assistant", "ar:turn_1.assistant.completion"),
    ]
    assert {block.ts for block in written} == {TS}
    assert [block.call_id for block in written] == ["", "", "c1", "c1", "c1", "c1", ""]
    assert timeline.verify() == []


def test_the_settings_are_written_once_and_again_where_they_change(timeline: Timeline):
    a_recorder(timeline).prompt("turn_1", "a")
    a_recorder(timeline).prompt("turn_2", "b")
    other = a_recorder(timeline, tokens=Tokens(len, "letters"))
    other.prompt("turn_3", "c")
    other.prompt("turn_4", "d")
    cache = CacheSettings(cache_point_min_rounds=9)
    a_recorder(timeline, tokens=Tokens(len, "letters"), cache=cache).prompt("turn_5", "e")
    settings = [b.text or "" for b in blocks(timeline) if b.type == "timeline.settings"]
    assert [json.loads(text)["tokens"] for text in settings] == ["chars/4", "letters", "letters"]
    assert json.loads(settings[0])["cache"] == {
        "editable_tail_size_in_tokens": 2000,
        "cache_point_min_rounds": 2,
        "cache_point_offset_rounds": 4,
    }
    assert json.loads(settings[2])["cache"]["cache_point_min_rounds"] == 9
    assert a_recorder(timeline).state.settings == cache


def test_an_attachment_is_a_digest_and_a_content_at_its_path(timeline: Timeline):
    recorder = a_recorder(timeline)
    recorder.attach("turn_1", "notes.txt", b"my notes")
    recorder.attach("turn_1", "report.pdf", pdf())
    recorder.attach("turn_1", "thing.bin", b"\0\1\2")
    written = blocks(timeline)[1:]
    assert {(block.type, block.author) for block in written} == {("user.attachment", "user")}
    notes = "fi:turn_1.user.attachments/notes.txt"
    assert [block.path for block in written[:2]] == [notes, notes]
    digest = json.loads(written[0].text or "")
    assert digest["artifact_path"] == notes
    assert digest["physical_path"] == "turn_1/attachments/notes.txt"
    assert "tool_call_id" not in digest
    assert [block.meta["role"] for block in written] == ["digest", "content"] * 3
    assert written[1].text == "my notes"
    assert written[3].base64
    assert (written[5].text, written[5].base64) == (None, None)
    files = recorder.holdings.files
    assert isinstance(files, MemoryFiles)
    assert files.contents["turn_1/attachments/notes.txt"] == b"my notes"


def test_an_attachment_that_cannot_be_kept_is_still_shown(timeline: Timeline):
    a_recorder(timeline, FullDisk()).attach("turn_1", "notes.txt", b"my notes")
    assert blocks(timeline)[2].text == "my notes"


@pytest.mark.parametrize("name", ["../x", "/x", "", "a\nb"])
def test_an_attachment_stays_in_its_folder(timeline: Timeline, name: str):
    with pytest.raises(BadPath):
        a_recorder(timeline).attach("turn_1", name, b"x")
    assert blocks(timeline) == []


def test_an_attachment_that_cannot_be_written_is_not_on_the_timeline(timeline: Timeline):
    recorder = a_recorder(timeline)
    assert isinstance(recorder.holdings.files, MemoryFiles)
    recorder.holdings.files.broken = ToolError("disk_full", "no room")
    with pytest.raises(ToolError):
        recorder.attach("turn_1", "a.txt", b"x")
    assert blocks(timeline) == []


@pytest.mark.parametrize("turn", ["", "a.b", "a/b", "..", "a b"])
def test_a_turn_is_checked(timeline: Timeline, turn: str):
    with pytest.raises(BadPath, match="is no turn"):
        a_recorder(timeline).prompt(turn, "x")
    with pytest.raises(BadPath, match="is no turn"):
        a_recorder(timeline).started(turn, call("look"))


def test_a_call_that_was_started_before_a_restart_is_not_written_twice(timeline: Timeline):
    a_recorder(timeline).started("turn_1", call("look"))
    again = a_recorder(timeline)
    assert again.started("turn_1", call("look")) == []
    again.ended("turn_1", call("look"), outcome())
    types = [block.type for block in blocks(timeline)]
    assert types.count("react.tool.call") == 1
    assert types.count("react.tool.result") == 2


def test_a_call_that_was_never_started_is_written_with_its_end(timeline: Timeline):
    refused = Failure(code="policy_denied", message="no")
    a_recorder(timeline).ended("turn_1", call("look"), Outcome(id="c1", name="look", error=refused))
    assert [block.type for block in blocks(timeline)[1:]] == [
        *("react.tool.call", "react.notice", "react.tool.result"),
    ]


def test_an_id_that_is_used_again_in_a_turn_gets_paths_of_its_own(timeline: Timeline):
    recorder = a_recorder(timeline)
    for text in ("first", "second", "third"):
        recorder.notes("turn_1", "c1", text)
        recorder.started("turn_1", call("look", text=text))
        recorder.ended("turn_1", call("look", text=text), outcome(output=text))
    recorder.ended("turn_2", call("look"), outcome())
    calls = [block for block in blocks(timeline) if block.type == "react.tool.call"]
    assert [block.path for block in calls] == [
        "tc:turn_1.c1.call",
        "tc:turn_1.c1-2.call",
        "tc:turn_1.c1-3.call",
        "tc:turn_2.c1.call",
    ]
    assert calls[1].meta["id"] == "c1"
    assert "id" not in calls[0].meta
    assert "ar:turn_1.react.notes.c1-2" in paths(timeline)
    results = recorder.state.at("tc:turn_1.c1-3.result")
    assert results[-1].block.text == "third"


@pytest.mark.parametrize(
    "other", [call("look", at=2), call("find", at=1), call("look", at=1, more=None)]
)
def test_two_calls_that_run_side_by_side_under_one_id_each_have_their_own_result(
    timeline: Timeline, other: Call
):
    recorder, first = a_recorder(timeline), call("look", at=1)
    recorder.started("turn_1", first)
    assert len(recorder.started("turn_1", other)) == 1
    assert recorder.started("turn_1", first) == recorder.started("turn_1", other) == []
    again = a_recorder(timeline)
    again.ended("turn_1", other, outcome(output="of the other"))
    again.ended("turn_1", first, outcome(output="of the first"))
    assert again.state.at("tc:turn_1.c1.result")[-1].block.text == "of the first"
    assert again.state.at("tc:turn_1.c1-2.result")[-1].block.text == "of the other"


def test_a_long_content_that_begins_the_same_is_another_call(timeline: Timeline):
    recorder = a_recorder(timeline)
    for end in ("a", "b"):
        one = call("react.write", path="a.md", content="x" * 500 + end)
        assert recorder.started("turn_1", one)


def test_no_secret_can_be_guessed_from_what_tells_calls_apart(timeline: Timeline):
    digests = {input_digest(call("look", password=word)) for word in ("hunter2", "hunter3")}
    assert len(digests) == 1


def test_a_call_that_another_program_wrote_is_known_by_its_tool(timeline: Timeline):
    block = stamp("c1", tool="look").block(
        "react.tool.call", path="tc:turn_1.c1.call", text="{}", author="assistant"
    )
    timeline.append([block])
    recorder = a_recorder(timeline)
    assert recorder.started("turn_1", call("look")) == []
    assert recorder.started("turn_1", call("find"))[-1].block.call_id == "c1-2"


def test_ids_that_a_parser_made_are_others_in_each_turn(timeline: Timeline):
    recorder, one = a_recorder(timeline), call("look", "tool-call-1")
    for turn in ("turn_1", "turn_2"):
        recorder.notes(turn, one, "I look.")
        recorder.started(turn, one)
        recorder.ended(turn, one, outcome("tool-call-1"))
    segments = {block.call_id for block in blocks(timeline) if block.call_id}
    assert len(segments) == 2
    assert all(re.fullmatch("tc_[0-9a-f]{12}", segment) for segment in segments)
    calls = [block for block in blocks(timeline) if block.type == "react.tool.call"]
    assert [block.meta["id"] for block in calls] == ["tool-call-1"] * 2
    assert {json.loads(block.text or "")["tool_call_id"] for block in calls} == segments


def test_two_ids_that_share_a_segment_are_two_calls(timeline: Timeline):
    recorder, made = a_recorder(timeline), call_segment("turn_1", "a b")
    for id in ("a b", made):
        recorder.started("turn_1", call("look", id))
    for id in ("a b", made):
        recorder.ended("turn_1", call("look", id), outcome(id, f"of {id}"))
    assert recorder.state.at(f"tc:turn_1.{made}.result")[-1].block.text == "of a b"
    assert recorder.state.at(f"tc:turn_1.{made}-2.result")[-1].block.text == f"of {made}"


def test_notes_stand_at_the_call_that_they_are_of(timeline: Timeline):
    recorder = a_recorder(timeline)
    first, second = call("look", at=1), call("look", at=2)
    for one, words in ((first, "First."), (second, "Second.")):
        recorder.notes("turn_1", one, words)
        recorder.started("turn_1", one)
    assert recorder.notes("turn_1", first, "First.") == [], "they are there since the crash"
    recorder.notes("turn_1", "c1", "Third.")
    said = {block.path: block.text for block in blocks(timeline) if block.type == "react.notes"}
    assert said == {
        "ar:turn_1.react.notes.c1": "First.",
        "ar:turn_1.react.notes.c1-2": "Second.",
        "ar:turn_1.react.notes.c1-3": "Third.",
    }


def test_what_calls_of_two_turns_bring_is_not_mixed(timeline: Timeline):
    recorder, one = a_recorder(timeline), call("react.read")
    for turn in ("turn_1", "turn_2"):
        recorder.started(turn, one)
        own = recorder.stamp(turn, "c1", "react.read")
        recorder.bring(own, [own.result("content", f"of {turn}")])
    for turn in ("turn_1", "turn_2"):
        done = Outcome(id="c1", name="react.read", output={})
        assert recorder.ended(turn, one, done)[-1].block.text == f"of {turn}"


def test_a_second_call_does_not_take_the_paths_of_another(timeline: Timeline):
    recorder = a_recorder(timeline)
    recorder.ended("turn_1", call("look", "a"), outcome("a"))
    recorder.started("turn_1", call("look", "a-2"))
    recorder.started("turn_1", call("look", "a"))
    recorder.ended("turn_1", call("look", "a-2"), outcome("a-2", "of a-2"))
    recorder.ended("turn_1", call("look", "a"), outcome("a", "of a"))
    state = recorder.state
    assert state.at("tc:turn_1.a-2.result")[-1].block.text == "of a-2"
    assert state.at("tc:turn_1.a-3.result")[-1].block.text == "of a"


@pytest.mark.parametrize("id", ["", "a b", "..", "x" * 500, "\ud800"])
def test_any_id_of_a_call_can_be_written(timeline: Timeline, id: str):
    recorder = a_recorder(timeline)
    recorder.notes("turn_1", id, "so")
    recorder.started("turn_1", call("look", id))
    recorder.ended("turn_1", call("look", id), outcome(id))
    written = blocks(timeline)[1:]
    assert len({block.call_id for block in written}) == 1
    assert len(written) == 4


def test_what_a_tool_brings_is_written_after_its_status(timeline: Timeline):
    recorder = a_recorder(timeline)
    record = Block(
        type="timeline.hidden", author="timeline", turn_id="turn_1", ts=TS, path="fi:turn_1.files/a"
    )
    recorder.started("turn_1", call("react.read"))
    recorder.lay(recorder.stamp("turn_1", "c1", "react.read"), record)
    recorder.bring(stamp("c1"), [result_block("c1", "brought", "fi:turn_1.files/a")])
    done = Outcome(id="c1", name="react.read", output={"paths": []})
    recorder.ended("turn_1", call("react.read"), done)
    written = blocks(timeline)[2:]
    assert written[0] == record, "it stands before the results, which end the round"
    assert [block.text for block in written[1:]] == ['{"paths":[]}', "brought"]
    recorder.ended("turn_1", call("react.read"), done)
    assert "brought" not in [block.text for block in blocks(timeline)[5:]]


def test_what_a_call_brought_too_late_is_not_brought_by_the_next(timeline: Timeline):
    recorder = a_recorder(timeline)
    recorder.bring(stamp("c1"), [result_block("c1", "late")])
    recorder.started("turn_1", call("react.read"))
    recorder.ended("turn_1", call("react.read"), Outcome(id="c1", name="react.read", output={}))
    assert "late" not in [block.text for block in blocks(timeline)]


def test_sources_have_the_same_numbers_after_a_restart(timeline: Timeline):
    rows = [{"url": "https://a.example"}, {"url": "https://b.example"}]
    found = Outcome(id="s1", name="web_tools.web_search", output=rows)
    a_recorder(timeline).ended("turn_1", call("web_tools.web_search", "s1"), found)
    again = a_recorder(timeline)
    assert again.pool.sids == {1, 2}
    answer = again.completion("turn_1", "So it is [[S:1-7]].")
    assert answer[0].block.meta["sources_used"] == [1, 2]


def test_two_writers_never_give_one_number_to_two_sources(tmp_path: Path):
    def search(at: int) -> None:
        with Timeline.open(tmp_path / "timeline.sqlite", "talk") as timeline:
            recorder = a_recorder(timeline)
            for turn in range(5):
                rows = [{"url": f"https://{at}.example/{turn}"}, {"url": f"https://all/{turn}"}]
                found = Outcome(id=f"s{at}", name="web_tools.web_search", output=rows)
                recorder.ended(f"turn_{turn}", call(found.name, f"s{at}"), found)

    threads = [threading.Thread(target=search, args=(at,)) for at in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with Timeline.open(tmp_path / "timeline.sqlite", "talk") as timeline:
        pool = a_recorder(timeline).pool
        assert pool.sids == set(range(1, 21))
        assert pool.conflicts == []
        settings = [block for block in blocks(timeline) if block.type == "timeline.settings"]
        assert len(settings) == 1


def test_a_step_is_made_anew_only_so_often(timeline: Timeline, monkeypatch: pytest.MonkeyPatch):
    recorder = a_recorder(timeline)
    tries: list[int] = []

    def busy(blocks: list[Block], expected: int | None = None) -> Any:
        tries.append(1)
        raise TimelineError("conflict", "another was first")

    monkeypatch.setattr(timeline, "append", busy)
    monkeypatch.setattr(writer_module, "_TRIES", 3)
    with pytest.raises(TimelineError, match="another was first"):
        recorder.prompt("turn_1", "x")
    assert len(tries) == 3


def test_what_could_not_be_written_can_be_written_again(
    timeline: Timeline, monkeypatch: pytest.MonkeyPatch
):
    recorder = a_recorder(timeline)
    rows = [{"url": "https://a.example"}]
    found = Outcome(id="s1", name="web_tools.web_search", output=rows)

    def full(blocks: list[Block], expected: int | None = None) -> Any:
        raise TimelineError("store_full", "no room")

    with monkeypatch.context() as patch:
        patch.setattr(timeline, "append", full)
        with pytest.raises(TimelineError, match="no room"):
            recorder.ended("turn_1", call(found.name, "s1"), found)
    assert recorder.pool.sids == set()
    recorder.ended("turn_1", call(found.name, "s1"), found)
    assert recorder.pool.sids == {1}
    assert "so:sources_pool[1]" in paths(timeline)


def test_what_is_said_at_too_great_length_is_kept(timeline: Timeline):
    artifacts = MemoryArtifacts()
    text = "x" * (ROOM + 1)
    (_, entry) = a_recorder(timeline, artifacts).prompt("turn_1", text)
    assert (entry.block.text or "").endswith("...[truncated]")
    assert artifacts.read(entry.block.meta["digest"]) == text.encode()
    (lost,) = a_recorder(timeline, FullDisk()).completion("turn_1", text)
    assert "digest" not in lost.block.meta


def test_half_characters_are_no_obstacle(timeline: Timeline):
    a_recorder(timeline).prompt("turn_1", "a\ud800b")
    assert blocks(timeline)[1].text == "a\ufffdb"


def test_shapes_of_the_caller_are_used(timeline: Timeline):
    recorder = a_recorder(timeline, shapes={"find": "search"})
    found = Outcome(id="c1", name="find", output=[{"url": "https://a.example"}])
    recorder.ended("turn_1", call("find"), found)
    assert "so:sources_pool[1]" in paths(timeline)
