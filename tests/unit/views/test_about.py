from __future__ import annotations

from callblocks.cli.commands.dialects import PARTS, abilities, about, part_of, table
from callblocks.cli.options.tool_setup import SAMPLE_TOOLS
from callblocks.dialects import dialects
from callblocks.views.rows import plain


def test_what_a_dialect_can_is_found_by_doing_it() -> None:
    can = {name: abilities(dialect, SAMPLE_TOOLS) for name, dialect in dialects.items()}
    assert all(can["tool-fence"].values())
    assert [key for key, able in can["scissors-cat"].items() if not able] == ["results"]
    assert [key for key, able in can["chat-blocks"].items() if not able] == [
        "teaches",
        "constrains",
    ]
    assert not can["emoji-bracket"]["ids"]
    assert not can["emoji-bracket+"]["auto"]


def test_the_marks_of_the_table_stand_under_their_words() -> None:
    head, first, *_ = [plain(row) for row in table(dialects.values(), SAMPLE_TOOLS)]
    for word in ("auto", "reads", "constrains", "ids"):
        start = head.index(word)
        assert first[start : start + len(word)].strip() == "✓"


def test_all_about_a_dialect_has_every_part_or_says_why_not() -> None:
    drawn = "\n".join(plain(row) for row in about(dialects["chat-blocks"], SAMPLE_TOOLS, 100))
    assert "\nSyntax\n" in drawn
    assert "chat-blocks has no grammar" in drawn
    assert "\nProblems\n" in drawn


def test_a_part_is_what_the_dialect_says() -> None:
    dialect = dialects["emoji-bracket"]
    assert PARTS == ("syntax", "example", "prompt", "gbnf", "lark", "structural_tag")
    assert part_of(dialect, "prompt", SAMPLE_TOOLS) == dialect.teach(SAMPLE_TOOLS)
    assert part_of(dialect, "lark", SAMPLE_TOOLS) == dialect.grammar(SAMPLE_TOOLS, "lark")
