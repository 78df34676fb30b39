"""Every sequence that a call leaves on a timeline, from runs of real tools, block by block."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callblocks.guard.net.client import Client
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.run_call import RunLimits
from callblocks.toolkits.documents.document_tools import rendering_tools
from callblocks.toolkits.documents.write_document import TurnPlace
from callblocks.toolkits.react_tools import react_tools
from callblocks.toolkits.web.engines import SearXNG
from callblocks.tools.context import Context
from callblocks.tools.declare import tool
from callblocks.tools.tool import Tool
from support.documents import SHEET, SLIDES, WORD, office, pdf, png
from support.exec_runs import PYTHON, SHELL, contract, execute, making
from support.recorded_sessions import TS, Session, a_session, said, sequence
from support.search_providers import SearxngServer
from support.tool_runtime import call
from support.web_world import HOST, Web, a_web, html, served

RESULT = "react.tool.result"
FETCHING = Policy((Rule(decide="allow", tool=("web_tools.web_fetch",)),))


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with a_session(tmp_path) as session:
        yield session


def documents(session: Session) -> tuple[Tool, ...]:
    """The tools that write documents of the first turn."""
    return rendering_tools(TurnPlace(session.recorder, "turn_1"))


def rendering(session: Session, kind: str, content: bytes | None, answer: Any = None) -> Tool:
    """A tool of others that renders, and may do it badly: it writes a file, or none."""

    @tool(name=f"rendering_tools.write_{kind}", origin="external", kind="writer")
    def write(path: str, content_text: str = "") -> dict[str, Any]:
        """Render."""
        if content is not None:
            session.put(f"turn_1/files/{path.rpartition('/')[2]}", content)
        return answer or {"ok": True, "error": None}

    return write


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_react_write_with_notes(session: Session):
    content = "# Report\n\n" + "words " * 100
    given = call("react.write", id="abc", path="report.md", content=content)
    blocks = session.play(react_tools(session.recorder, "turn_1"), given, notes="Drafting summary")
    assert sequence(blocks) == [
        ("react.notes", "ar:turn_1.react.notes.abc"),
        ("react.tool.call", "tc:turn_1.abc.call"),
        (RESULT, "tc:turn_1.abc.result"),
        (RESULT, "fi:turn_1.files/report.md"),
    ]
    notes, called, digest, written = blocks
    assert notes.text == "Drafting summary"
    assert notes.meta == {"channel": "timeline_text"}
    assert said(called) == {
        "tool_id": "react.write",
        "tool_call_id": "abc",
        "params": {
            "path": "report.md",
            "content": f"{content[:100]}... [see fi:turn_1.files/report.md]",
        },
        "ts": TS,
    }
    assert said(digest) == {
        "artifact_path": "fi:turn_1.files/report.md",
        "physical_path": "turn_1/files/report.md",
        "mime": "text/markdown",
        "kind": "display",
        "visibility": "external",
        "channel": "canvas",
        "tool_call_id": "abc",
        "size_bytes": len(content),
        "tokens": -(-len(content) // 4),
        "sha256": sha(content.encode()),
    }
    assert (written.mime, written.text, written.base64) == ("text/markdown", content, None)
    assert written.meta.keys() == {
        *("role", "hosted_uri", "rn", "key", "physical_path", "digest"),
    }
    assert written.meta["digest"] == sha(content.encode())
    assert session.artifacts.read(written.meta["digest"]) == content.encode()


def test_a_short_content_of_react_write_ends_with_the_reference_too(session: Session):
    given = call("react.write", path="a.md", content="# A")
    blocks = session.play(react_tools(session.recorder, "turn_1"), given)
    assert said(blocks[0])["params"]["content"] == "# A... [see fi:turn_1.files/a.md]"


def test_react_write_on_the_internal_channel_is_internal(session: Session):
    given = call("react.write", path="a.md", content="# A", channel="internal", kind="file")
    digest = said(session.play(react_tools(session.recorder, "turn_1"), given)[1])
    assert (digest["visibility"], digest["channel"], digest["kind"]) == (
        "internal",
        "internal",
        "file",
    )


def test_react_write_says_that_it_edited(session: Session):
    tools = react_tools(session.recorder, "turn_1")
    first = said(session.play(tools, call("react.write", "c1", path="a.md", content="# A"))[1])
    again = said(session.play(tools, call("react.write", "c2", path="a.md", content="# B"))[1])
    assert "edited" not in first
    assert again["edited"] is True


def test_react_write_names_the_sources_that_it_cites(session: Session):
    session.play([searching(3, "Rain.")], call("web_tools.web_search", "s1", queries=["rain"]))
    content = "It rains [[S:1,3-9]]."
    given = call("react.write", "w1", path="a.md", content=content)
    digest = said(session.play(react_tools(session.recorder, "turn_1"), given)[1])
    assert digest["sources_used"] == [1, 3]


def test_react_write_to_another_turn_is_told(session: Session):
    given = call("react.write", path="turn_0/files/a.md", content="# A")
    blocks = session.play(react_tools(session.recorder, "turn_1"), given)
    assert sequence(blocks) == [
        ("react.tool.call", "tc:turn_1.c1.call"),
        ("react.notice", "tc:turn_1.c1.notice"),
        (RESULT, "tc:turn_1.c1.result"),
        (RESULT, "fi:turn_1.files/a.md"),
    ]
    notice = said(blocks[1])
    assert notice.pop("message")
    assert notice == {
        "code": "protocol_violation.path_rewritten",
        "original": "turn_0/files/a.md",
        "normalized": "turn_1/files/a.md",
    }


def test_react_write_outside_of_the_turn_is_refused(session: Session):
    given = call("react.write", path="../a.md", content="# A")
    blocks = session.play(react_tools(session.recorder, "turn_1"), given)
    assert sequence(blocks) == [
        ("react.tool.call", "tc:turn_1.c1.call"),
        ("react.notice", "tc:turn_1.c1.notice"),
        (RESULT, "tc:turn_1.c1.result"),
    ]
    assert said(blocks[0])["params"]["content"] == "# A... [see tc:turn_1.c1.result]"
    assert said(blocks[1])["code"] == "tool_result_error"
    assert said(blocks[2])["error"]["code"] == "unsafe_path"
    assert said(blocks[1])["error"] == said(blocks[2])["error"]


def test_react_write_of_nothing_is_an_empty_file(session: Session):
    given = call("react.write", path="a.md", content="")
    blocks = session.play(react_tools(session.recorder, "turn_1"), given)
    assert [block.type for block in blocks] == ["react.tool.call", "react.notice", RESULT]
    assert said(blocks[1])["code"] == "tool_result_error"
    assert said(blocks[2])["error"]["code"] == "empty_file"
    assert not (session.artifacts.folder).exists()


def test_a_react_write_that_left_no_file_could_not_be_hosted(session: Session):
    @tool(name="react.write")
    def write(path: str, content: str) -> dict[str, Any]:
        """Write."""
        return {"edited": False}

    blocks = session.play([write], call("react.write", path="a.md", content="# A"))
    assert [block.type for block in blocks] == [
        *("react.tool.call", "react.notice", "react.notice", RESULT),
    ]
    codes = [said(block)["code"] for block in blocks[1:3]]
    assert codes == ["react.write.hosting_failed", "tool_result_error"]
    assert said(blocks[3])["error"]["code"] == "file_not_found"


def test_a_pdf_is_shown_as_base64(session: Session):
    given = call("rendering_tools.write_pdf", id="def", path="report.pdf", content="# Report")
    blocks = session.play(documents(session), given)
    content = (session.folder / "turn_1/files/report.pdf").read_bytes()
    assert sequence(blocks) == [
        ("react.tool.call", "tc:turn_1.def.call"),
        (RESULT, "tc:turn_1.def.result"),
        (RESULT, "fi:turn_1.files/report.pdf"),
    ]
    digest = said(blocks[1])
    assert digest.pop("tokens") > 0
    assert digest == {
        "artifact_path": "fi:turn_1.files/report.pdf",
        "physical_path": "turn_1/files/report.pdf",
        "mime": "application/pdf",
        "kind": "file",
        "visibility": "external",
        "tool_call_id": "def",
        "size_bytes": len(content),
        "sha256": sha(content),
    }
    assert blocks[2].mime == "application/pdf"
    assert b64decode(blocks[2].base64 or "") == content
    assert blocks[2].text is None


def test_a_png_is_shown_as_base64(session: Session):
    given = call("rendering_tools.write_png", path="plot.png", content="A plot", width=200)
    blocks = session.play(documents(session), given)
    content = (session.folder / "turn_1/files/plot.png").read_bytes()
    assert sequence(blocks)[2:] == [(RESULT, "fi:turn_1.files/plot.png")]
    assert (blocks[2].mime, b64decode(blocks[2].base64 or "")) == ("image/png", content)


@pytest.mark.parametrize(
    ("name", "mime"), [("board.pptx", SLIDES), ("letter.docx", WORD), ("sums.xlsx", SHEET)]
)
def test_other_rendered_files_have_a_digest_only(session: Session, name: str, mime: str):
    kind = name.rpartition(".")[2]
    given = call(f"rendering_tools.write_{kind}", path=name, content="| a |\n|---|\n| 1 |")
    blocks = session.play(documents(session), given)
    content = (session.folder / "turn_1/files" / name).read_bytes()
    assert sequence(blocks) == [
        ("react.tool.call", "tc:turn_1.c1.call"),
        (RESULT, "tc:turn_1.c1.result"),
    ]
    assert said(blocks[1]) == {
        "artifact_path": f"fi:turn_1.files/{name}",
        "physical_path": f"turn_1/files/{name}",
        "mime": mime,
        "kind": "file",
        "visibility": "external",
        "tool_call_id": "c1",
        "size_bytes": len(content),
        "sha256": sha(content),
    }
    assert session.artifacts.read(sha(content)) == content


@pytest.mark.parametrize(
    ("content", "code", "size"),
    [
        (None, "file_not_found", None),
        (b"", "empty_file", 0),
        (b"no pdf " * 99, "file_invalid", 693),
    ],
)
def test_a_rendered_file_that_is_none_is_an_error_of_the_result(
    session: Session, content: bytes | None, code: str, size: int | None
):
    given = call("rendering_tools.write_pdf", path="report.pdf")
    blocks = session.play([rendering(session, "pdf", content)], given)
    assert sequence(blocks) == [
        ("react.tool.call", "tc:turn_1.c1.call"),
        ("react.notice", "tc:turn_1.c1.notice"),
        (RESULT, "tc:turn_1.c1.result"),
    ]
    notice, digest = said(blocks[1]), said(blocks[2])
    assert notice["code"] == "tool_result_error"
    assert digest["error"] == notice["error"]
    assert digest["error"]["code"] == code
    assert digest["artifact_path"] == "fi:turn_1.files/report.pdf"
    assert digest.get("size_bytes") == size
    assert not session.artifacts.folder.exists()


def test_a_rendered_file_that_is_unusually_small_has_a_warning(session: Session):
    given = call("rendering_tools.write_pdf", path="report.pdf")
    blocks = session.play([rendering(session, "pdf", pdf(padding=10))], given)
    assert [block.type for block in blocks] == ["react.tool.call", RESULT, RESULT]
    assert said(blocks[1])["write_warning"] == "file_unusually_small"


def test_a_rendering_tool_to_another_turn_is_told(session: Session):
    given = call("rendering_tools.write_docx", path="turn_0/files/report.docx", content="x")
    blocks = session.play(documents(session), given)
    assert said(blocks[1])["code"] == "protocol_violation.path_rewritten"
    assert said(blocks[2])["artifact_path"] == "fi:turn_1.files/report.docx"


def test_a_rendering_tool_that_answers_with_an_error_is_a_result_error(session: Session):
    error = {"code": "no_font", "message": "no such font", "where": "layout", "managed": True}
    writer = rendering(session, "pdf", pdf(), {"ok": False, "error": error})
    blocks = session.play([writer], call("rendering_tools.write_pdf", path="report.pdf"))
    assert [block.type for block in blocks] == ["react.tool.call", "react.notice", RESULT]
    shown = {"code": "no_font", "message": "no such font", "where": "layout"}
    assert said(blocks[1])["code"] == "tool_result_error"
    assert said(blocks[1])["error"] == shown
    assert said(blocks[2])["error"] == shown


def test_a_tool_that_raises_is_a_call_error(session: Session):
    @tool(name="rendering_tools.write_pdf")
    def write(path: str) -> None:
        """Render."""
        raise ZeroDivisionError

    blocks = session.play([write], call("rendering_tools.write_pdf", path="report.pdf"))
    assert [block.type for block in blocks] == ["react.tool.call", "react.notice", RESULT]
    assert said(blocks[1])["code"] == "tool_call_error"
    assert said(blocks[2])["error"]["code"] == "tool_error"


def test_a_call_that_no_policy_lets_through_is_a_call_error(session: Session):
    writer = rendering(session, "pdf", pdf())
    given = call("rendering_tools.write_pdf", path="report.pdf")
    blocks = session.play([writer], given, policy=Policy())
    assert said(blocks[1])["code"] == "tool_call_error"
    assert said(blocks[2])["error"]["code"] == "policy_off"


def test_a_call_of_an_unknown_tool_is_written_too(session: Session):
    blocks = session.play([], call("nothing"))
    assert [block.type for block in blocks] == ["react.tool.call", "react.notice", RESULT]
    assert said(blocks[1])["code"] == "tool_call_error"
    assert said(blocks[2])["error"]["code"] == "unknown_tool"


def test_exec_with_all_files_and_a_runtime_error(session: Session):
    made: dict[str, bytes | str] = {"summary.pdf": pdf(), "notes.txt": "notes"}
    code = making(made, "raise SystemExit(1)")
    names = ("summary.pdf", "turn_1/files/notes.txt")
    blocks = execute(session, code, *names, id="xyz", notes="Now I run it")
    assert sequence(blocks) == [
        ("react.notes", "ar:turn_1.react.notes.xyz"),
        ("react.tool.code", "fi:turn_1.code.xyz"),
        ("react.tool.call", "tc:turn_1.xyz.call"),
        (RESULT, "tc:turn_1.xyz.result"),
        (RESULT, "tc:turn_1.xyz.result"),
        (RESULT, "fi:turn_1.files/summary.pdf"),
        (RESULT, "tc:turn_1.xyz.result"),
        (RESULT, "fi:turn_1.files/notes.txt"),
    ]
    assert (blocks[1].text, blocks[1].mime) == (code, "text/x-python")
    assert blocks[3].mime == "text/markdown"
    assert blocks[3].text == (
        "Runtime error: execution_failed — exit code 1\n"
        "Succeeded:\n- turn_1/files/summary.pdf\n- turn_1/files/notes.txt"
    )
    assert said(blocks[6])["description"] == "the turn_1/files/notes.txt"
    assert blocks[7].text == "notes"


def test_exec_with_some_files_and_no_runtime_error(session: Session):
    blocks = execute(session, making({"summary.pdf": pdf()}), "summary.pdf", "report.xlsx")
    assert sequence(blocks)[2:] == [
        (RESULT, "tc:turn_1.c1.result"),
        (RESULT, "tc:turn_1.c1.result"),
        (RESULT, "fi:turn_1.files/summary.pdf"),
    ]
    assert blocks[2].text == (
        "Runtime error: none\n"
        "File errors:\n- turn_1/files/report.xlsx: file not produced\n"
        "Succeeded:\n- turn_1/files/summary.pdf"
    )


def test_exec_with_some_files_and_a_runtime_error(session: Session):
    words = "Missing output files: turn_1/files/report.xlsx"
    code = making({"summary.pdf": pdf()}, f"raise SystemExit('{words}')")
    blocks = execute(session, code, "report.xlsx", "summary.pdf", id="xyz")
    assert [block.type for block in blocks] == [
        *("react.tool.code", "react.tool.call", RESULT, RESULT, RESULT),
    ]
    assert (blocks[2].path, blocks[2].mime) == ("tc:turn_1.xyz.result", "text/markdown")
    assert blocks[2].text == (
        "Runtime error: execution_failed — Missing output files: turn_1/files/report.xlsx\n"
        "File errors:\n- turn_1/files/report.xlsx: file not produced\n"
        "Succeeded:\n- turn_1/files/summary.pdf"
    )


def test_exec_makes_a_pdf_a_text_and_a_sheet(session: Session):
    made: dict[str, bytes | str] = {
        "report.pdf": pdf(),
        "notes.txt": "x" * 19_999 + "éé",
        "data.xlsx": office("xl/workbook.xml"),
    }
    blocks = execute(session, making(made), *made)
    assert sequence(blocks) == [
        ("react.tool.code", "fi:turn_1.code.c1"),
        ("react.tool.call", "tc:turn_1.c1.call"),
        (RESULT, "tc:turn_1.c1.result"),
        (RESULT, "tc:turn_1.c1.result"),
        (RESULT, "fi:turn_1.files/report.pdf"),
        (RESULT, "tc:turn_1.c1.result"),
        (RESULT, "fi:turn_1.files/notes.txt"),
        (RESULT, "tc:turn_1.c1.result"),
        (RESULT, "fi:turn_1.files/data.xlsx"),
    ]
    paths = [said(blocks[at])["artifact_path"] for at in (3, 5, 7)]
    assert paths == [blocks[at].path for at in (4, 6, 8)]
    assert b64decode(blocks[4].base64 or "") == made["report.pdf"]
    assert blocks[6].text == "x" * 19_999 + "...[truncated]"
    assert (blocks[8].text, blocks[8].base64, blocks[8].mime) == (None, None, SHEET)
    assert blocks[8].meta["digest"] == said(blocks[7])["sha256"]
    assert blocks[8].meta["physical_path"] == "turn_1/files/data.xlsx"


def test_exec_has_no_notices_of_errors_and_no_links_as_files(session: Session):
    code = """
    echo real > files/real.txt
    echo more > files/other.txt
    ln -s real.txt files/link.txt
    mkfifo files/pipe.txt
    """
    blocks = execute(session, code, "link.txt", "pipe.txt", "real.txt", tool=SHELL)
    assert [block.type for block in blocks] == [
        *("react.tool.code", "react.tool.call", RESULT, RESULT, RESULT),
    ]
    assert blocks[0].mime == "text/x-sh"
    assert blocks[2].text == (
        "Runtime error: none\nFile errors:\n"
        "- turn_1/files/link.txt: file not produced: it is a link\n"
        "- turn_1/files/pipe.txt: file not produced: it is a pipe\n"
        "Succeeded:\n- turn_1/files/real.txt"
    )
    assert [path.name for path in (session.folder / "turn_1/files").iterdir()] == ["real.txt"]


def test_notices_of_errors_that_an_exec_tool_gives_are_not_written(session: Session):
    @tool(name="exec_tools.execute_code_python", kind="exec")
    def execute_code(code: str, contract: list[dict[str, str]], context: Context) -> None:
        """Run code."""
        session.put("turn_1/files/real.txt", "real")
        context.notice("tool_result_error", "not this way")
        context.notice("slow", "this took long")

    given = call(PYTHON, code="1", contract=contract("real.txt", "../../etc/passwd"))
    blocks = session.play([execute_code], given)
    assert [block.type for block in blocks] == [
        *("react.tool.code", "react.tool.call", "react.notice", RESULT, RESULT, RESULT),
    ]
    assert said(blocks[2])["code"] == "slow"
    assert blocks[3].text == (
        "Runtime error: none\n"
        "File errors:\n- '../../etc/passwd': is no name of a file of this turn\n"
        "Succeeded:\n- turn_1/files/real.txt"
    )


@pytest.fixture
def rain() -> SearxngServer:
    """An engine whose pages are about rain."""
    return SearxngServer()


@pytest.fixture
def web(tmp_path: Path, rain: SearxngServer) -> Iterator[Web]:
    """The web tools, with that engine and one page."""
    place = tmp_path / "work"
    place.mkdir()
    with served(rain) as site:
        address, client = f"http://127.0.0.1:{site.port}", Client(allow=(f"127.0.0.1:{site.port}",))
        pages = {"/rain": html("<p>It rains.", "<title>Example</title>")}
        with a_web(place, pages, engines=[SearXNG(address, client)]) as web:
            yield web


def rows(*names: int) -> list[dict[str, str]]:
    return [
        {"title": f"Rain {at}", "url": f"https://example.com/{at}", "content": "It rains."}
        for at in names
    ]


def searching(count: int, text: str) -> Tool:
    @tool(name="web_tools.web_search", read_only=True, kind="source", origin="builtin")
    def search(queries: list[str], n: int = 5) -> dict[str, Any]:
        """Search."""
        rows = [
            {"title": f"Rain {at}", "url": f"https://example.com/{at}", "text": text}
            for at in range(1, count + 1)
        ]
        return {"ok": True, "error": None, "ret": rows}

    return search


def test_a_web_search_gives_rows_of_the_sources_pool(
    session: Session, web: Web, rain: SearxngServer
):
    rain.rows = rows(1, 2, 3, 4, 5, 6)
    given = call("web_tools.web_search", id="s1", queries=["best rain"], n=5)
    blocks = session.play(web.tools.values(), given, notes="I look for it")
    assert sequence(blocks) == [
        ("react.notes", "ar:turn_1.react.notes.s1"),
        ("react.tool.call", "tc:turn_1.s1.call"),
        ("timeline.sources", ""),
        (RESULT, "tc:turn_1.s1.result"),
        (RESULT, "so:sources_pool[1-5]"),
    ]
    assert said(blocks[1])["params"] == {"queries": ["best rain"], "n": 5}
    digest = said(blocks[3])
    assert digest.pop("tokens") > 0
    assert digest == {
        "artifact_path": "so:sources_pool[1-5]",
        "mime": "application/json",
        "kind": "file",
        "visibility": "internal",
        "tool_call_id": "s1",
    }
    found = said(blocks[4])
    assert [row["sid"] for row in found] == [1, 2, 3, 4, 5]
    assert found[0] == {
        "sid": 1,
        "title": "Rain 1",
        "url": "https://example.com/1",
        "text": "It rains.",
    }
    assert session.recorder.pool.sids == {1, 2, 3, 4, 5}


def test_a_second_search_keeps_the_numbers_of_what_is_known(
    session: Session, web: Web, rain: SearxngServer
):
    tools = [*web.tools.values()]
    rain.rows = rows(1, 2)
    session.play(tools, call("web_tools.web_search", id="s1", queries=["a"]))
    rain.rows = rows(2, 3)
    blocks = session.play(tools, call("web_tools.web_search", id="s2", queries=["b"]))
    assert [row["sid"] for row in said(blocks[3])] == [2, 3]
    assert blocks[3].path == "so:sources_pool[2-3]"
    assert [row["sid"] for row in json.loads(blocks[1].text or "")] == [3]


def test_a_search_too_long_for_an_outcome_still_gives_its_rows(session: Session):
    given = call("web_tools.web_search", id="s1", queries=["a"])
    limits = RunLimits(output=1_000)
    blocks = session.play([searching(3, "long " * 2_000)], given, limits=limits)
    found = said(blocks[3])
    assert [row["sid"] for row in found] == [1, 2, 3]
    assert all(row["text"].endswith("...[truncated]") for row in found)
    assert blocks[1].type == "timeline.sources"
    source = session.recorder.pool.get(1)
    assert source is not None
    assert source.text == "long " * 2_000


def test_a_search_that_found_nothing_has_no_rows(session: Session, web: Web):
    given = call("web_tools.web_search", id="s1", queries=["a"])
    blocks = session.play(web.tools.values(), given)
    assert sequence(blocks)[1:] == [(RESULT, "tc:turn_1.s1.result")] * 2
    assert said(blocks[2]) == []


def test_a_web_fetch_gives_pages_by_url(session: Session, web: Web):
    urls = [f"{HOST}/rain", f"{HOST}/none"]
    given = call("web_tools.web_fetch", id="f1", urls=urls)
    blocks = session.play(web.tools.values(), given, policy=FETCHING)
    assert sequence(blocks) == [
        ("react.tool.call", "tc:turn_1.f1.call"),
        ("timeline.sources", ""),
        (RESULT, "tc:turn_1.f1.result"),
        (RESULT, "tc:turn_1.f1.result"),
    ]
    digest = said(blocks[2])
    assert digest.pop("tokens") > 0
    assert digest == {
        "artifact_path": "tc:turn_1.f1.result",
        "mime": "application/json",
        "kind": "file",
        "visibility": "internal",
        "tool_call_id": "f1",
    }
    pages = said(blocks[3])
    assert [*pages] == urls
    assert pages[urls[0]] == {
        "sid": 1,
        "title": "Example",
        "type": "text/html",
        "bytes": 88,
        "content": "It rains.",
    }
    assert pages[urls[1]]["error"]["code"] == "http_error"


def test_a_web_fetch_of_no_page_shows_why_beside_each(session: Session, web: Web):
    given = call("web_tools.web_fetch", id="f1", urls=[f"{HOST}/none", "file:///etc/passwd"])
    blocks = session.play(web.tools.values(), given, policy=FETCHING)
    assert [block.type for block in blocks] == ["react.tool.call", "react.notice", RESULT, RESULT]
    assert said(blocks[2])["error"]["code"] == "http_error"
    codes = [page["error"]["code"] for page in said(blocks[3]).values()]
    assert codes == ["http_error", "invalid_url"]


def test_a_builtin_that_fails_beside_an_output_shows_both(session: Session):
    @tool(name="web_tools.web_fetch", read_only=True, kind="source", origin="builtin")
    def fetch(urls: list[str]) -> dict[str, Any]:
        """Fetch."""
        error = {"code": "half", "message": "only some", "where": "net", "managed": True}
        return {"ok": False, "error": error, "ret": {"https://a.example": {"content": "A"}}}

    blocks = session.play([fetch], call("web_tools.web_fetch", urls=["https://a.example"]))
    assert [block.type for block in blocks] == [
        *("react.tool.call", "react.notice", "timeline.sources", RESULT, RESULT),
    ]
    assert said(blocks[3])["error"] == {"code": "half", "message": "only some", "where": "net"}
    assert said(blocks[4])["https://a.example"]["content"] == "A"


def mixed(session: Session) -> None:
    """Files that a person attached, files that code made, and a search that found one of them."""
    session.recorder.attach("turn_1", "notes.txt", b"my notes")
    session.recorder.attach("turn_1", "image.png", png())
    execute(session, making({"report.pdf": pdf()}), "report.pdf")
    board = making({"board.pptx": office("ppt/presentation.xml")})
    execute(session, board, "board.pptx", id="c2", turn="turn_2")

    @tool(name="web_tools.web_search", read_only=True)
    def search(queries: list[str]) -> list[dict[str, str]]:
        """Search."""
        return [
            {"title": "Report", "path": "fi:turn_1.files/report.pdf"},
            {"title": "Rain", "url": "https://example.com", "text": "It rains."},
        ]

    session.play([search], call("web_tools.web_search", "s1", queries=["a"]), turn="turn_2")


MIXED = [
    "so:sources_pool[1,2]",
    "fi:turn_1.user.attachments/notes.txt",
    "fi:turn_1.user.attachments/image.png",
    "fi:turn_2.files/board.pptx",
]


def test_react_read_of_mixed_inputs(session: Session):
    mixed(session)
    before = session.timeline.head().count
    given = call("react.read", "r1", paths=MIXED)
    # What was said before this turn is folded away.
    tools = react_tools(session.recorder, "turn_3", lambda seq: seq > before)
    blocks = session.play(tools, given, turn="turn_3")
    result = "tc:turn_3.r1.result"
    assert sequence(blocks) == [
        ("react.tool.call", "tc:turn_3.r1.call"),
        (RESULT, result),
        (RESULT, result),
        (RESULT, "fi:turn_1.files/report.pdf"),
        (RESULT, "so:sources_pool[2]"),
        (RESULT, result),
        (RESULT, "fi:turn_1.user.attachments/notes.txt"),
        (RESULT, result),
        (RESULT, "fi:turn_1.user.attachments/image.png"),
        (RESULT, result),
        (RESULT, "fi:turn_2.files/board.pptx"),
    ]
    assert [said(blocks[at])["artifact_path"] for at in (2, 5, 7, 9)] == [
        blocks[at].path for at in (3, 6, 8, 10)
    ]
    assert b64decode(blocks[3].base64 or "") == pdf()
    assert "It rains." in (blocks[4].text or "")
    assert blocks[6].text == "my notes"
    assert b64decode(blocks[8].base64 or "") == png()
    assert (blocks[10].text, blocks[10].base64, blocks[10].mime) == (None, None, SLIDES)


def test_react_read_says_what_is_missing_and_what_can_be_seen(session: Session):
    mixed(session)
    hidden = call("react.hide", "h1", path="so:sources_pool[1-2]")
    session.play(react_tools(session.recorder, "turn_2"), hidden, turn="turn_2")
    given = call("react.read", "r1", paths=[*MIXED, "fi:turn_1.files/none.txt"])
    blocks = session.play(react_tools(session.recorder, "turn_3"), given, turn="turn_3")
    assert sequence(blocks)[1:] == [
        (RESULT, "tc:turn_3.r1.result"),
        (RESULT, "so:sources_pool[2]"),
    ]
    status = said(blocks[1])
    assert status["missing"] == ["fi:turn_1.files/none.txt"]
    assert set(status["exists_in_visible_context"]) == {
        *("fi:turn_1.files/report.pdf", "fi:turn_2.files/board.pptx"),
        *("fi:turn_1.user.attachments/image.png", "fi:turn_1.user.attachments/notes.txt"),
    }
    assert status["total_tokens"] > 0


def test_react_hide_leaves_its_record_and_then_a_result(session: Session):
    tools = react_tools(session.recorder, "turn_1")
    session.play(tools, call("react.write", "w1", path="a.md", content="# A " * 50))
    blocks = session.play(tools, call("react.hide", "h1", path="fi:turn_1.files/a.md"))
    assert sequence(blocks) == [
        ("react.tool.call", "tc:turn_1.h1.call"),
        ("timeline.hidden", "fi:turn_1.files/a.md"),
        (RESULT, "tc:turn_1.h1.result"),
        (RESULT, "tc:turn_1.h1.result"),
    ]
    assert session.recorder.state.visible("fi:turn_1.files/a.md") == []


def test_react_hide_of_what_is_not_there_hides_nothing(session: Session):
    tools = react_tools(session.recorder, "turn_1")
    blocks = session.play(tools, call("react.hide", path="fi:turn_1.files/a.md"))
    assert [block.type for block in blocks] == ["react.tool.call", "react.notice", RESULT]
    assert said(blocks[1])["code"] == "tool_result_error"
    assert said(blocks[2])["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("output", "mime", "text"),
    [
        ("just words", "text/plain", "just words"),
        ({"rows": 3}, "application/json", '{"rows":3}'),
        (None, "application/json", "null"),
        ([1, 2], "application/json", "[1,2]"),
    ],
)
def test_any_other_tool_gives_its_output(session: Session, output: Any, mime: str, text: str):
    @tool
    def look() -> Any:
        """Look."""
        return output

    blocks = session.play([look], call("look"))
    assert sequence(blocks) == [
        ("react.tool.call", "tc:turn_1.c1.call"),
        (RESULT, "tc:turn_1.c1.result"),
        (RESULT, "tc:turn_1.c1.result"),
    ]
    assert said(blocks[1]) == {
        "artifact_path": "tc:turn_1.c1.result",
        "mime": mime,
        "kind": "file",
        "visibility": "internal",
        "tool_call_id": "c1",
        "tokens": -(-len(text) // 4),
    }
    assert (blocks[2].mime, blocks[2].text) == (mime, text)


def test_notices_and_kept_files_of_any_tool_are_written(session: Session):
    @tool
    def look(context: Context) -> str:
        """Look."""
        context.notice("slow", "this took long", seconds=3)
        context.keep("plot.png", png())
        return "seen"

    blocks = session.play([look], call("look"))
    assert sequence(blocks) == [
        ("react.tool.call", "tc:turn_1.c1.call"),
        ("react.notice", "tc:turn_1.c1.notice"),
        (RESULT, "tc:turn_1.c1.result"),
        (RESULT, "tc:turn_1.c1.result"),
        (RESULT, "tc:turn_1.c1.result"),
        (RESULT, "fi:turn_1.files/c1/plot.png"),
    ]
    assert said(blocks[1]) == {"code": "slow", "message": "this took long", "seconds": 3}
    assert said(blocks[4])["artifact_path"] == "fi:turn_1.files/c1/plot.png"
    assert "physical_path" not in said(blocks[4])
    assert b64decode(blocks[5].base64 or "") == png()


def test_an_output_that_was_kept_is_read_back_by_its_path(session: Session):
    @tool
    def look() -> str:
        """Look."""
        return "line\n" * 5_000

    blocks = session.play([look], call("look"), limits=RunLimits(output=1_000))
    assert sequence(blocks)[3:] == [
        (RESULT, "tc:turn_1.c1.result"),
        (RESULT, "fi:turn_1.files/c1/c1.txt"),
    ]
    assert (blocks[4].text, blocks[4].base64) == (None, None)
    given = call("react.read", "r1", paths=["fi:turn_1.files/c1/c1.txt"])
    brought = session.play(react_tools(session.recorder, "turn_1"), given)
    assert brought[-1].text == "line\n" * 5_000
