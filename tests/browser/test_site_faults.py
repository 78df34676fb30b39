"""What must not lose anything: reloads, answers in another tab, a page that is offline."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from support.browser import Watch
from support.page_states import ask, open_batch
from support.site import Site

_KEPT = "Object.keys(sessionStorage).some((key) => key.startsWith('callblocks.open.'))"
_GONE = r"Failed to load resource|ERR_"


def test_what_was_opened_is_open_after_a_reload(page: Page, site: Site) -> None:
    ask(page, site, "Make five calls")
    expect(page.get_by_text("All five came back")).to_be_visible()
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    open_batch(page, "5 tool calls")
    # A browser says that something was opened a moment after it is.
    page.wait_for_function(_KEPT)
    page.reload()
    expect(page.locator("li.call", has_text="second result")).to_be_visible()


def test_an_answer_in_one_tab_is_seen_in_the_other(watch: Watch, site: Site) -> None:
    one = watch.open()
    ask(one, site, "Edit the plan")
    expect(one.get_by_role("button", name="Approve")).to_be_visible()
    two = watch.open(one.url)
    two.get_by_role("button", name="Approve").click()
    for page in (one, two):
        expect(page.get_by_text("The tool said: wrote")).to_have_count(1)
        expect(page.get_by_role("button", name="Approve")).to_have_count(0)


def test_a_page_that_was_offline_catches_up_by_itself(page: Page, site: Site, watch: Watch) -> None:
    watch.expect(_GONE)
    ask(page, site, "Make a slow batch")
    expect(page.locator("summary", has_text="3 tool calls")).to_be_visible()
    page.context.set_offline(True)
    site.cut()
    expect(page.locator(".banner")).to_be_visible()
    site.let_go("slow")
    page.context.set_offline(False)
    expect(page.get_by_text("It is done: slow result.")).to_have_count(1, timeout=120_000)
    expect(page.locator(".banner")).to_be_hidden()
