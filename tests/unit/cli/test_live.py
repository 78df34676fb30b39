from __future__ import annotations

import io

from rich.console import Console

from callblocks.cli.options.read_options import read
from callblocks.cli.terminal.paint import LiveScreen, Paper
from callblocks.core.events import Text
from callblocks.parser import Parser
from callblocks.views.chat.chat import Speaker


def show(*pieces: str, height: int = 30) -> str:
    """All that a terminal of a given height is told while a chat grows."""
    out, paper = io.StringIO(), Paper()
    paper.console = Console(
        file=out, force_terminal=True, color_system=None, width=60, height=height, markup=False
    )
    paper.width = 60
    with LiveScreen(paper, expanded=True) as screen:
        for _, events in read(pieces, Parser("emoji-bracket")):
            screen.feed(events)
    return out.getvalue()


def test_the_count_rises_and_results_arrive() -> None:
    shown = show("🛠️[a]🛠️[/end]", "🛠️[b]", "🛠️[/end]", "🛠️[/result 1]\nyes\n🛠️[/end]")
    steps = ["a() ⏳", "2 tool calls", "b(…) ⏳", "b() ⏳", "→ yes"]
    places = [shown.index(step) for step in steps]
    assert places == sorted(places)


def test_what_would_not_fit_is_printed_for_good() -> None:
    prose = "".join(f"line {number}\n" for number in range(20))
    shown = show("🛠️[a]🛠️[/end]\n", *prose.splitlines(keepends=True), height=8)
    assert shown.count("line 3\n") >= 1
    late = show("🛠️[a]🛠️[/end]\n", prose, "🛠️[/result 1]\nlate\n🛠️[/end]", height=8)
    assert late.rindex("a() → late") > late.index("line 19")


def test_what_others_say_waits_while_somebody_has_the_terminal() -> None:
    out, paper = io.StringIO(), Paper()
    paper.console = Console(file=out, force_terminal=True, color_system=None, width=60, height=30)
    with LiveScreen(paper, expanded=True) as screen:
        with screen.aside():
            before = out.getvalue()
            screen.feed([Speaker("one"), Text("I go on.\n", (0, 0))])
            screen.say("so do I")
            assert out.getvalue() == before
        shown = out.getvalue().removeprefix(before)
    assert "▌ one" in shown
    assert "I go on." in shown
