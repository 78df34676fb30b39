"""Nothing jumps, and a chat of ten thousand blocks is as quick as a short one."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from callblocks.core.calls import Call
from callblocks.core.outcomes import Outcome
from callblocks.timeline.recorder import Recorder
from callblocks.toolkits.turn_files import open_recorder
from support.browser import Watch
from support.page_states import ask
from support.site import Site

# All shifts count, also those that follow something that the person did; but not of what is gone
# since, as the cursor behind the last word, nor of a pixel that rounding moves.
_SHIFTS = """
globalThis.shifts = [];
new PerformanceObserver((list) => {
  for (const one of list.getEntries())
    for (const { node, previousRect, currentRect } of one.sources)
      if (node && Math.abs(previousRect.y - currentRect.y) > 1)
        globalThis.shifts.push([node.textContent.slice(0, 80), previousRect.y, currentRect.y]);
}).observe({ type: "layout-shift", buffered: true });
"""
_SETTLED = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))"""
_BLOCKS = 10_000
_CALLS = 40
_PATIENT = 30_000  # milliseconds, where a busy machine reads all of it


def test_a_fold_opens_without_moving_what_stands_above_it(page: Page, site: Site) -> None:
    ask(page, site, "Make five calls")
    expect(page.get_by_text("All five came back")).to_be_visible()
    head = page.locator("summary", has_text="5 tool calls")
    before = head.bounding_box()
    for _ in range(2):
        head.click()
        page.evaluate(_SETTLED)
        assert head.bounding_box() == before


def test_nothing_shifts_while_a_turn_streams(watch: Watch, site: Site) -> None:
    watch.context.add_init_script(_SHIFTS)
    page = watch.open(site.page())
    expect(page.get_by_text("Make five calls").first).to_be_visible()
    ask(page, site, "Speak slowly")
    expect(page.get_by_text("The first sentence is here.")).to_be_visible()
    page.evaluate(_SETTLED)
    page.evaluate("() => { globalThis.shifts = []; }")
    site.go_on()
    site.go_on()
    expect(page.get_by_text("The third one is the last.")).to_be_visible()
    page.evaluate(_SETTLED)
    assert page.evaluate("() => globalThis.shifts") == []


def test_ten_thousand_blocks_are_opened_read_and_answered(page: Page, site: Site) -> None:
    with open_recorder(site.folder / "state", "long") as recorder:
        number = 0
        while recorder.timeline.head().count < _BLOCKS:
            number += 1
            _write_turn(recorder, number)
    page.goto(site.page("long"))
    expect(page.get_by_text(f"Answer {number}.", exact=True)).to_be_in_viewport(timeout=_PATIENT)
    # Only what is looked at is made.
    assert page.evaluate("() => document.querySelectorAll('call-blocks').length") < 200
    head = page.locator("summary", has_text=f"{_CALLS} tool calls").last
    head.click()
    expect(page.get_by_text(f"result {number}.{_CALLS}", exact=True)).to_be_attached()
    ask(page, site, "Make one call")
    expect(page.get_by_text("It said: the only result.")).to_be_in_viewport(timeout=_PATIENT)
    page.goto(f"{site.url}/timeline?name=long")
    row = page.get_by_role("gridcell", name="react.tool.call").first
    expect(row).to_be_visible(timeout=_PATIENT)
    assert page.evaluate("() => document.querySelectorAll('*').length") < 20_000


def _write_turn(recorder: Recorder, number: int) -> None:
    turn = recorder.new_turn()
    with recorder.together():
        recorder.prompt(turn, f"Question {number}?")
        for at in range(1, _CALLS + 1):
            call = Call(id=f"c{number}_{at}", name="say", input={"text": f"{number}.{at}"})
            output = f"result {number}.{at}"
            recorder.ended(turn, call, Outcome(id=call.id, name=call.name, output=output))
        recorder.completion(turn, f"Answer {number}.")
    recorder.end_turn(turn, status="answered")
