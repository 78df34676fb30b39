"""react.write, react.read and react.hide, run by the runtime and written by the recorder."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.blocks import Block
from callblocks.core.errors import ToolError
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.turn_scope import Turn
from callblocks.timeline.recall.skills import Skill, Skills
from callblocks.timeline.timeline import Tokens
from callblocks.timeline.timeline_state import CacheSettings, State
from callblocks.toolkits.react_tools import react_tools
from callblocks.tools.declare import tool
from callblocks.tools.tool import Tool
from support.documents import SLIDES, office, pdf, png
from support.recorded_sessions import Session, a_session, said, sequence
from support.tool_runtime import call, run

RESULT = "react.tool.result"
A = "fi:turn_1.files/a.md"


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with a_session(tmp_path, skills=Skills([Skill("a.b", "Title", "Do so.")])) as session:
        yield session


def tools_of(session: Session, turn: str = "turn_1") -> tuple[Tool, ...]:
    return react_tools(session.recorder, turn)


def play(session: Session, name: str, id: str, turn: str = "turn_1", **input: Any) -> list[Block]:
    return session.play(tools_of(session, turn), call(name, id, **input), turn=turn)


def write(session: Session, id: str, path: str = "a.md", text: str = "some text") -> list[Block]:
    return play(session, "react.write", id, path=path, content=text)


def error_of(blocks: list[Block]) -> str:
    return said(blocks[-1])["error"]["code"]


def status(blocks: list[Block]) -> dict[str, Any]:
    assert blocks[1].path == blocks[0].path.replace(".call", ".result")
    assert blocks[1].meta["role"] == "status"
    return said(blocks[1])


# react.read of mixed inputs, as it is specified.


@tool(name="web_tools.web_search", read_only=True)
def search(queries: list[str]) -> list[dict[str, str]]:
    """Search."""
    return [
        {"title": "Report", "path": "fi:turn_0.files/report.pdf"},
        {"title": "Rain", "url": "https://example.com", "text": "It rains."},
    ]


def digest(path: str, physical: str, mime: str, content: bytes, tokens: int) -> dict[str, Any]:
    fields = {
        "artifact_path": path,
        "physical_path": physical,
        "mime": mime,
        "kind": "file",
        "visibility": "internal",
        "tool_call_id": "r1",
        "size_bytes": len(content),
        "tokens": tokens,
        "sha256": sha256(content).hexdigest(),
    }
    return {name: value for name, value in fields.items() if value != 0}


def test_mixed_inputs_come_block_by_block(session: Session) -> None:
    slides = office("ppt/presentation.xml")
    session.give("turn_0/files/report.pdf", pdf())
    session.give("turn_A/attachments/notes.txt", b"my notes")
    session.give("turn_A/attachments/image.png", png())
    session.give("turn_B/files/board.pptx", slides)
    session.play([search], call("web_tools.web_search", "s1", queries=["rain"]))
    notes = "fi:turn_A.user.attachments/notes.txt"
    image = "fi:turn_A.user.attachments/image.png"
    board = "fi:turn_B.files/board.pptx"
    asked = ["so:sources_pool[1,2]", notes, image, board]
    blocks = play(session, "react.read", "r1", "turn_2", paths=asked)
    call_block, told, *brought = blocks
    assert (call_block.type, call_block.path) == ("react.tool.call", "tc:turn_2.r1.call")
    assert said(call_block)["params"] == {"paths": asked}
    assert status(blocks) == {
        "paths": ["so:sources_pool[1-2]", *asked[1:]],
        "missing": [],
        "missing_skills": [],
        "exists_in_visible_context": [],
        "total_tokens": said(told)["total_tokens"],
    }
    report = "fi:turn_0.files/report.pdf"
    of_pdf, of_png = (len(pdf()), "application/pdf"), (len(png()), "image/png")
    estimates = Tokens().binary(*of_pdf), Tokens().binary(*of_png)
    digests = [
        digest(report, "turn_0/files/report.pdf", of_pdf[1], pdf(), estimates[0]),
        digest(notes, "turn_A/attachments/notes.txt", "text/plain", b"my notes", 2),
        digest(image, "turn_A/attachments/image.png", of_png[1], png(), estimates[1]),
        digest(board, "turn_B/files/board.pptx", SLIDES, slides, 0),
    ]
    rows = [{"sid": 2, "title": "Rain", "url": "https://example.com", "text": "It rains."}]
    wanted: list[tuple[str, str, Any, bytes | None]] = [
        ("tc:turn_2.r1.result", "application/json", digests[0], None),
        (report, "application/pdf", None, pdf()),
        ("so:sources_pool[2]", "application/json", rows, None),
        ("tc:turn_2.r1.result", "application/json", digests[1], None),
        (notes, "text/plain", "my notes", None),
        ("tc:turn_2.r1.result", "application/json", digests[2], None),
        (image, "image/png", None, png()),
        ("tc:turn_2.r1.result", "application/json", digests[3], None),
        (board, SLIDES, None, None),
    ]
    assert [plain(block) for block in brought] == wanted
    assert all(block.type == RESULT and block.meta["hidden"] is False for block in brought)
    assert all(block.call_id == "r1" and block.turn_id == "turn_2" for block in brought)
    for block in brought:
        if block.path.startswith("fi:"):
            assert {"hosted_uri", "rn", "key", "physical_path", "digest"} <= block.meta.keys()


def plain(block: Block) -> tuple[str, str, Any, bytes | None]:
    """Path, type, what it says, and what it holds."""
    content = None if block.base64 is None else b64decode(block.base64)
    is_json = block.mime == "application/json"
    return block.path, block.mime, said(block) if is_json else block.text, content


def test_what_was_read_is_not_read_twice(session: Session) -> None:
    write(session, "w1")
    asked = [A, A, "sk:a.b", "ar:turn_1.user.prompt", "sk:none"]
    first = play(session, "react.read", "r1", paths=asked)
    assert sequence(first[2:]) == [(RESULT, "sk:a.b")]
    again = play(session, "react.read", "r2", paths=asked)
    assert len(again) == 2
    assert status(again) == {
        "paths": [A, "sk:a.b", "ar:turn_1.user.prompt", "sk:none"],
        "missing": ["ar:turn_1.user.prompt"],
        "missing_skills": ["sk:none"],
        "exists_in_visible_context": [A, "sk:a.b"],
        "total_tokens": 0,
    }


def test_what_the_view_folded_away_is_read_again(session: Session) -> None:
    write(session, "w1")
    (entry,) = session.recorder.state.visible(A)
    whole = react_tools(session.recorder, "turn_1", shows=lambda seq: True)
    blocks = session.play(whole, call("react.read", "r1", paths=[A]))
    assert status(blocks)["exists_in_visible_context"] == [A]
    folded = react_tools(session.recorder, "turn_1", shows=lambda seq: seq > entry.seq)
    blocks = session.play(folded, call("react.read", "r2", paths=[A]))
    assert status(blocks)["exists_in_visible_context"] == []
    assert blocks[-1].text == "some text"
    assert len(session.play(folded, call("react.read", "r3", paths=[A]))) == 2


def test_reads_side_by_side_each_bring_their_own(session: Session) -> None:
    session.put("turn_1/files/b.md", "b")
    session.put("turn_1/files/c.md", "c")
    calls = [call("react.read", name, paths=[f"fi:turn_1.files/{name}.md"]) for name in "bc"]
    for one in calls:
        session.recorder.started("turn_1", one)
    outcomes = run(tools_of(session), *calls)
    for one in calls:
        (outcome,) = (outcome for outcome in outcomes if outcome.id == one.id)
        entries = session.recorder.ended("turn_1", one, outcome)
        assert [entry.block.text for entry in entries][-1] == one.id
        assert all(entry.block.call_id == one.id for entry in entries)


# react.hide, and reading again.


def test_what_is_hidden_comes_back_by_reading_it(session: Session) -> None:
    write(session, "w1", text="word " * 100)
    hidden = play(session, "react.hide", "h1", path=A)
    answer = said(hidden[3])
    assert answer == {"ok": True, "path": A, "blocks": 1, "tokens_freed": answer["tokens_freed"]}
    assert answer["tokens_freed"] > 100
    assert hidden[1].type == "timeline.hidden"
    state = session.recorder.state
    assert state.visible(A) == []
    assert session.blocks()[3].text == "word " * 100
    again = play(session, "react.hide", "h2", path=A)
    assert said(again[2])["blocks"] == 0
    assert [block.type for block in again] == ["react.tool.call", RESULT, RESULT]
    brought = play(session, "react.read", "r1", paths=[A])
    assert (brought[-1].path, brought[-1].text) == (A, "word " * 100)
    assert len(session.recorder.state.visible(A)) == 1


def test_what_is_before_the_cache_point_stays(tmp_path: Path) -> None:
    cache = CacheSettings(cache_point_min_rounds=2, cache_point_offset_rounds=2)
    with a_session(tmp_path, cache=cache) as session:
        for number in range(3):
            write(session, f"w{number}", f"{number}.md")
        blocks = play(session, "react.hide", "h1", path="fi:turn_1.files/0.md")
        assert error_of(blocks) == "hide_before_cache"
        assert "timeline.hidden" not in [block.type for block in session.blocks()]
        assert error_of(play(session, "react.hide", "h2", path="fi:turn_1.files/1.md")) == (
            "hide_before_cache"
        )
        done = play(session, "react.hide", "h3", path="tc:turn_1.h2.result")
        assert done[1].type == "timeline.hidden"


def test_the_hide_call_is_not_counted_where_it_is_judged(tmp_path: Path) -> None:
    cache = CacheSettings(cache_point_min_rounds=2, cache_point_offset_rounds=1)
    with a_session(tmp_path, cache=cache) as session:
        write(session, "w1")
        assert play(session, "react.hide", "h1", path=A)[1].type == "timeline.hidden"
        assert session.recorder.state.visible(A) == []


def test_what_is_beyond_the_tail_stays(tmp_path: Path) -> None:
    cache = CacheSettings(editable_tail_size_in_tokens=100)
    with a_session(tmp_path, cache=cache) as session:
        write(session, "w1")
        write(session, "w2", "b.md", "word " * 200)
        blocks = play(session, "react.hide", "h1", path=A)
        assert error_of(blocks) == "hide_too_old"
        # A failed attempt is on the timeline too, and pushes the file back.
        session.recorder.prompt("turn_2", "word " * 100)
        assert error_of(play(session, "react.hide", "h2", path="fi:turn_1.files/b.md")) == (
            "hide_too_old"
        )


def test_an_unknown_path_is_not_found(session: Session) -> None:
    blocks = play(session, "react.hide", "h1", path="fi:turn_1.files/none")
    assert [block.type for block in blocks] == ["react.tool.call", "react.notice", RESULT]
    assert error_of(blocks) == "not_found"


def test_a_program_that_starts_again_knows_the_same(session: Session, tmp_path: Path) -> None:
    write(session, "w1")
    play(session, "react.hide", "h1", path=A)
    play(session, "react.read", "r1", paths=[A, "sk:a.b"])
    fresh = State()
    fresh.feed(session.timeline.entries())
    state = session.recorder.state
    assert fresh.hidden == state.hidden != {}
    assert fresh.visible(A) == state.visible(A) != []
    assert fresh.settings == state.settings
    with a_session(tmp_path) as other:
        told = status(play(other, "react.read", "r2", paths=[A]))
        assert told["exists_in_visible_context"] == [A]


# react.write.


def test_a_file_that_is_written_lies_in_its_turn(session: Session) -> None:
    blocks = write(session, "w1", "files/charts/a.md")
    assert [block.type for block in blocks] == ["react.tool.call", RESULT, RESULT]
    assert (session.folder / "turn_1/files/charts/a.md").read_text() == "some text"
    assert "edited" not in said(blocks[1])
    assert said(write(session, "w2", "charts/a.md", "new")[1])["edited"] is True


def test_a_path_elsewhere_is_rewritten_and_told(session: Session) -> None:
    blocks = write(session, "w1", "turn_0/files/a.md")
    notice = said(blocks[1])
    assert blocks[1].type == "react.notice"
    assert notice.pop("message")
    assert notice == {
        "code": "protocol_violation.path_rewritten",
        "original": "turn_0/files/a.md",
        "normalized": "turn_1/files/a.md",
    }
    assert blocks[-1].path == A


def test_a_turn_of_the_timeline_is_known_in_a_path(session: Session) -> None:
    play(session, "react.write", "w0", "day-1", path="a.md", content="old")
    blocks = write(session, "w1", "day-1/files/a.md")
    assert said(blocks[1])["normalized"] == "turn_1/files/a.md"
    assert blocks[-1].path == A
    assert write(session, "w2", "day-2/files/a.md")[-1].path == "fi:turn_1.files/day-2/files/a.md"
    assert write(session, "w3", "day-1.files/a.md")[-1].path == A


def test_a_read_of_nothing_says_what_to_name(session: Session) -> None:
    for paths in ([], "", ["- ", "[]"]):
        assert error_of(play(session, "react.read", "r", paths=paths)) == "invalid_input"


@pytest.mark.parametrize("path", ["/etc/passwd", "../a.md", "a/../../b", "~/x", "tc:x", ""])
def test_an_unsafe_path_is_refused(session: Session, path: str) -> None:
    blocks = write(session, "w1", path)
    assert error_of(blocks) == "unsafe_path"
    assert not (session.folder / "turn_1").exists()


@pytest.mark.parametrize(
    ("path", "content", "code"), [("a.md", "", "empty_file"), ("a.docx", "x", "file_invalid")]
)
def test_what_is_not_what_its_name_says_fails_for_everybody(
    session: Session, path: str, content: str, code: str
) -> None:
    asked = call("react.write", "w", path=path, content=content)
    (outcome,) = run(tools_of(session), asked)
    assert outcome.error is not None
    assert outcome.error.code == code
    blocks = write(session, "x", path, content)
    assert [block.type for block in blocks] == ["react.tool.call", "react.notice", RESULT]
    assert error_of(blocks) == code
    assert blocks[-1].path == "tc:turn_1.x.result"


def test_a_file_that_steers_other_programs_is_refused(session: Session) -> None:
    assert error_of(write(session, "w1", ".git/hooks/pre-commit")) == "protected_path"


def test_what_no_file_can_hold_is_refused(session: Session) -> None:
    blocks = write(session, "w1", text="half \ud800")
    assert error_of(blocks) == "invalid_input"
    assert not (session.folder / "turn_1").exists()


def codes(blocks: list[Block]) -> list[str]:
    return [said(block)["code"] for block in blocks if block.type == "react.notice"]


def test_a_file_that_the_machine_refuses_is_told(session: Session) -> None:
    session.put("turn_1/files/a.md/in the way", b"")
    blocks = write(session, "w1")
    assert codes(blocks) == ["react.write.hosting_failed", "tool_result_error"]
    assert error_of(blocks) == "wrong_file_type"


def test_a_disk_that_fails_is_told(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(session.files, "write", broken)
    blocks = write(session, "w1")
    assert codes(blocks) == ["react.write.hosting_failed", "tool_result_error"]
    assert error_of(blocks) == "file_error"


def test_a_file_that_cannot_be_kept_is_shown_and_told(session: Session) -> None:
    session.artifacts.folder.write_bytes(b"in the way")
    blocks = write(session, "w1")
    assert codes(blocks) == ["react.write.hosting_failed"]
    assert (blocks[-1].path, blocks[-1].text) == (A, "some text")


def test_a_link_in_the_folder_of_the_turn_is_not_followed(session: Session, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (session.folder / "turn_1/files").mkdir(parents=True)
    (session.folder / "turn_1/files/a.md").symlink_to(tmp_path / "secret")
    assert status(play(session, "react.read", "r1", paths=[A]))["missing"] == [A]
    write(session, "w1", text="overwritten")
    assert (tmp_path / "secret").read_text() == "secret"


# What a policy and a person see.


def tool_named(session: Session, name: str) -> Tool:
    return next(tool for tool in tools_of(session) if tool.name == name)


def test_the_traits_say_what_each_may_do(session: Session) -> None:
    traits = {tool.name: tool.traits.names() for tool in tools_of(session)}
    assert traits == {
        "react.write": ("idempotent", "writer"),
        "react.read": ("read_only", "idempotent"),
        "react.hide": ("idempotent",),
    }


def test_a_policy_judges_where_the_file_really_goes(session: Session) -> None:
    rule = Rule(decide="allow", tool=("react.write",), path=("turn_1/files/public/**",))

    def written(path: str) -> bool:
        (outcome,) = run(
            tools_of(session),
            call("react.write", path=path, content="x"),
            policy=Policy((rule,)),
            resolve=lambda path: path,
        )
        return outcome.ok

    assert written("public/a.md")
    assert written("turn_0/files/public/a.md")
    assert not written("private/a.md")
    assert not written("../public/a.md")


def test_a_person_sees_what_would_change(session: Session) -> None:
    write(session, "w1", text="old\n")
    preview = tool_named(session, "react.write").preview
    assert preview is not None
    shown = preview(path="a.md", content="new\n")
    assert "turn_1/files/a.md" in shown
    assert "-old" in shown
    assert "+new" in shown
    for path, content, code in (("../a", "x", "unsafe_path"), ("a", "\ud800", "not_text")):
        with pytest.raises(ToolError) as raised:
            preview(path=path, content=content)
        assert raised.value.code == code


@pytest.mark.parametrize(
    ("path", "taints"),
    [
        ("fi:turn_1.user.attachments/a.txt", True),
        ("so:sources_pool[2]", True),
        ("tc:turn_1.s1.result", True),
        (A, False),
        ("sk:a.b", False),
    ],
)
def test_text_of_others_that_is_read_again_taints_the_turn(
    session: Session, path: str, taints: bool
) -> None:
    session.give("turn_1/attachments/a.txt", "from a stranger")
    session.give("turn_1/files/a.md", "mine")
    session.play([search], call("web_tools.web_search", "s1", queries=["rain"]))
    play(session, "react.hide", "h1", path="tc:turn_1.s1.result")
    turn = Turn("turn_2")
    run(tools_of(session, "turn_2"), call("react.read", paths=[path]), turn=turn)
    assert bool(turn.tainted) is taints


def test_what_is_seen_already_taints_nothing_again(session: Session) -> None:
    session.recorder.attach("turn_1", "a.txt", b"from a stranger")
    turn = Turn("turn_2")
    path = "fi:turn_1.user.attachments/a.txt"
    (outcome,) = run(tools_of(session), call("react.read", paths=[path]), turn=turn)
    assert outcome.output["exists_in_visible_context"] == [path]
    assert not turn.tainted


def test_a_picture_too_large_for_a_block_is_told(session: Session) -> None:
    session.put("turn_1/files/a.png", png() + bytes(10 * 2**20))
    blocks = play(session, "react.read", "r1", paths=["fi:turn_1.files/a.png"])
    assert codes(blocks) == ["file_too_large"]
    assert json.loads(blocks[1].text or "")["size_bytes"] > 10 * 2**20
    assert blocks[-1].base64 is None
