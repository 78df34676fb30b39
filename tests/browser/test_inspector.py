"""The inspector: raw blocks, and what the model sees of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from callblocks.model.blocks import Block
from support.browser import PHONE, Watch
from support.site import Site

TS = "2030-01-31T12:00:00Z"


@pytest.fixture
def trip(site: Site) -> str:
    site.say("Make five calls", "trip")
    site.say("Make failing calls", "trip")
    return f"{site.url}/timeline?name=trip"


def _many(count: int) -> Iterator[Block]:
    for at in range(count):
        turn, half = f"turn_{at // 50 + 1}", at // 2
        kind, what = (("call", "call"), ("result", "result"))[at % 2]
        yield Block(
            type=f"react.tool.{kind}",
            author="tool",
            turn_id=turn,
            ts=TS,
            path=f"tc:{turn}.c{half}.{what}",
            call_id=f"c{half}",
            tool_id="say",
            text=f"number {at}\n" * (1 + at % 5),
        )


def _row(page: Page, seq: int) -> Locator:
    return page.locator(f"#raw tr[data-seq='{seq}']")


def test_choosing_a_block_marks_what_the_model_sees_of_it(page: Page, trip: str) -> None:
    page.goto(trip)
    _row(page, 4).click()
    expect(_row(page, 4)).to_have_attribute("aria-selected", "true")
    expect(page.locator("#block")).to_contain_text('"seq": 4')
    expect(page.locator(".seg[data-on]")).to_contain_text("[TOOL CALL one].call say")


def test_choosing_what_the_model_sees_marks_its_block(page: Page, trip: str) -> None:
    page.goto(trip)
    page.locator(".seg", has_text="I look at five things").click()
    expect(_row(page, 3)).to_have_attribute("aria-selected", "true")
    page.focus("#view-body")
    page.keyboard.press("ArrowDown")
    expect(_row(page, 4)).to_have_attribute("aria-selected", "true")


def test_arrow_keys_go_through_the_blocks(page: Page, trip: str) -> None:
    page.goto(trip)
    expect(_row(page, 2)).to_be_visible()
    page.focus("#raw")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(_row(page, 2)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("End")
    expect(page.locator("#raw tr[aria-selected=true]")).to_contain_text("timeline.turn")
    expect(page.locator("#raw")).to_be_focused()


def test_blocks_are_filtered_by_type_and_words(page: Page, trip: str) -> None:
    page.goto(trip)
    page.select_option("#type", "react.notice")
    expect(page.locator("#raw tr[data-seq] .tag").first).to_have_text("error")
    page.select_option("#type", "")
    page.fill("#find", "FIRST result")
    expect(_row(page, 3)).to_have_count(0)
    expect(_row(page, 4)).to_be_visible()


def test_blocks_that_are_written_appear(page: Page, site: Site, trip: str) -> None:
    page.goto(trip)
    expect(page.locator("#facts")).to_contain_text("live")
    site.say("Make one call", "trip")
    page.fill("#find", "the only result")
    expect(page.locator("#raw tr[data-seq]").first).to_be_visible()
    expect(page.locator("#tokens")).to_contain_text("tokens")


def test_hidden_blocks_are_tagged_counted_and_left_out_on_demand(page: Page, site: Site) -> None:
    blocks = list(_many(6))
    record = Block(
        type="timeline.hidden",
        author="timeline",
        turn_id="turn_1",
        ts=TS,
        path=blocks[5].path,
        text="[hidden; short]",
        meta={"after": 0, "before": 7},
    )
    site.service.host.store.append("hid", [*blocks, record])
    page.goto(f"{site.url}/timeline?name=hid")
    expect(page.locator("#tokens")).to_contain_text("hidden")
    expect(page.locator("#raw tr[data-hidden] .tag")).to_have_text(["hidden"])
    page.uncheck("#hidden")
    expect(page.locator("#count")).to_have_text("6 of 7")


def test_a_timeline_is_checked_and_saved(page: Page, trip: str, tmp_path: Path) -> None:
    page.goto(trip)
    page.click("#verify")
    expect(page.locator("#found")).to_contain_text("every hash and every file is as it was written")
    for button, name, start in (
        ("#save-page", "trip.html", "<!doctype html>"),
        ("#save-lines", "trip.jsonl", '{"format":"callblocks timeline"'),
    ):
        page.click("#export summary")
        with page.expect_download() as download:
            page.click(button)
        assert download.value.suggested_filename == name
        download.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_text("utf-8").lower().startswith(start)
    last = (tmp_path / "trip.jsonl").read_text("utf-8").splitlines()[-1]
    assert json.loads(last)["count"] > 10


def test_ten_thousand_blocks_are_a_few_hundred_nodes(page: Page, site: Site) -> None:
    site.service.host.store.append("big", list(_many(10_000)))
    page.goto(f"{site.url}/timeline?name=big")
    expect(page.locator("#count")).to_have_text("10,000 of 10,000", timeout=30_000)
    expect(page.locator(".seg").first).to_be_visible(timeout=30_000)
    page.focus("#raw")
    page.keyboard.press("End")
    expect(_row(page, 10_000)).to_be_visible()
    expect(page.locator(".seg[data-on]")).to_be_in_viewport()
    assert page.evaluate("() => document.querySelectorAll('*').length") < 2500


def test_nothing_that_a_block_holds_is_markup(page: Page, site: Site) -> None:
    bad = "<img src=x onerror=alert(1)><script>alert(2)</script>\u202e"
    block = Block(type="user.prompt", author="user", turn_id=bad, ts=TS, path=f"ar:{bad}", text=bad)
    site.service.host.store.append("bad", [block])
    page.goto(f"{site.url}/timeline?name=bad")
    _row(page, 1).click()
    expect(page.locator("#block")).to_contain_text("<img src=x onerror=alert(1)>")
    expect(page.locator(".seg")).to_contain_text("⟨U+202E⟩")
    assert page.locator("main img, main script").count() == 0


def test_on_a_phone_one_side_is_shown_at_a_time(
    profile: Callable[..., Watch], trip: str, axe: Callable[..., list[str]]
) -> None:
    page = profile(viewport=PHONE, color_scheme="dark").open(trip)
    _row(page, 4).click()
    assert axe(page) == []
    page.click("#show-model")
    expect(page.locator("#raw")).to_be_hidden()
    expect(page.locator(".seg[data-on]")).to_be_visible()
    assert axe(page) == []
    page.set_viewport_size({"width": 320, "height": 640})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 320


def test_nothing_is_wrong_for_those_who_hear(
    page: Page, trip: str, axe: Callable[..., list[str]]
) -> None:
    page.goto(trip)
    _row(page, 4).click()
    page.click("#verify")
    expect(page.locator("#found")).to_contain_text("Verified")
    assert axe(page) == []


def test_without_timelines_it_says_so(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/timeline")
    expect(page.locator("#facts")).to_contain_text("No timelines yet")
