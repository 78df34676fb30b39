"""One function turns any outcome into its blocks; here its rules, apart from the examples."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.blocks import Block
from callblocks.core.calls import Call
from callblocks.core.errors import ToolError
from callblocks.core.outcomes import FAILURES, Artifact, Failure, Notice, Outcome
from callblocks.core.paths import FilePath, call_segment, parse_path
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.codec import call_blocks as fitting
from callblocks.timeline.codec import outcome_blocks as emit_module
from callblocks.timeline.codec import results as web_results
from callblocks.timeline.codec.call_blocks import (
    CALL_ERRORS,
    JSON,
    NOT_RUN,
    SHAPES,
    TEXT,
    Shape,
    Stamp,
    error_notice,
    error_payload,
    input_digest,
    shape_of,
)
from callblocks.timeline.codec.ended_call import Holdings
from callblocks.timeline.codec.outcome_blocks import emit, result_blocks
from callblocks.timeline.log.log import MAX_APPEND, MAX_BLOCK, encode
from callblocks.timeline.timeline import SourcesPool, Tokens
from support.documents import WHOLE, pdf
from support.entries import TS, result_block
from support.memory_artifacts import FullDisk, MemoryArtifacts
from support.memory_files import MemoryFiles

SECRET = "ghp_abcdefghijklmnop0123"
ORDER = (
    *("react.tool.code", "react.tool.call", "react.notice"),
    *("timeline.hidden", "timeline.sources", "react.tool.result"),
)


def holdings(files: dict[str, bytes] | None = None, artifacts: Artifacts | None = None) -> Holdings:
    return Holdings(
        files=MemoryFiles(files),
        artifacts=artifacts or MemoryArtifacts(),
        pool=SourcesPool(),
        tokens=Tokens(),
    )


def stamp(tool: str, id: str = "c1") -> Stamp:
    return Stamp("turn_1", call_segment("turn_1", id), tool, TS)


def emitted(
    held: Holdings, shape: Shape, input: dict[str, Any] | None = None, **outcome: Any
) -> list[Block]:
    call = Call(id="c1", name="some.tool", input=input or {})
    return emit(
        call,
        Outcome(id="c1", name=call.name, **outcome),
        stamp=stamp(call.name),
        shape=shape,
        holdings=held,
    )


def said(block: Block) -> Any:
    return json.loads(block.text or "")


def types(blocks: list[Block]) -> list[str]:
    return [block.type.rpartition(".")[2] for block in blocks]


# What tools and models give. Secrets are in all but names: a name is how a thing is found again.
odd = st.text(max_size=20) | st.sampled_from(
    ("\ud800", "a.md", "../a", "turn_0/files/a.pdf", "fi:x", "")
)
words = odd | st.sampled_from((f"token={SECRET}", SECRET))


def nested(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | texts | st.just(b"x"),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
        max_leaves=6,
    )


values = nested(words)
names = st.sampled_from(("a.md", "a.pdf", "a.docx", "b.png", "c/d.txt", *WHOLE))
rows = st.lists(
    st.fixed_dictionaries({"url": words}, optional={"title": words, "text": words}), max_size=3
)
inputs = st.dictionaries(words, values, max_size=2).flatmap(
    lambda other: st.fixed_dictionaries(
        {},
        optional={
            "path": names | nested(odd),
            "content": words | values,
            "channel": st.sampled_from(("canvas", "internal")) | values,
            "kind": values,
            "code": words,
            "contract": st.lists(
                st.fixed_dictionaries({"filename": names | odd}, optional={"description": values})
                | nested(odd),
                max_size=3,
            )
            | nested(odd),
        },
    ).map(lambda known: {**other, **known})
)
contents = st.dictionaries(
    names.map(lambda name: f"turn_1/files/{name}"),
    st.sampled_from([content for _, content in WHOLE.values()])
    | st.binary(max_size=20)
    | st.just(f"api_key={SECRET}".encode()),
    max_size=3,
)
failures = st.builds(
    Failure,
    code=st.sampled_from(tuple(FAILURES)) | words,
    message=words,
    where=words,
    details=st.dictionaries(words, values, max_size=2),
    managed=st.booleans(),
)
notices = st.builds(
    Notice, code=words, message=words, details=st.dictionaries(words, values, max_size=2)
)
artifacts = st.builds(
    Artifact,
    path=odd,
    size=st.integers(0, 9),
    digest=st.sampled_from(("0" * 64, "x")),
    mime=st.sampled_from(("text/plain", "image/png", "")),
)
outcomes = st.builds(
    Outcome,
    id=st.just("c1"),
    name=st.just("some.tool"),
    output=values | rows,
    error=st.none() | failures,
    artifacts=st.lists(artifacts, max_size=2).map(tuple),
    notices=st.lists(notices, max_size=2).map(tuple),
)
shapes = st.sampled_from(get_args(Shape))
ids = st.text(max_size=8) | st.sampled_from(("c1", "a b", "", "..", "x" * 300))


@pytest.fixture
def small_room(monkeypatch: pytest.MonkeyPatch) -> int:
    """The bytes that a block can hold, made few."""
    monkeypatch.setattr(fitting, "ROOM", 100_000)
    return 100_000


@given(ids, inputs, outcomes, shapes, contents, st.booleans())
def test_any_outcome_becomes_blocks_in_order_without_secrets(
    id: str,
    input: dict[str, Any],
    outcome: Outcome,
    shape: Shape,
    files: dict[str, bytes],
    full: bool,
):
    held = holdings(files, FullDisk() if full else MemoryArtifacts())
    brought = [
        result_block("c1", "brought"),
        Block(
            type="timeline.hidden",
            author="timeline",
            turn_id="turn_1",
            ts=TS,
            path="tc:turn_1.c1.call",
        ),
    ]
    blocks = emit(
        Call(id=id, name="some.tool", input=input),
        outcome,
        stamp=stamp("some.tool", id),
        shape=shape,
        holdings=held,
        brought=brought,
    )
    places = [ORDER.index(block.type) for block in blocks]
    assert places == sorted(places)
    assert types(blocks).count("call") == 1
    assert types(blocks).count("code") <= (shape == "exec")
    assert types(blocks).count("result") >= 1
    for block in blocks:
        if block.path:
            assert str(parse_path(block.path)) == block.path
        assert block.text is None or block.base64 is None
        if block.mime == "application/json" and block.meta.get("role") != "content":
            json.loads(block.text or "")
        assert msgspec.json.decode(encode(block), type=Block) == block, "it is stored as it is"
        assert SECRET.encode() not in encode(block)


@given(inputs, outcomes, shapes, contents)
def test_the_results_alone_are_what_follows_the_call(
    input: dict[str, Any], outcome: Outcome, shape: Shape, files: dict[str, bytes]
):
    call = Call(id="c1", name="some.tool", input=input)
    parts: dict[str, Any] = {"stamp": stamp(call.name), "shape": shape}
    whole = emit(call, outcome, holdings=holdings(files), **parts)
    results = result_blocks(call, outcome, holdings=holdings(files), **parts)
    at = types(whole).index("call") + 1
    assert whole[at:] == results


def test_every_code_of_a_failure_has_its_notice():
    assert FAILURES.keys() >= CALL_ERRORS
    answers = [code for code in FAILURES if error_notice(code) == "tool_result_error"]
    assert "bad_envelope" in answers
    assert "file_not_found" in answers
    assert error_notice("policy_denied") == "tool_call_error"
    assert error_notice("a_code_of_a_tool") == "tool_result_error"


def test_shapes_go_by_name_and_the_caller_comes_first():
    assert shape_of("rendering_tools.write_pdf") == "rendering"
    assert shape_of("exec_tools.execute_code_python") == "exec"
    assert shape_of("my.search") == "plain"
    assert shape_of("my.search", {"my.*": "search"}) == "search"
    assert shape_of("react.write", {"react.write": "plain"}) == "plain"
    assert {shape_of(name.replace("*", "x")) for name in SHAPES} == {
        *("write", "read", "hide", "rendering", "exec", "search", "fetch"),
    }


def test_a_notice_is_not_told_twice_and_its_details_lose_nothing():
    once = Notice(code="slow", message="it took long", details={"code": 7})
    blocks = emitted(holdings(), "plain", notices=(once, once))
    assert types(blocks) == ["call", "notice", "result", "result"]
    assert said(blocks[1]) == {
        "code": "slow",
        "message": "it took long",
        "details": {"code": 7},
    }


def test_a_call_whose_id_is_no_segment_keeps_it_in_the_meta():
    call = Call(id="a b", name="look")
    outcome = Outcome(id="a b", name="look")
    parts: dict[str, Any] = {"shape": "plain", "holdings": holdings()}
    blocks = emit(call, outcome, stamp=stamp("look", "a b"), **parts)
    assert blocks[0].meta == {"input": input_digest(call), "id": "a b"}
    assert said(blocks[0])["tool_call_id"] == blocks[0].call_id == call_segment("turn_1", "a b")


def test_the_code_of_an_exec_call_is_shown_once():
    code = "print('x')\n" * 50
    blocks = emitted(holdings(), "exec", {"code": code, "contract": []})
    assert types(blocks) == ["code", "call", "result"]
    assert (blocks[0].path, blocks[0].text) == ("fi:turn_1.code.c1", code)
    assert said(blocks[1])["params"]["code"] == f"{code[:100]}... [see fi:turn_1.code.c1]"


def test_other_parameters_stay_whole():
    text = "long " * 10_000
    blocks = emitted(holdings(), "rendering", {"path": "a.pdf", "content": text})
    assert said(blocks[0])["params"]["content"] == text


def test_secrets_are_redacted_before_a_content_is_cut():
    text = "x" * 90 + f" token={SECRET}"
    blocks = emitted(holdings(), "write", {"path": "a.md", "content": text})
    assert "ghp_" not in (blocks[0].text or "")


def test_parameters_too_large_for_a_block_are_kept(small_room: int):
    held = holdings()
    large = "\0" * (small_room // 4)
    blocks = emitted(held, "plain", {"a": large, "b": "short"})
    params = said(blocks[0])["params"]
    assert params["b"] == "short"
    (artifact,) = blocks[0].meta["artifacts"]
    assert params["a"].endswith(f"[{len(large)} bytes in all, kept as {artifact['path']}]")
    assert held.artifacts.read(artifact["digest"]) == large.encode()
    assert len(encode(blocks[0])) < MAX_BLOCK


def test_very_many_parameters_are_kept_as_one(small_room: int):
    held = holdings()
    blocks = emitted(held, "plain", {f"p{at}": "\0" * 9_000 for at in range(30)})
    (artifact,) = blocks[0].meta["artifacts"]
    assert said(blocks[0])["params"].keys() == {"params"}
    assert len(json.loads(held.artifacts.read(artifact["digest"]))) == 30


def test_parameters_too_large_are_left_out_where_nothing_can_be_kept(small_room: int):
    held = holdings(artifacts=FullDisk())
    blocks = emitted(held, "plain", {"a": "\0" * (small_room // 4)})
    assert said(blocks[0])["params"]["a"].endswith("left out]")


def test_an_output_too_large_for_a_block_is_kept():
    held = holdings()
    output = "é" * (TEXT + 1)
    blocks = emitted(held, "plain", output=output)
    assert types(blocks) == ["call", "notice", "result", "result", "result", "result"]
    assert said(blocks[1])["code"] == "output_too_large"
    assert (blocks[3].text or "").endswith("...[truncated]")
    digest = said(blocks[4])
    assert digest["artifact_path"] == blocks[5].path == "fi:turn_1.files/c1/c1.txt"
    assert held.artifacts.read(digest["sha256"]) == output.encode()
    assert (blocks[5].text, blocks[5].base64) == (None, None)


def test_an_output_too_large_is_cut_where_it_cannot_be_kept():
    held = holdings(artifacts=FullDisk())
    blocks = emitted(held, "plain", output=["é" * (TEXT + 1)])
    assert types(blocks) == ["call", "notice", "result", "result"]
    assert said(blocks[1])["code"] == "not_kept"


def test_a_picture_too_large_for_a_block_is_told_and_kept(small_room: int):
    content = pdf(padding=small_room)
    held = holdings({"turn_1/files/a.pdf": content})
    blocks = emitted(held, "rendering", {"path": "a.pdf"})
    assert types(blocks) == ["call", "notice", "result", "result"]
    assert said(blocks[1])["code"] == "file_too_large"
    assert blocks[3].base64 is None
    assert held.artifacts.read(blocks[3].meta["digest"]) == content


def test_a_text_too_large_for_a_block_is_cut_and_names_its_file():
    held = holdings({"turn_1/files/a.txt": b"x" * (TEXT + 1)})
    blocks = emitted(held, "write", {"path": "a.txt", "content": "x"})
    assert (blocks[2].text or "").endswith("x...[truncated] [see fi:turn_1.files/a.txt]")


def test_files_that_are_too_large_together_are_shown_as_far_as_they_fit(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(emit_module, "_TOTAL", 5_000)
    files = {f"turn_1/files/{at}.pdf": pdf(padding=600 + at) for at in range(14)}
    held = holdings(files)
    wanted = [{"filename": f"{at}.pdf"} for at in range(14)]
    blocks = emitted(held, "exec", {"contract": wanted})
    shown = [block for block in blocks if block.base64]
    assert 0 < len(shown) < 14
    notice = said(blocks[1])
    assert notice["code"] == "file_too_large"
    assert len(notice["paths"]) == 14 - len(shown)


def test_all_that_one_call_leaves_fits_into_one_append():
    largest = emit_module._TOTAL + fitting.ROOM
    assert largest < MAX_APPEND // 1.5
    assert fitting.ROOM < MAX_BLOCK
    assert TEXT * 6 < fitting.ROOM


def test_a_file_that_cannot_be_kept_is_shown_and_told():
    held = holdings({"turn_1/files/a.md": b"# A"}, FullDisk())
    blocks = emitted(held, "write", {"path": "a.md", "content": "# A"})
    assert types(blocks) == ["call", "notice", "result", "result"]
    assert said(blocks[1])["code"] == "react.write.hosting_failed"
    assert blocks[3].text == "# A"
    assert "rn" not in blocks[3].meta
    rendered = emitted(held, "exec", {"contract": ["a.md"]})
    assert said(rendered[1])["code"] == "not_kept"


@pytest.mark.parametrize("error", [OSError("broken"), ToolError("unsafe_path", "no")])
def test_files_that_cannot_be_read_are_not_there(error: Exception):
    held = holdings()
    assert isinstance(held.files, MemoryFiles)
    held.files.broken = error
    blocks = emitted(held, "rendering", {"path": "a.pdf"})
    assert said(blocks[-1])["error"]["code"] == "file_not_found"


def test_an_artifact_that_is_gone_is_an_error_of_the_result():
    artifact = Artifact(path="aa/aaa/a.txt", size=3, digest="a" * 64, mime="text/plain")
    blocks = emitted(holdings(), "plain", output="x", artifacts=(artifact,))
    assert types(blocks) == ["call", "notice", "result", "result", "result"]
    assert said(blocks[-1])["error"]["code"] == "artifact_missing"
    assert said(blocks[-1])["artifact_path"] == "fi:turn_1.files/c1/a.txt"
    assert "/nowhere" not in (blocks[-1].text or "")


@pytest.mark.parametrize("path", ["aa/..", "", "a\nb", "aa/."])
def test_an_artifact_without_a_good_name_is_a_file(path: str):
    artifact = Artifact(path=path, size=3, digest="a" * 64)
    blocks = emitted(holdings(), "plain", artifacts=(artifact,))
    assert parse_path(said(blocks[-1])["artifact_path"]) in (
        FilePath("turn_1", "c1/file"),
        FilePath("turn_1", "c1"),
    )


def test_a_call_that_failed_brings_nothing_and_hides_nothing():
    call = Call(id="c1", name="react.read")
    failure = Failure(code="timeout", message="too slow")
    record = Block(type="timeline.hidden", author="timeline", turn_id="turn_1", ts=TS)
    blocks = emit(
        call,
        Outcome(id="c1", name="react.read", error=failure),
        stamp=stamp("react.read"),
        shape="read",
        holdings=holdings(),
        brought=[result_block("c1"), record],
    )
    assert types(blocks) == ["call", "notice", "result"]


def test_an_error_that_is_huge_still_fits():
    failure = Failure(code="odd", message="\0" * TEXT, details={"x": "\0" * TEXT})
    blocks = emitted(holdings(), "plain", error=failure)
    assert all(len(encode(block)) < MAX_BLOCK for block in blocks)
    report = emitted(holdings(), "exec", error=failure)
    assert all(len(encode(block)) < MAX_BLOCK for block in report)


def test_a_huge_notice_still_fits():
    told = Notice(code="odd", message="\0" * TEXT, details={"x": "\0" * TEXT})
    blocks = emitted(holdings(), "plain", notices=(told,))
    assert said(blocks[1])["code"] == "odd"
    assert all(len(encode(block)) < MAX_BLOCK for block in blocks)


def test_many_long_sources_are_several_records(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(web_results, "ROOM", 500_000)
    found = [{"url": f"https://a.example/{at}", "text": "x" * 110_000} for at in range(9)]
    held = holdings()
    blocks = emitted(held, "search", output=found)
    records = [block for block in blocks if block.type == "timeline.sources"]
    assert len(records) > 1
    assert all(len(encode(block)) < MAX_BLOCK for block in blocks)
    again = SourcesPool()
    for record in records:
        again.apply(record)
    assert again.sids == set(range(1, 10))
    first = again.get(1)
    assert first is not None
    assert first.text == "x" * 100_000 + "...[truncated]"


def test_of_a_huge_search_the_first_rows_are_sources_and_the_rest_is_counted():
    rows = [{"url": f"https://a.example/{at}"} for at in range(1_002)]
    held = holdings()
    blocks = emitted(held, "search", output=rows)
    assert held.pool.sids == set(range(1, 1_001))
    (notice,) = [block for block in blocks if block.type == "react.notice"]
    assert (said(notice)["code"], said(notice)["count"]) == ("rows_left_out", 2)
    assert types(emitted(holdings(), "search", output=rows[:1_000])).count("notice") == 0


def test_rows_whose_urls_differ_only_in_a_secret_are_two():
    rows = [{"url": f"https://a.example/?token={secret}"} for secret in (SECRET, f"{SECRET}x")]
    blocks = emitted(holdings(), "search", output=rows)
    assert [row["sid"] for row in said(blocks[-1])] == [1, 2]
    pages = {f"https://a.example/?token={secret}": "page" for secret in (SECRET, f"{SECRET}x")}
    page = "https://a.example/?token=••••••••"
    fetched = emitted(holdings(), "fetch", output=pages)
    found = {url: one["sid"] for url, one in said(fetched[-1]).items()}
    assert found == {page: 1, f"{page} (2)": 2}
    assert SECRET not in str([*blocks, *fetched])


def test_no_row_of_a_search_claims_a_file_that_is_not_there():
    row = {"link": "fi:turn_1.user.attachments/contract.pdf", "snippet": "they owe more"}
    assert said(emitted(holdings(), "search", output=[row])[-1]) == [
        {"sid": 1, "text": "they owe more"}
    ]


def test_what_a_program_printed_is_not_lost_and_not_shown():
    blocks = emitted(holdings(), "exec", {"code": "1"}, output={"stdout": "hi"})
    assert blocks[-1].text == "Runtime error: none"
    assert blocks[-1].meta == {"role": "report", "output": {"stdout": "hi"}}


def test_the_same_file_twice_in_a_contract_is_one():
    held = holdings({"turn_1/files/a.txt": b"a"})
    wanted = ["a.txt", {"filename": "files/a.txt"}]
    blocks = emitted(held, "exec", {"contract": wanted})
    assert types(blocks) == ["call", "result", "result", "result"]


def test_what_is_no_promise_of_a_file_is_a_file_error():
    way_out = 'write [{"filename": "report.md", "description": "…"}]'
    blocks = emitted(holdings(), "exec", {"contract": [7, {"filename": 3}, " "]})
    assert (blocks[-1].text or "").splitlines() == [
        *("Runtime error: none", "File errors:"),
        *(f"- contract[{at}]: promises no file; {way_out}" for at in range(3)),
    ]
    blocks = emitted(holdings(), "exec", {"contract": "{}"})
    assert f"- contract: is no list of files; {way_out}" in (blocks[-1].text or "")


def test_a_path_of_a_contract_that_is_rewritten_is_told():
    held = holdings({"turn_1/files/a.txt": b"a", "turn_1/files/b.txt": b"b"})
    wanted = ["turn_0/files/a.txt", "b.txt", "turn_0/files/a.txt"]
    blocks = emitted(held, "exec", {"contract": wanted})
    (notice,) = (said(block) for block in blocks if block.type == "react.notice")
    assert notice["code"] == "protocol_violation.path_rewritten"
    assert (notice["original"], notice["normalized"]) == (wanted[0], "turn_1/files/a.txt")


@pytest.mark.parametrize("code", [*sorted(NOT_RUN), "cancelled"])
def test_a_call_that_did_not_run_reports_no_file(code: str):
    files = {"turn_1/files/old.md": b"# Old"}
    refused = Failure(code=code, message="no")
    given = {"path": "old.md", "content": "x", "contract": ["old.md"]}
    report = emitted(holdings(files), "exec", given, error=refused)
    assert types(report) == ["call", "result"]
    assert report[-1].text == (
        f"Runtime error: {code} — no\nFile errors:\n- turn_1/files/old.md: file not produced"
    )
    for shape in ("rendering", "write"):
        blocks = emitted(holdings(files), shape, given, error=refused)
        assert types(blocks) == ["call", "notice", "result"]
        assert said(blocks[-1])["artifact_path"] == "tc:turn_1.c1.result"
        assert "physical_path" not in said(blocks[-1])


def test_code_that_was_stopped_while_it_ran_reports_its_files():
    held, stopped = holdings({"turn_1/files/a.md": b"# A"}), Failure(code="cancelled", message="x")
    blocks = emitted(held, "exec", {"contract": ["a.md"]}, error=stopped, seconds=0.1)
    assert (blocks[1].text or "").endswith("Succeeded:\n- turn_1/files/a.md")


@pytest.mark.parametrize("shape", get_args(Shape))
def test_every_error_says_where(shape: Shape):
    blocks = emitted(holdings(), shape, {"path": "a.md"}, error=Failure(code="odd", message="no"))
    errors = [said(block).get("error") for block in blocks[1:] if block.mime == JSON]
    assert all(error == {"code": "odd", "message": "no", "where": "some.tool"} for error in errors)
    assert errors or shape == "exec"
    named = Failure(code="odd", message="no", where="there")
    assert error_payload(stamp("look"), named)["where"] == "there"
    assert error_payload(stamp(""), Failure(code="odd", message="no"))["where"]


def test_a_file_that_exec_also_kept_is_shown_once():
    held = holdings({"turn_1/files/a.txt": b"a"})
    artifact = held.artifacts("a.txt", b"a")
    blocks = emitted(held, "exec", {"contract": ["a.txt"]}, artifacts=(artifact,))
    assert types(blocks) == ["call", "result", "result", "result"]


@pytest.mark.parametrize("shape", ["search", "fetch"])
@pytest.mark.parametrize("output", ["words", 3, None])
def test_what_is_no_row_and_no_page_is_a_plain_output(shape: Shape, output: Any):
    blocks = emitted(holdings(), shape, output=output)
    assert types(blocks) == ["call", "result", "result"]
    assert blocks[-1].path == "tc:turn_1.c1.result"


def test_a_fetched_page_that_is_a_text_or_long():
    pages = {
        "https://a.example": "words",
        "https://b.example": {"content": "b" * 30_000, "n": 3},
        "https://c.example": None,
    }
    held = holdings()
    found = said(emitted(held, "fetch", output=pages)[-1])
    assert found["https://a.example"] == {"sid": 1, "content": "words"}
    assert found["https://c.example"] is None
    assert found["https://b.example"]["content"] == "b" * 20_000 + "...[truncated]"
    source = held.pool.get(2)
    assert source is not None
    assert source.text == "b" * 30_000


def test_an_output_that_is_markdown_says_so():
    plain = emitted(holdings(), "plain", output="some words")
    assert plain[-1].mime == "text/plain"


def test_a_spilled_output_that_is_damaged_stays_what_is_left_of_it():
    held = holdings()
    for content in (b"no json", b'[{"url": "https://a.example"}]'):
        artifact = held.artifacts("c1.json", content, "application/json")
        left = f"[...\n... (9B in all, kept as {artifact.path})"
        blocks = emitted(held, "search", output=left, artifacts=(artifact,))
        expected = "so:sources_pool[1]" if content.startswith(b"[") else "tc:turn_1.c1.result"
        assert blocks[-3].path == expected
