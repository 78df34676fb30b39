"""The rendering tools on a timeline: what they read, write, tell and refuse."""

from __future__ import annotations

import io
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docx
import pytest
from openpyxl import load_workbook

from callblocks.core.errors import ToolError
from callblocks.core.events import CallTold
from callblocks.core.outcomes import Outcome
from callblocks.guard.files.root import Root
from callblocks.guard.workers import worker_process as worker
from callblocks.guard.workers.worker_process import Worker
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.toolkits.documents import write_document as apart
from callblocks.toolkits.documents.document_tools import rendering_tools
from callblocks.toolkits.documents.render_protocol import RenderJob
from callblocks.toolkits.documents.write_document import FolderPlace, TurnPlace, render_apart
from callblocks.toolkits.react_tools import react_tools
from callblocks.tools.declare import tool
from callblocks.tools.tool import Context, Tool
from support.documents import png
from support.recorded_sessions import Session, a_session, said
from support.tool_runtime import call, run_one


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with a_session(tmp_path) as session:
        yield session


def tools(session: Session, turn: str = "turn_1", root: Root | None = None) -> tuple[Tool, ...]:
    return rendering_tools(TurnPlace(session.recorder, turn, root))


def write(session: Session, kind: str, **given: Any) -> Outcome:
    asked = call(f"rendering_tools.write_{kind}", **given)
    return session.run(tools(session), asked, turn="turn_1")


def code(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.code


def test_pictures_and_texts_come_from_the_timeline(session: Session) -> None:
    session.put("turn_1/files/text.md", "# T\n\n![a](a.png)\n\n![b](fi:turn_0.files/b.png)")
    session.put("turn_1/files/a.png", png())
    session.give("turn_0/files/b.png", png())
    outcome = write(session, "docx", path="t.docx", source="text.md")
    assert outcome.ok, outcome.error
    content = (session.folder / "turn_1/files/t.docx").read_bytes()
    assert outcome.output["size_bytes"] == len(content)
    assert outcome.notices == ()
    assert len(docx.Document(io.BytesIO(content)).inline_shapes) == 2


NOT_VISIBLE = "protocol_violation.param_ref_not_visible"


def test_a_source_that_was_hidden_is_told_and_the_document_is_written(session: Session) -> None:
    react = react_tools(session.recorder, "turn_1")
    session.play(react, call("react.write", "c1", path="text.md", content="# T"))
    assert write(session, "docx", path="t.docx", source="text.md").notices == ()
    session.play(react, call("react.hide", "c2", path="fi:turn_1.files/text.md"))
    one = call("rendering_tools.write_docx", "c3", path="t.docx", source="turn_1/files/text.md")
    blocks = session.play(tools(session), one)
    notice = said(blocks[1])
    assert (notice["code"], notice["param"], notice["path"]) == (
        *(NOT_VISIBLE, "source", "fi:turn_1.files/text.md"),
    )
    assert said(blocks[2])["artifact_path"] == "fi:turn_1.files/t.docx"
    session.play(react, call("react.read", "c4", paths=["fi:turn_1.files/text.md"]))
    assert write(session, "docx", path="t.docx", source="text.md").notices == ()


def test_a_source_that_the_view_folded_away_is_told(session: Session) -> None:
    react = react_tools(session.recorder, "turn_1")
    session.play(react, call("react.write", "c1", path="text.md", content="# T"))
    folding = TurnPlace(session.recorder, "turn_1", shows=lambda seq: False)
    one = call("rendering_tools.write_docx", path="t.docx", source="text.md")
    outcome = session.run(rendering_tools(folding), one, turn="turn_1")
    assert [notice.code for notice in outcome.notices] == [NOT_VISIBLE]


def test_a_source_that_is_not_there_is_a_failure_and_no_notice(session: Session) -> None:
    outcome = write(session, "docx", path="t.docx", source="fi:turn_1.files/gone.md")
    assert (code(outcome), outcome.notices) == ("path_not_found", ())


def test_what_a_person_attached_taints_the_turn(session: Session) -> None:
    session.put("turn_1/attachments/a.png", png())
    context = Context()
    place = TurnPlace(session.recorder, "turn_1")
    assert place.read("a.png", context) == png()
    assert context.taints == ["shown in a document: fi:turn_1.user.attachments/a.png"]


def test_files_of_the_workspace_are_shown_where_the_policy_lets_them(
    session: Session, tmp_path: Path
) -> None:
    folder = tmp_path / "work"
    (folder / "secret").mkdir(parents=True)
    (folder / "a.md").write_text("# A\n\n![x](secret/x.png)")
    (folder / "secret" / "x.png").write_bytes(png())
    rules = (
        Rule(decide="deny", path=("secret/**",)),
        Rule(decide="allow", tool=("*",)),
    )
    with Root(folder) as root:
        outcome = run_one(
            tools(session, root=root),
            call("rendering_tools.write_docx", path="a.docx", source="a.md"),
            policy=Policy(rules),
            resolve=root.resolve,
        )
        denied = run_one(
            tools(session, root=root),
            call("rendering_tools.write_docx", path="a.docx", source="secret/x.png"),
            policy=Policy(rules),
            resolve=root.resolve,
        )
    assert outcome.ok, outcome.error
    assert [notice.code for notice in outcome.notices] == ["image_missing"]
    assert code(denied) == "policy_denied"


def test_without_a_timeline_documents_go_into_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "prices.csv").write_text("what;price\nAdult;3.50\n")
    with Root(tmp_path) as root:
        asked = call(
            "rendering_tools.write_xlsx", path="out/p.xlsx", source="prices.csv", format="csv"
        )
        outcome = run_one(rendering_tools(FolderPlace(root)), asked)
    assert outcome.ok, outcome.error
    assert load_workbook(tmp_path / "out" / "p.xlsx").active["B2"].value == 3.5  # type: ignore[index]


def test_what_replaces_files_of_the_workspace_says_so(session: Session, tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        folder = rendering_tools(FolderPlace(root))
        turn = tools(session)
    assert {one.traits.destructive for one in folder} == {True}
    assert {one.traits.destructive for one in turn} == {False}


def test_sources_of_a_file_that_was_named_are_in_the_digest(session: Session) -> None:
    @tool(name="web_tools.web_search", kind="source")
    def search(queries: list[str]) -> list[dict[str, str]]:
        """Search."""
        return [{"url": "https://example.org/a", "title": "A"}]

    session.play([search], call("web_tools.web_search", "s1", queries=["rain"]))
    session.put("turn_1/files/text.md", "Rain [[S:1]].")
    asked = call("rendering_tools.write_docx", path="t.docx", source="text.md")
    blocks = session.play(tools(session), asked)
    assert said(blocks[-1])["sources_used"] == [1]


def test_steps_are_told_while_it_works(session: Session) -> None:
    steps: list[str] = []

    def listen(progress: object) -> None:
        if isinstance(progress, CallTold):
            steps.append(progress.text)

    asked = call("rendering_tools.write_pptx", path="a.pptx", content="# A\n\n## B\n\nx")
    assert run_one(tools(session), asked, listen=listen).ok
    assert steps == ["slide 1 of 2\n", "slide 2 of 2\n"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"path": "a.txt", "content": "x"}, "wrong_file_type"),
        ({"path": "../a.pdf", "content": "x"}, "unsafe_path"),
        ({"path": "a.pdf"}, "invalid_input"),
        ({"path": "a.pdf", "content": "x", "source": "y"}, "invalid_input"),
        ({"path": "a.pdf", "source": "no.md"}, "path_not_found"),
        ({"path": "a.pdf", "source": "half.md"}, "not_text"),
        ({"path": "a.pdf", "content": "x" * 5_000_001}, "document_too_large"),
    ],
)
def test_what_cannot_be_written_has_a_code(
    session: Session, given: dict[str, str], expected: str
) -> None:
    session.put("turn_1/files/half.md", b"\xff\xfe\xff")
    assert code(write(session, "pdf", **given)) == expected
    assert not (session.folder / "turn_1/files/a.pdf").exists()


def test_a_document_that_fails_leaves_what_was_there(session: Session) -> None:
    session.put("turn_1/files/a.xlsx", b"old")
    assert code(write(session, "xlsx", path="a.xlsx", content="no table")) == "no_table"
    assert (session.folder / "turn_1/files/a.xlsx").read_bytes() == b"old"


def test_controls_are_shown_as_such(session: Session) -> None:
    outcome = write(session, "docx", path="a.docx", content="a\x07b", title="\x01")
    assert outcome.ok, outcome.error
    content = (session.folder / "turn_1/files/a.docx").read_bytes()
    assert "a\ufffdb" in [p.text for p in docx.Document(io.BytesIO(content)).paragraphs]


def test_the_process_reaches_nobody_and_starts_nothing(session: Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0)
        port = server.getsockname()[1]
        html = f'<img src="http://127.0.0.1:{port}/x.png" alt="shown"><p>words</p>'
        outcome = write(session, "pdf", path="a.pdf", content=html, format="html")
        with pytest.raises(BlockingIOError):
            server.accept()
    assert outcome.ok, outcome.error
    assert [notice.code for notice in outcome.notices] == ["image_not_fetched"]


def job(content: str) -> RenderJob:
    return RenderJob(kind="pdf", name="a", content=content, format="html")


def with_picture() -> RenderJob:
    return RenderJob(kind="docx", name="a", content="![a](a.png)")


def test_a_document_that_takes_too_long_is_ended_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(apart.tempfile, "tempdir", str(tmp_path))
    slow = "<table>" + "<tr><td>x</td></tr>" * 20_000
    with pytest.raises(ToolError) as failed:
        render_apart(job(slow), lambda _: None, Context(), seconds=1.0)
    assert failed.value.code == "render_timeout"
    assert os.listdir(tmp_path) == []


def test_nobody_waits_for_a_document_that_was_given_up() -> None:
    context = Context()
    context.cancelled = True
    with pytest.raises(ToolError) as failed:
        render_apart(job("<p>x"), lambda _: None, context)
    assert failed.value.code == "cancelled"


def test_the_process_is_told_no_key_has_nothing_open_and_is_locked_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hidden")
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    found: list[tuple[bytes, set[str], str]] = []

    def look(_: str) -> None:
        child = Path("/proc", children.read_text().split()[-1])
        opened = {os.readlink(one).partition(":")[0] for one in (child / "fd").iterdir()}
        found.append(((child / "environ").read_bytes(), opened, (child / "status").read_text()))

    render_apart(with_picture(), look, Context())
    [(environment, opened, status)] = found
    assert b"PATH=" in environment
    assert b"hidden" not in environment
    assert opened == {"pipe", "/dev/null"}
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status


def test_a_process_that_does_not_listen_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "deaf.py").write_text("import time; time.sleep(60)")
    context = Context()
    deaf = Worker("deaf", PYTHONPATH=str(tmp_path))
    context.cancelled = True
    with pytest.raises(ToolError) as failed:
        deaf.write(bytes(1 << 20), apart.patience_of(context, 60.0))
    assert failed.value.code == "cancelled"
    assert deaf.end() == -signal.SIGKILL


def test_a_file_that_is_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "LARGEST", 10)
    context = Context()
    assert render_apart(with_picture(), lambda _: png(), context).content
    assert [notice.code for notice in context.notices] == ["image_left_out", "image_missing"]


def test_a_process_that_dies_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker.sys, "executable", "/bin/false")
    with pytest.raises(ToolError) as failed:
        render_apart(job("<p>x"), lambda _: None, Context())
    assert failed.value.code == "render_failed"
