from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import CallerError
from callblocks.timeline.recall.skills import BrokenSkill, Skill, Skills


def write(folder: Path, **files: str | bytes) -> Skills:
    for name, content in files.items():
        file = folder / f"{name.replace('__', '/')}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
    return Skills.from_folder(folder)


def skill(id: str, *imports: str) -> Skill:
    return Skill(id, id, f"text of {id}", imports)


def ids(skills: list[Skill]) -> list[str]:
    return [one.id for one in skills]


def test_a_file_says_its_id_its_title_and_what_it_imports(tmp_path: Path) -> None:
    skills = write(
        tmp_path,
        any="---\nid: public.pdf\ntitle: 'PDFs: how'\nimports: [a.b, \"a.c\", a.b]\n---\n\n# Do\n",
    )
    assert skills.get("public.pdf") == Skill("public.pdf", "PDFs: how", "# Do", ("a.b", "a.c"))
    assert skills.broken == ()


def test_what_a_file_does_not_say_is_told_by_its_place_and_heading(tmp_path: Path) -> None:
    skills = write(
        tmp_path,
        public__pdf="\ufeffWords\r\n## How to\r\nmore",
        public__sub__x="no heading",
        y="---\n# a remark\ntitle:\nimports:\n  - public.pdf\n  - b.c\n---\n",
    )
    assert skills.get("public.pdf") == Skill("public.pdf", "How to", "Words\n## How to\nmore")
    assert skills.get("public.sub.x") == Skill("public.sub.x", "public.sub.x", "no heading")
    assert skills.get("y") == Skill("y", "y", "", ("public.pdf", "b.c"))
    assert ids(list(skills)) == ["public.pdf", "public.sub.x", "y"]
    assert len(skills) == 3


def test_a_broken_file_is_named_and_the_others_load(tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    skills = write(
        tmp_path,
        a="---\nid: ok\n---\n",
        bad_id="---\nid: two words\n---\n",
        bad_import="---\nimports: [../x]\n---\n",
        bytes=b"\xff\xfe",
        large=b"x" * ((1 << 20) + 1),
        nested="---\nid:\n  a: b\n---\n",
        odd="---\nauthor: me\n---\n",
        open="---\nid: x\n",
        stray="---\n- x\n---\n",
        twice="---\nid: ok\n---\n",
        two="---\ntitle: [a, b]\n---\n",
    )
    assert ids(list(skills)) == ["ok"]
    problems = {one.file.removesuffix(".md"): one.problem for one in skills.broken}
    may = "the front matter may say id, title, imports, and nothing like"
    assert problems == {
        "bad_id": "'two words' is no id of a skill: write namespace.id",
        "bad_import": "'../x' is no id of a skill: write namespace.id",
        "bytes": "it is not UTF-8 text",
        "folder": "Is a directory",
        "large": "it is larger than 1,048,576 bytes",
        "nested": f"{may} '  a: b'",
        "odd": f"{may} 'author: me'",
        "open": "the front matter has no end: write --- on a line of its own after it",
        "stray": f"{may} '- x'",
        "twice": "another file has the id ok already",
        "two": "the front matter has more than one title",
    }
    assert skills.broken[0] == BrokenSkill("bad_id.md", problems["bad_id"])


def test_only_regular_files_of_the_folder_itself_are_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("of somebody else")
    folder = tmp_path / "skills"
    folder.mkdir()
    (folder / "host.md").symlink_to(outside / "secret.md")
    (folder / "more").symlink_to(outside)
    (folder / "null.md").symlink_to("/dev/null")
    os.mkfifo(folder / "pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(folder / "socket.md"))
        skills = write(folder, a="text")
    assert ids(list(skills)) == ["a"]
    problems = {one.file: one.problem for one in skills.broken}
    link = "it is a link, and none is followed"
    assert problems.pop("socket.md")
    assert problems == {
        "host.md": link,
        "more": link,
        "null.md": link,
        "pipe.md": "it is no regular file",
    }


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    write(tmp_path / "real", a="text")
    (tmp_path / "link").symlink_to("real")
    assert ids(list(Skills.from_folder(tmp_path / "link"))) == ["a"]


def test_a_folder_that_cannot_be_entered_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locked").mkdir()
    real = os.open

    def refuse(path: Any, *args: Any, **kwargs: Any) -> int:
        if path == "locked":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    assert write(tmp_path, a="text").broken == (BrokenSkill("locked", "Permission denied"),)


def test_a_folder_that_is_not_there_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(CallerError, match="no folder of skills at"):
        Skills.from_folder(tmp_path / "nowhere")


def test_imports_come_first_each_once() -> None:
    skills = Skills([skill("a", "b", "c"), skill("b", "d"), skill("c", "d"), skill("d")])
    assert ids(skills.resolve("a")) == ["d", "b", "c", "a"]
    assert skills.missing("a") == []


def test_a_cycle_is_harmless() -> None:
    skills = Skills([skill("a", "b"), skill("b", "c", "a"), skill("c", "a", "c")])
    assert ids(skills.resolve("a")) == ["c", "b", "a"]
    assert ids(skills.resolve("b"))[-1] == "b"


def test_what_is_missing_is_named() -> None:
    skills = Skills([skill("a", "b", "x"), skill("b", "y", "x")])
    assert ids(skills.resolve("a")) == ["b", "a"]
    assert skills.missing("a") == ["y", "x"]
    assert (skills.resolve("z"), skills.missing("z"), skills.get("z")) == ([], ["z"], None)


def test_a_long_chain_of_imports_is_followed() -> None:
    chain = [skill(f"s{number}", f"s{number + 1}") for number in range(5_000)]
    assert len(Skills(chain).resolve("s0")) == 5_000


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.lists(st.sampled_from("abcdef")))))
def test_each_skill_comes_once_and_the_one_asked_for_last(
    graph: list[tuple[str, list[str]]],
) -> None:
    skills = Skills(skill(id, *imports) for id, imports in graph)
    for one in skills:
        found = ids(skills.resolve(one.id))
        assert found[-1] == one.id
        assert len(found) == len(set(found))
        assert set(skills.missing(one.id)).isdisjoint(found)
