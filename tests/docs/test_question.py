"""The question that the page about approvals shows is the one that a person sees."""

from __future__ import annotations

from pathlib import Path

from callblocks import Call
from callblocks.approvals.question import Question
from callblocks.cli.terminal.ask import choice_rows, prompt_line, question_rows
from callblocks.guard.files.root import Root
from callblocks.toolkits.standard import standard_tools
from callblocks.views.rows import plain
from support.pages import ROOT, code_blocks

PAGE = ROOT / "docs/tasks/approve-calls.md"
GIVEN = {"path": "notes/monday.md", "content": "- [ ] call the nursery\n"}


def test_the_question_is_as_shown(tmp_path: Path) -> None:
    shown = next(code_blocks(PAGE.read_text("utf-8"))).text.splitlines()
    with Root(tmp_path) as root:
        root.write(GIVEN["path"], b"- [x] water the ferns\n- [ ] call the nursery\n")
        tool = standard_tools(root)["file_write"]
        assert tool.preview is not None
        question = Question(
            call=Call(id="c1", name=tool.name, input=GIVEN),
            tool=tool,
            approval_id="1",
            reason="no rule names this call",
            preview=tool.preview(**GIVEN),
        )
    rows = [*question_rows(question, 100), *choice_rows(tool.name, 100)]
    seen = [plain(row).rstrip() for row in rows]
    assert [row for row in seen if row] == shown[:-1]
    assert shown[-1] == prompt_line(question, 100).rstrip()
