"""Long chats, the end that is followed, a phone's drawer, and a server that wants a token."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Page, expect

from callblocks.core.blocks import Block
from support.browser import PHONE, Watch
from support.site import Site, open_site

SCRIPTS = Path(__file__).with_name("scripts")
TS = "2030-01-31T12:00:00Z"
TOKEN = "a-token-that-is-long-enough"
_TOP = "(at) => document.querySelectorAll('article')[at].getBoundingClientRect().top"


def say(page: Page, text: str) -> None:
    """Type and send."""
    page.get_by_role("textbox", name="Message", exact=True).fill(text)
    page.keyboard.press("Enter")


def _turn(turn: str) -> Iterator[Block]:
    for kind, author, text in (
        ("user.prompt", "user", f"What is in {turn}?"),
        ("assistant.completion", "assistant", "Two paragraphs.\n\nThis is the other one."),
        ("timeline.turn", "timeline", None),
    ):
        path = f"ar:{turn}.{kind}" if text else ""
        meta = {} if text else {"status": "answered"}
        yield Block(type=kind, author=author, turn_id=turn, ts=TS, path=path, text=text, meta=meta)


def test_earlier_messages_come_by_a_button_and_nothing_jumps(page: Page, site: Site) -> None:
    blocks = [block for at in range(40) for block in _turn(f"turn_{at + 1}")]
    site.service.host.store.append("trip", blocks)
    page.goto(site.page("trip"))
    expect(page.locator("article")).to_have_count(60)
    expect(page.get_by_text("20 earlier messages")).to_be_attached()
    earlier = page.get_by_role("button", name="Show 60").first
    earlier.scroll_into_view_if_needed()
    before = page.evaluate(_TOP, 0)
    earlier.click()
    expect(page.locator("article")).to_have_count(80)
    assert abs(page.evaluate(_TOP, 20) - before) < 2
    expect(earlier).to_be_hidden()


def test_the_end_is_followed_only_by_who_is_there(page: Page, site: Site) -> None:
    for _ in range(6):
        site.say("Show Markdown")
    page.goto(site.page("trip"))
    expect(page.locator("article")).to_have_count(12)
    say(page, "Speak slowly")
    expect(page.get_by_text("The first sentence is here.")).to_be_in_viewport()
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function("scrollY === 0")
    site.go_on()
    below = page.get_by_role("button", name="New below")
    expect(below).to_be_visible()
    assert page.evaluate("scrollY") == 0
    below.click()
    expect(below).to_be_hidden()
    site.go_on()
    expect(page.get_by_text("The third one is the last.")).to_be_in_viewport()


def test_the_sidebar_is_a_drawer_on_a_phone(profile: Callable[..., Watch], site: Site) -> None:
    site.say("Make one call")
    page = profile(viewport=PHONE, has_touch=True).open(site.page())
    side = page.get_by_role("complementary", name="Chats and pages")
    expect(side).to_be_hidden()
    page.get_by_role("button", name="Chats and pages").click()
    expect(side.get_by_role("link", name="Make one call")).to_be_visible()
    # However little room there is, the chats scroll and what is around them stays.
    page.set_viewport_size({"width": 390, "height": 420})
    brand = side.locator(".brand").bounding_box()
    assert brand
    assert (brand["y"], brand["height"]) == (0, 48)
    page.keyboard.press("Escape")
    expect(side).to_be_hidden()


def test_a_token_comes_once_in_the_address(page: Page, tmp_path: Path) -> None:
    with open_site(tmp_path / "site", SCRIPTS, token=TOKEN) as site:
        page.goto(f"{site.url}/#token={TOKEN}")
        say(page, "Make files")
        expect(page.get_by_text("There they are.")).to_be_visible()
        assert TOKEN not in page.url
        # A new tab of the same browser is let in, and no script has what lets it in.
        assert TOKEN not in page.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")
        assert page.evaluate("document.cookie") == ""
        page.get_by_role("link", name="Preview map.png").click()
        image = page.get_by_role("dialog").get_by_role("img", name="map.png")
        expect(image).to_have_js_property("complete", True)
        assert image.evaluate("(one) => one.naturalWidth") > 0
        page.keyboard.press("Escape")
        with page.expect_download() as shared:
            page.get_by_role("button", name="Share").click()
        assert "There they are." in shared.value.path().read_text("utf-8")
