"""Bringing what paths stand for before the model again."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callblocks.core.blocks import Block
from callblocks.core.errors import ToolError
from callblocks.core.paths import FilePath
from callblocks.timeline.artifacts.artifacts import Artifacts
from callblocks.timeline.codec.ended_call import Holdings, TurnFile, file_blocks
from callblocks.timeline.recall import read as reading_module
from callblocks.timeline.recall.lookup import GONE, MAX_TEXT, Finder
from callblocks.timeline.recall.read import MAX_PATHS, Reading, read_paths
from callblocks.timeline.recall.skills import Skill, Skills
from callblocks.timeline.timeline import State, Tokens
from support.documents import office, pdf, png
from support.entries import call_block, numbered, prompt, result_block, round_of, stamp
from support.memory_files import MemoryFiles

NOTES = FilePath("turn_1", "notes.md")
READ = stamp("r", "turn_2", "react.read")


class Place:
    """All that reading needs, and the timeline that it reads."""

    def __init__(self, folder: Path, skills: Skills | None = None) -> None:
        self.state = State()
        self.files = MemoryFiles()
        self.artifacts = Artifacts(folder / "artifacts")
        self.skills = skills or Skills()

    @property
    def finder(self) -> Finder:
        return Finder(
            state=self.state,
            holdings=Holdings(
                files=self.files,
                artifacts=self.artifacts,
                pool=self.state.pool,
                tokens=Tokens(),
            ),
            skills=self.skills,
            stamp=READ,
        )

    def add(self, *blocks: Block) -> None:
        self.state.feed(numbered(blocks, self.state.last))

    def put(self, path: FilePath, content: bytes) -> None:
        """A file on disk that a digest of the timeline names."""
        self.files.contents[path.physical] = content
        digest = json.dumps({"artifact_path": str(path)})
        self.add(stamp("made", path.turn).result("digest", digest))

    def read(self, *paths: str) -> Reading:
        """Read, and put what was brought on the timeline."""
        reading = read_paths(paths, self.finder)
        self.add(READ.result("status", json.dumps(reading.status)), *reading.blocks)
        return reading

    def hide(self, path: str) -> None:
        self.add(stamp("h").block("timeline.hidden", path=path, text="[hidden]"))

    def source(self, *rows: dict[str, Any]) -> None:
        self.add(stamp().block("timeline.sources", text=json.dumps(rows)))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def paths_of(reading: Reading) -> list[str]:
    return [block.path for block in reading.blocks]


def said(reading: Reading, **fields: Any) -> None:
    """The status has these fields; the lists that are not named are empty."""
    lists = ("missing", "missing_skills", "exists_in_visible_context")
    wanted = {name: [] for name in lists} | fields
    assert {name: reading.status.get(name) for name in wanted} == wanted


# Files.


def test_a_file_comes_as_digest_and_content(place: Place) -> None:
    place.put(NOTES, b"# Notes")
    reading = place.read(str(NOTES))
    digest, content = reading.blocks
    assert list(reading.status) == [
        "paths", "missing", "missing_skills", "exists_in_visible_context", "total_tokens",
    ]  # fmt: skip
    said(reading, paths=[str(NOTES)])
    assert digest.path == "tc:turn_2.r.result"
    assert json.loads(digest.text or "") == {
        "artifact_path": "fi:turn_1.files/notes.md",
        "physical_path": "turn_1/files/notes.md",
        "mime": "text/markdown",
        "kind": "file",
        "visibility": "internal",
        "tool_call_id": "r",
        "size_bytes": 7,
        "tokens": 2,
        "sha256": sha256(b"# Notes").hexdigest(),
    }
    assert (content.path, content.mime, content.text) == (str(NOTES), "text/markdown", "# Notes")
    assert content.meta["digest"] == sha256(b"# Notes").hexdigest()
    assert content.meta["rn"].endswith(content.meta["digest"])
    for block in reading.blocks:
        assert (block.type, block.call_id, block.tool_id) == (
            "react.tool.result",
            "r",
            "react.read",
        )
        assert block.meta["hidden"] is False
    tokens = Tokens()
    assert reading.status["total_tokens"] == sum(tokens.text(b.text or "") for b in reading.blocks)


@pytest.mark.parametrize(
    ("name", "content", "mime"),
    [("a.pdf", pdf(), "application/pdf"), ("a.png", png(), "image/png")],
)
def test_pdf_and_image_come_in_base64(place: Place, name: str, content: bytes, mime: str) -> None:
    path = FilePath("turn_1", name, "attachments")
    place.put(path, content)
    reading = place.read(str(path))
    assert reading.blocks[1].mime == mime
    assert reading.blocks[1].base64 == b64encode(content).decode()
    assert reading.blocks[1].text is None
    assert reading.status["total_tokens"] >= Tokens().binary(len(content), mime) > 0


def test_any_other_binary_comes_as_digest_and_an_empty_block(place: Place) -> None:
    path = FilePath("turn_1", "board.pptx")
    place.put(path, office("ppt/presentation.xml"))
    digest, content = place.read(str(path)).blocks
    assert json.loads(digest.text or "")["artifact_path"] == content.path == str(path)
    assert (content.text, content.base64) == (None, None)


def test_a_file_that_no_block_names_is_missing(place: Place) -> None:
    place.put(FilePath("turn_1", "other.md"), b"other")
    place.add(
        stamp("d").result("digest", "no JSON"),
        stamp("d").result("digest", json.dumps({"artifact_path": 1})),
        stamp("d").result("content", json.dumps({"artifact_path": str(NOTES)})),
    )
    place.files.contents[NOTES.physical] = b"of another timeline"
    reading = place.read(str(NOTES))
    said(reading, missing=[str(NOTES)])
    assert reading.blocks == []


def test_a_file_of_the_turn_that_runs_needs_no_block_yet(place: Place) -> None:
    path = FilePath(READ.turn, "made.md")
    place.files.contents[path.physical] = b"just made"
    assert place.read(str(path)).blocks[-1].text == "just made"


def test_a_file_that_a_source_names_can_be_read(place: Place) -> None:
    place.files.contents[NOTES.physical] = b"# Notes"
    place.source({"sid": 1, "path": str(NOTES)})
    assert place.read(str(NOTES)).blocks[-1].text == "# Notes"


def test_a_path_on_disk_is_understood(place: Place) -> None:
    place.put(NOTES, b"x")
    said(place.read("turn_1/files/notes.md", str(NOTES)), paths=[str(NOTES)])


def written(place: Place, path: FilePath, content: bytes) -> None:
    """A file as a tool leaves it on the timeline, in the folder, and kept."""
    artifact = place.artifacts(path.name, content)
    file = TurnFile(path=path, content=content, mime=artifact.mime, artifact=artifact)
    one = stamp("w", tool="react.write")
    place.put(path, content)
    place.add(call_block("w"), *file_blocks(one, file, tokens=Tokens()))


def test_a_file_that_is_gone_is_read_from_what_was_kept_and_put_back(place: Place) -> None:
    written(place, NOTES, b"kept")
    place.hide(str(NOTES))
    place.files.contents.clear()
    assert place.read(str(NOTES)).blocks[1].text == "kept"
    assert place.files.contents == {NOTES.physical: b"kept"}


def test_a_file_that_cannot_be_put_back_is_read_all_the_same(place: Place) -> None:
    written(place, NOTES, b"kept")
    place.hide(str(NOTES))
    place.files.contents.clear()
    place.files.broken = ToolError("disk_full", "no room is left")
    assert place.read(str(NOTES)).blocks[1].text == "kept"


def test_the_newest_content_counts(place: Place) -> None:
    written(place, NOTES, b"old")
    written(place, NOTES, b"new")
    place.hide(str(NOTES))
    place.files.contents.clear()
    assert place.read(str(NOTES)).blocks[1].text == "new"


def lose_artifacts(place: Place) -> None:
    place.artifacts = Artifacts(place.artifacts.folder.with_name("lost"))


def test_a_file_that_is_lost_comes_from_its_block(place: Place) -> None:
    written(place, NOTES, b"in the block")
    place.hide(str(NOTES))
    place.files.contents.clear()
    lose_artifacts(place)
    reading = place.read(str(NOTES))
    said(reading)
    assert reading.blocks[1].text == "in the block"
    assert place.files.contents == {NOTES.physical: b"in the block"}


def test_a_picture_that_is_lost_comes_from_its_block(place: Place) -> None:
    path = FilePath("turn_1", "a.png")
    written(place, path, png())
    place.hide(str(path))
    place.files.contents.clear()
    lose_artifacts(place)
    assert place.read(str(path)).blocks[1].base64 == b64encode(png()).decode()


@pytest.mark.parametrize("content", [b"y" * 900_000, b"token=abc123xyz"])
def test_a_block_that_does_not_have_all_of_a_lost_file_does_not_pretend(
    place: Place, content: bytes
) -> None:
    artifact = place.artifacts(NOTES.name, content)
    file = TurnFile(path=NOTES, content=content, mime=artifact.mime, artifact=artifact)
    blocks = file_blocks(stamp("w", tool="react.write"), file, tokens=Tokens(), text_limit=20_000)
    place.add(call_block("w"), *blocks)
    place.hide(str(NOTES))
    lose_artifacts(place)
    reading = place.read(str(NOTES))
    said(reading, missing=[str(NOTES)], why={str(NOTES): GONE})
    assert reading.blocks == []


def test_a_lost_file_of_another_program_comes_as_its_block_has_it(place: Place) -> None:
    block = stamp("w").block("react.tool.result", path=str(NOTES), text="by hand", base64=None)
    damaged = stamp("w").block("react.tool.result", path=str(NOTES), base64="!")
    place.add(call_block("w"), damaged, block)
    place.hide(str(NOTES))
    assert [one.text for one in place.read(str(NOTES)).blocks] == [None, "by hand"]


def test_a_file_that_is_read_again_is_what_it_was(place: Place) -> None:
    fields = {
        "kind": "display",
        "visibility": "external",
        "channel": "canvas",
        "description": "notes",
        "edited": True,
        "sources_used": [1],
    }
    artifact = place.artifacts(NOTES.name, b"text")
    file = TurnFile(path=NOTES, content=b"text", mime=artifact.mime, artifact=artifact)
    blocks = file_blocks(stamp("w"), file, tokens=Tokens(), fields=fields)
    place.files.contents[NOTES.physical] = b"text"
    place.add(call_block("w"), *blocks)
    for _ in range(2):
        place.hide(str(NOTES))
        digest = json.loads(place.read(str(NOTES)).blocks[0].text or "")
        assert {name: digest.get(name) for name in fields} == fields
        assert digest["tool_call_id"] == READ.call
    # Another content has no such sources, and was not written so.
    place.files.contents[NOTES.physical] = b"other"
    digest = json.loads(place.read(str(NOTES)).blocks[0].text or "")
    assert "sources_used" not in digest
    assert (digest["kind"], digest["channel"]) == ("display", "canvas")


def test_a_file_without_a_block_is_what_its_digest_said_and_comes_from_what_was_kept(
    place: Place,
) -> None:
    path = FilePath("turn_1", "board.pptx")
    slides = office("ppt/presentation.xml")
    artifact = place.artifacts(path.name, slides)
    file = TurnFile(path=path, content=slides, mime=artifact.mime, artifact=artifact)
    fields = {"visibility": "external"}
    blocks = file_blocks(stamp("w"), file, tokens=Tokens(), fields=fields, binary="none")
    place.add(call_block("w"), *blocks, stamp("x").result("digest", "no JSON"))
    digest = json.loads(place.read(str(path)).blocks[0].text or "")
    assert digest["visibility"] == "external"
    assert place.files.contents == {path.physical: slides}


def test_a_binary_file_that_is_lost_is_missing(place: Place) -> None:
    path = FilePath("turn_1", "board.pptx")
    written(place, path, office("ppt/presentation.xml"))
    place.files.contents.clear()
    lose_artifacts(place)
    reading = place.read(str(path))
    said(reading, missing=[str(path)], why={str(path): GONE})
    assert reading.blocks == []


def test_a_file_that_cannot_be_kept_can_be_read(place: Place, tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    place.artifacts = Artifacts(tmp_path / "plain" / "artifacts")
    place.put(NOTES, b"x")
    assert place.read(str(NOTES)).blocks[1].text == "x"


def test_a_long_text_is_cut_and_a_longer_one_that_is_seen_is_enough(place: Place) -> None:
    place.put(NOTES, b"x" * (MAX_TEXT + 1))
    reading = place.read(str(NOTES))
    assert reading.blocks[1].text == "x" * MAX_TEXT + "...[truncated]"
    said(place.read(str(NOTES)), exists_in_visible_context=[str(NOTES)])
    other = FilePath("turn_1", "other.md")
    written(place, other, b"y" * (MAX_TEXT + 1))
    said(place.read(str(other)), exists_in_visible_context=[str(other)])


def test_a_picture_that_no_block_can_hold_is_told(place: Place) -> None:
    path = FilePath("turn_1", "huge.png")
    place.put(path, png() + bytes(10 * 2**20))
    reading = place.read(str(path))
    assert [notice.code for notice in reading.notices] == ["file_too_large"]
    assert reading.blocks[1].base64 is None


# Blocks.


CODE = stamp("c").block("react.tool.code", path="fi:turn_1.code.c", text="1 + 1")
SPOKEN = stamp("c").block("react.notes", path="ar:turn_1.react.notes.c", text="I add.")


@pytest.mark.parametrize("block", [prompt("hi"), call_block("c"), CODE, SPOKEN])
def test_a_hidden_block_comes_again_as_a_fresh_copy(place: Place, block: Block) -> None:
    path = block.path
    place.add(block)
    said(place.read(path), exists_in_visible_context=[path])
    place.hide(path)
    reading = place.read(path)
    said(reading)
    (copy,) = reading.blocks
    assert (copy.path, copy.text, copy.mime) == (path, block.text, block.mime)
    assert (copy.type, copy.author, copy.call_id) == ("react.tool.result", "tool", "r")
    assert copy.meta["hidden"] is False
    assert place.state.at(path)[0].block == block


def test_all_results_of_the_newest_call_at_a_path_come(place: Place) -> None:
    path = "tc:turn_1.c.result"
    place.add(*round_of("c", "digest", "content"))
    place.hide(path)
    assert [block.text for block in place.read(path).blocks] == ["digest", "content"]
    place.hide(path)
    assert [block.text for block in place.read(path).blocks] == ["digest", "content"]


def test_what_is_seen_in_part_is_brought_in_part(place: Place) -> None:
    path = "tc:turn_1.c.result"
    place.add(*round_of("c", "digest"))
    place.hide(path)
    place.add(result_block("c", "content"))
    reading = place.read(path)
    assert [block.text for block in reading.blocks] == ["digest"]
    said(reading, exists_in_visible_context=[path])


# Sources.

ROWS = (
    {"sid": 1, "path": str(NOTES), "title": "My notes"},
    {"sid": 2, "url": "https://example.com/rain", "title": "Rain", "text": "It rains."},
    {"sid": 3, "url": "https://example.com/sun", "title": "Sun"},
)


def test_rows_that_are_files_come_as_files_and_the_others_together(place: Place) -> None:
    place.put(NOTES, b"# Notes")
    place.source(*ROWS)
    reading = place.read("so:sources_pool[1-999999999]")
    rows = "so:sources_pool[2-3]"
    assert paths_of(reading) == ["tc:turn_2.r.result", str(NOTES), rows]
    assert reading.blocks[2].mime == "application/json"
    assert json.loads(reading.blocks[2].text or "") == [
        {"sid": 2, "title": "Rain", "url": "https://example.com/rain", "text": "It rains."},
        {"sid": 3, "title": "Sun", "url": "https://example.com/sun"},
    ]
    again = place.read("so:sources_pool[1-3]")
    said(again, exists_in_visible_context=[str(NOTES), rows], total_tokens=0)


def test_a_selector_that_names_no_row_is_missing(place: Place) -> None:
    place.source(*ROWS)
    said(place.read("so:sources_pool[ 9-4 ]"), missing=["so:sources_pool[4-9]"])


def test_a_row_whose_file_is_gone_is_missing_alone(place: Place) -> None:
    place.source(*ROWS)
    reading = place.read("so:sources_pool[1,2]")
    said(reading, missing=[str(NOTES)])
    assert paths_of(reading) == ["so:sources_pool[2]"]


def test_rows_that_are_too_much_for_one_block_are_left_out(place: Place) -> None:
    long = "x" * (MAX_TEXT // 2 + 1)
    place.source(*({"sid": sid, "url": f"https://e.com/{sid}", "text": long} for sid in (1, 2, 3)))
    reading = place.read("so:sources_pool[1-3]")
    assert paths_of(reading) == ["so:sources_pool[1]"]
    said(reading, left_out=["so:sources_pool[2-3]"])


# Skills.

SKILLS = Skills(
    [
        Skill("a.pdf", "PDF", "Write it.", ("a.fonts", "a.gone")),
        Skill("a.fonts", "Fonts", "Choose one."),
        Skill("a.doc", "Word", "Write.", ("a.fonts",)),
    ]
)


def test_a_skill_comes_after_what_it_imports_and_each_once(tmp_path: Path) -> None:
    place = Place(tmp_path, SKILLS)
    reading = place.read("sk:a.pdf", "sk:a.doc", "sk:none")
    assert paths_of(reading) == ["sk:a.fonts", "sk:a.pdf", "sk:a.doc"]
    assert reading.blocks[0].text == "ACTIVE skill sk:a.fonts: Fonts\n\nChoose one."
    assert reading.blocks[0].mime == "text/markdown"
    said(reading, missing_skills=["sk:a.gone", "sk:none"])
    again = place.read("sk:a.doc")
    said(again, exists_in_visible_context=["sk:a.fonts", "sk:a.doc"])
    assert again.blocks == []


# Laws and limits.


def test_what_is_no_path_is_missing(place: Place) -> None:
    bad = ["nonsense", "/etc/passwd", "fi:turn_1.files/../x", "http://x", "", "x" * 999]
    reading = place.read(*bad, "tc:turn_1.none.result")
    said(reading, missing=[*bad[:-1], "x" * 200 + "…", "tc:turn_1.none.result"])
    assert reading.blocks == []


def test_no_more_than_so_many_paths_are_read(place: Place) -> None:
    paths = [FilePath("turn_1", f"{number}.md") for number in range(MAX_PATHS * 2 + 5)]
    for path in paths:
        place.put(path, b"x")
    reading = place.read(*map(str, paths))
    assert len(reading.blocks) == MAX_PATHS * 2
    left = reading.status["left_out"]
    assert left[0] == str(paths[MAX_PATHS])
    assert left[-1] == "… and 5 more"
    assert reading.status["paths"][-1] == f"… and {MAX_PATHS + 5} more"


def test_no_more_than_so_many_tokens_are_brought(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_module, "MAX_TOKENS", 150)
    paths = [FilePath("turn_1", f"{number}.md") for number in range(4)]
    for path, size in zip(paths, (8000, 4, 4, 4), strict=True):
        place.put(path, b"x" * size)
    a, b, c, d = map(str, paths)
    large = place.read(a, b)
    said(large, left_out=[b])
    assert large.blocks[1].path == a
    small = place.read(b, c, d, a)
    assert small.status["left_out"] == [d]
    said(small, left_out=[d], exists_in_visible_context=[a])


odd_texts = st.lists(
    st.text(st.characters())
    | st.from_regex(r"(fi|ar|tc|so|sk):[\w.\[\]/,-]{0,30}", fullmatch=True)
    | st.sampled_from([str(NOTES), "so:sources_pool[1-3]", "ar:turn_1.user.prompt", "sk:a.pdf"]),
    max_size=8,
)
shared = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@shared
@given(odd_texts)
def test_reading_never_raises_and_a_second_reading_brings_nothing(
    tmp_path: Path, texts: list[str]
) -> None:
    place = Place(tmp_path, SKILLS)
    place.put(NOTES, b"# Notes")
    place.source(*ROWS)
    place.add(prompt(), *round_of("c"))
    place.hide("ar:turn_1.user.prompt")
    place.read(*texts)
    again = place.read(*texts)
    assert again.blocks == []
    assert again.status["total_tokens"] == 0
    json.dumps(again.status)


steps = st.lists(
    st.sampled_from(
        [
            *(("write", name, text) for name in ("a.md", "b.md") for text in ("one", "two")),
            *(("hide", name, "") for name in ("a.md", "b.md")),
            *(("read", name, "") for name in ("a.md", "b.md")),
        ]
    ),
    max_size=20,
)


@shared
@given(steps)
def test_after_a_reading_the_content_is_seen_once(
    tmp_path: Path, plan: list[tuple[str, str, str]]
) -> None:
    place = Place(tmp_path)
    doing: dict[str, Callable[[FilePath, str], object]] = {
        "write": lambda path, text: written(place, path, text.encode()),
        "hide": lambda path, text: place.hide(str(path)),
        "read": lambda path, text: place.read(str(path)),
    }
    for step, name, text in plan:
        path = FilePath("turn_1", name)
        was = [entry.block.text for entry in place.state.visible(str(path))]
        doing[step](path, text)
        now = [entry.block.text for entry in place.state.visible(str(path))]
        held = place.files.contents.get(path.physical)
        if step == "read" and held is not None:
            assert now == (was if held.decode() in was else [*was, held.decode()])
