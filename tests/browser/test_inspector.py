"""The inspector: raw blocks, and what the model sees of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from callblocks.core.blocks import Block
from support.browser import PHONE, Watch, watched
from support.site import Site, open_site

SCRIPTS = Path(__file__).with_name("scripts")
TS = "2030-01-31T12:00:00Z"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Generator[Site]:
    """One server for all tests here: what they do in it does not meet."""
    with open_site(tmp_path_factory.mktemp("served") / "site", SCRIPTS) as site:
        yield site


@pytest.fixture(scope="module")
def trip(site: Site) -> str:
    site.say("Make five calls", "trip")
    site.say("Make failing calls", "trip")
    return f"{site.url}/timeline?name=trip"


@pytest.fixture(scope="module")
def opened(browser: Browser, trip: str) -> Generator[tuple[Watch, Page]]:
    """The inspector, loaded once."""
    with watched(browser) as watch:
        yield watch, watch.open(trip)


@pytest.fixture
def inspector(opened: tuple[Watch, Page]) -> Generator[Page]:
    """The same page: nothing filtered, the first block chosen."""
    watch, page = opened
    page.fill("#find", "")
    page.select_option("#type", "")
    expect(_row(page, 1)).to_be_attached()
    page.focus("#raw")
    page.keyboard.press("Home")
    expect(_row(page, 1)).to_have_attribute("aria-selected", "true")
    yield page
    watch.check()


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


def test_a_link_opens_the_page_at_its_block(browser: Browser, trip: str) -> None:
    with watched(browser) as watch:
        page = watch.open(f"{trip}&block=5")
        expect(_row(page, 5)).to_have_attribute("aria-selected", "true")
        expect(page.locator("#block")).to_contain_text('"seq": 5')


def test_choosing_a_block_marks_what_the_model_sees_of_it(inspector: Page) -> None:
    _row(inspector, 4).click()
    expect(_row(inspector, 4)).to_have_attribute("aria-selected", "true")
    expect(inspector.locator("#block")).to_contain_text('"seq": 4')
    expect(inspector.locator(".seg[data-on]")).to_contain_text("[TOOL CALL one].call say")


def test_choosing_what_the_model_sees_marks_its_block(inspector: Page) -> None:
    inspector.locator(".seg", has_text="I look at five things").click()
    expect(_row(inspector, 3)).to_have_attribute("aria-selected", "true")
    inspector.focus("#view-body")
    inspector.keyboard.press("ArrowDown")
    expect(_row(inspector, 4)).to_have_attribute("aria-selected", "true")


def test_arrow_keys_go_through_the_blocks(inspector: Page) -> None:
    inspector.keyboard.press("ArrowDown")
    expect(_row(inspector, 2)).to_have_attribute("aria-selected", "true")
    inspector.keyboard.press("End")
    expect(inspector.locator("#raw tr[aria-selected=true]")).to_contain_text("timeline.turn")
    expect(inspector.locator("#raw")).to_be_focused()


def test_blocks_are_filtered_by_type_and_words(inspector: Page) -> None:
    inspector.select_option("#type", "react.notice")
    expect(inspector.locator("#raw tr[data-seq] .tag").first).to_have_text("error")
    inspector.select_option("#type", "")
    inspector.fill("#find", "FIRST result")
    expect(_row(inspector, 3)).to_have_count(0)
    expect(_row(inspector, 4)).to_be_visible()


def test_blocks_that_are_written_appear(inspector: Page, site: Site) -> None:
    expect(inspector.locator("#facts")).to_contain_text("live")
    site.say("Make one call", "trip")
    inspector.fill("#find", "the only result")
    expect(inspector.locator("#raw tr[data-seq]").first).to_be_visible()
    expect(inspector.locator("#tokens")).to_contain_text("tokens")


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


def test_a_timeline_is_checked_and_saved(inspector: Page, tmp_path: Path) -> None:
    inspector.click("#verify")
    expect(inspector.locator("#found")).to_contain_text(
        "every hash and every file is as it was written"
    )
    for button, name, start in (
        ("#save-page", "trip.html", "<!doctype html>"),
        ("#save-lines", "trip.jsonl", '{"format":"callblocks timeline"'),
    ):
        inspector.click("#export summary")
        with inspector.expect_download() as download:
            inspector.click(button)
        assert download.value.suggested_filename == name
        download.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_text("utf-8").lower().startswith(start)
    last = (tmp_path / "trip.jsonl").read_text("utf-8").splitlines()[-1]
    assert json.loads(last)["count"] > 10


def test_ten_thousand_blocks_are_a_few_hundred_nodes(page: Page, site: Site) -> None:
    site.service.host.store.append("big", list(_many(10_000)))
    page.goto(f"{site.url}/timeline?name=big")
    expect(page.locator("#count")).to_have_text("10,000 of 10,000", timeout=120_000)
    expect(page.locator(".seg").first).to_be_visible(timeout=120_000)
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
    page.click("#export summary")
    menu, sides = (page.locator(one).bounding_box() for one in (".export-list", "#show-raw"))
    assert menu
    assert sides
    assert menu["y"] > sides["y"] + sides["height"]


def test_nothing_is_wrong_for_those_who_hear(
    inspector: Page, axe: Callable[..., list[str]]
) -> None:
    _row(inspector, 4).click()
    inspector.click("#verify")
    expect(inspector.locator("#found")).to_contain_text("Verified")
    assert axe(inspector) == []


def test_without_timelines_it_says_so(page: Page, tmp_path: Path) -> None:
    with open_site(tmp_path / "site", SCRIPTS) as site:
        page.goto(f"{site.url}/timeline")
        expect(page.locator("#facts")).to_contain_text("No timelines yet")


def test_a_chat_is_offered_by_what_it_begins_with(inspector: Page) -> None:
    expect(inspector.locator("#name option[value=trip]")).to_have_text("Make five calls · trip")
