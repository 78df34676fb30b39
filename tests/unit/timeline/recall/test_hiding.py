"""What may be hidden, and the record of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.blocks import Block
from callblocks.core.outcomes import FAILURES
from callblocks.timeline.recall.read import Hidden, hide
from callblocks.timeline.timeline import CacheSettings, State, Tokens
from support.entries import call_block, numbered, prompt, result_block, round_of, stamp

A = "fi:turn_1.files/a.md"
NO_CACHE = CacheSettings(cache_point_offset_rounds=100)
WORDS = Tokens(lambda text: len(text.split()), name="words")


def fed(blocks: list[Block], settings: CacheSettings = NO_CACHE) -> State:
    state = State(settings)
    state.feed(numbered(blocks))
    return state


def tried(state: State, path: str = A, tokens: Tokens = WORDS) -> Hidden:
    return hide(path, state=state, tokens=tokens, stamp=stamp("h", tool="react.hide"))


def code(hidden: Hidden) -> str:
    assert hidden.record is None
    assert hidden.failure is not None
    assert hidden.failure.code in FAILURES
    return hidden.failure.code


def words(count: int) -> str:
    return "word " * count


def written(call: str, text: str, path: str = A) -> list[Block]:
    return [call_block(call, text=""), result_block(call, text, path)]


def test_a_new_block_is_hidden_by_a_record() -> None:
    state = fed(written("c", words(100)))
    hidden = tried(state)
    record = hidden.record
    assert record is not None
    assert (record.type, record.author, record.path) == ("timeline.hidden", "timeline", A)
    assert (record.call_id, record.tool_id) == ("h", "react.hide")
    assert record.meta == {"after": 0, "before": 3}
    assert record.text is not None
    assert record.text == f'[hidden; react.read(paths=["{A}"]) shows it again]'
    assert (hidden.path, hidden.blocks) == (A, 1)
    assert hidden.tokens_freed == 100 - WORDS.text(record.text)
    state.feed(numbered([record], state.last))
    assert state.visible(A) == []
    assert state.placeholders == {2: record.text}


def test_hiding_what_is_hidden_already_does_nothing_and_is_fine() -> None:
    state = fed(written("c", "text"))
    record = tried(state).record
    assert record is not None
    state.feed(numbered([record], state.last))
    assert tried(state) == Hidden(path=A)


def test_a_short_block_frees_nothing() -> None:
    assert tried(fed(written("c", "x"))).tokens_freed == 0


@pytest.mark.parametrize("path", ["fi:turn_1.files/other", "nonsense", "", "/etc/passwd", "\ud800"])
def test_what_is_not_on_the_timeline_is_not_found(path: str) -> None:
    hidden = tried(fed(written("c", "text")), path)
    assert code(hidden) == "not_found"


def test_what_person_and_model_said_to_each_other_is_never_hidden() -> None:
    asked = prompt("never delete files")
    answer = stamp("").block(
        "assistant.completion", path="ar:turn_1.assistant.completion", text="x"
    )
    notes = stamp("c").block("react.notes", path="ar:turn_1.react.notes.c", text="x")
    state = fed([asked, answer, notes])
    for path in ("ar:turn_1.user.prompt", "ar:turn_1.assistant.completion"):
        assert state.at(path)
        assert code(tried(state, path)) == "hide_refused"
    assert code(tried(state, "ar:turn_2.user.prompt")) == "not_found"
    assert tried(state, "ar:turn_1.react.notes.c").record is not None


def test_other_spellings_of_a_path_are_understood() -> None:
    assert tried(fed(written("c", "text")), "turn_1/files/a.md").path == A
    rows = json.dumps([{"sid": sid, "url": f"https://example.com/{sid}"} for sid in (1, 2, 3)])
    record = stamp().block("timeline.sources", text=rows)
    state = fed([*written("c", "text", "so:sources_pool[1-3]"), record])
    for path in ("so:sources_pool[1,2,3]", "so:sources_pool[ 3-1 ]", "so:sources_pool[1-99]"):
        assert tried(state, path).path == "so:sources_pool[1-3]"
    assert code(tried(state, "so:sources_pool[7]")) == "not_found"


def test_what_stands_at_the_cache_point_or_before_is_frozen() -> None:
    settings = CacheSettings(cache_point_min_rounds=2, cache_point_offset_rounds=1)
    state = fed([*written("a", "old"), *round_of("b"), *round_of("c")], settings)
    assert state.rounds.cache_point(settings) == 4
    assert code(tried(state)) == "hide_before_cache"
    assert code(tried(state, "tc:turn_1.b.result")) == "hide_before_cache"
    assert tried(state, "tc:turn_1.c.result").record is not None


def test_the_call_that_hides_is_no_round_yet() -> None:
    settings = CacheSettings(cache_point_min_rounds=2, cache_point_offset_rounds=1)
    state = fed([*written("a", "old"), call_block("h")], settings)
    assert tried(state).record is not None


def test_what_was_frozen_once_is_not_hidden_under_other_settings() -> None:
    settings = CacheSettings(cache_point_min_rounds=2, cache_point_offset_rounds=1)
    text = '{"cache": {"cache_point_offset_rounds": 9}}'
    later = stamp("").block("timeline.settings", text=text)
    state = fed([*written("a", "old"), *round_of("b"), later], settings)
    assert code(tried(state)) == "hide_before_cache"


TAIL = CacheSettings(editable_tail_size_in_tokens=10, cache_point_offset_rounds=100)


@pytest.mark.parametrize(("after", "fine"), [(0, True), (9, True), (10, False), (50, False)])
def test_only_as_many_tokens_may_follow_as_the_tail_has(after: int, fine: bool) -> None:
    state = fed([*written("a", words(500)), prompt(words(after))], TAIL)
    hidden = tried(state)
    assert (hidden.record is not None) is fine
    if not fine:
        assert code(hidden) == "hide_too_old"


def test_the_blocks_of_the_call_that_hides_do_not_count() -> None:
    notes = stamp("h").block("react.notes", path="ar:turn_1.react.notes.h", text=words(50))
    state = fed([*written("a", "text"), notes, call_block("h", text=words(50))], TAIL)
    assert tried(state).record is not None


def test_what_is_hidden_counts_as_its_placeholder() -> None:
    covered = result_block("b", words(50), "fi:turn_1.files/b.md")
    record = stamp().block("timeline.hidden", path="fi:turn_1.files/b.md", text="[hidden]")
    state = fed([*written("a", "text"), covered, record], TAIL)
    assert tried(state).record is not None


def test_a_picture_counts_by_its_estimate() -> None:
    picture = stamp("b").block("react.tool.result", mime="image/png", base64="AAAA", path="x")
    state = fed([*written("a", "text"), picture], TAIL)
    assert code(tried(state)) == "hide_too_old"
    empty = stamp("b").block("react.tool.result", mime="application/zip", path="x")
    assert tried(fed([*written("a", "text"), empty], TAIL)).record is not None


def test_nothing_can_be_hidden_without_a_tail() -> None:
    settings = CacheSettings(editable_tail_size_in_tokens=0)
    assert code(tried(fed(written("a", "text"), settings))) == "hide_too_old"


def test_of_several_blocks_those_in_the_tail_are_hidden() -> None:
    old, new = written("a", words(20)), written("b", words(20))
    state = fed([*old, *new], TAIL)
    hidden = tried(state)
    assert hidden.record is not None
    assert hidden.blocks == 1
    assert hidden.record.meta == {"after": 3, "before": 5}
    state.feed(numbered([hidden.record], state.last))
    assert [entry.seq for entry in state.visible(A)] == [2]


def test_a_copy_that_comes_meanwhile_is_not_hidden() -> None:
    state = fed(written("a", "text"))
    record = tried(state).record
    assert record is not None
    state.feed(numbered([result_block("r", "text", A), record], state.last))
    assert [entry.seq for entry in state.visible(A)] == [3]


results = st.builds(
    lambda call, count, path: written(call, words(count), path),
    st.sampled_from("abc"),
    st.integers(0, 20),
    st.sampled_from([A, "fi:turn_1.files/b.md"]),
)


@given(st.lists(results, max_size=10), st.integers(0, 30), st.integers(0, 3))
def test_what_is_said_to_be_hidden_is_hidden(
    rounds: list[list[Block]], tail: int, offset: int
) -> None:
    settings = CacheSettings(
        editable_tail_size_in_tokens=tail,
        cache_point_min_rounds=1,
        cache_point_offset_rounds=offset,
    )
    state = fed([block for blocks in rounds for block in blocks], settings)
    frozen = state.rounds.cache_point(settings)
    before = len(state.visible(A))
    hidden = tried(state)
    if hidden.record is not None:
        call, *results = round_of("h")
        state.feed(numbered([call, hidden.record, *results], state.last))
        assert len(state.visible(A)) == before - hidden.blocks < before
        assert all(seq > frozen for seq in state.hidden)
    else:
        assert code(hidden) in ("not_found", "hide_before_cache", "hide_too_old")
