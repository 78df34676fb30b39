"""Cards that ask: in view, complete, and no yes to what was not shown."""

from __future__ import annotations

import json
from collections.abc import Callable

from playwright.sync_api import Page, expect

from support.browser import PHONE, Watch
from support.site import Site

Axe = Callable[..., list[str]]


def ask(page: Page, site: Site, tool: str, **input: object) -> None:
    """Let the model call a tool that is asked about."""
    site.script("please", f"I try.\n\n```tool {tool} one\n{json.dumps({'input': input})}\n```\n")
    page.goto(site.page())
    box = page.get_by_role("textbox", name="Message", exact=True)
    box.fill("please")
    box.press("Enter")
    expect(page.locator(".ask")).to_be_visible(timeout=120_000)


def in_view(page: Page) -> tuple[bool, bool]:
    """Whether the question, and the answers, are on the screen and covered by nothing."""
    boxes = (page.locator(one).bounding_box() for one in (".ask > summary", ".ask-foot"))
    top, foot = (box or {"y": -1.0, "height": 0.0} for box in boxes)
    bar = page.locator(".top").bounding_box() or {"y": 0.0, "height": 0.0}
    dock = page.locator(".dock").bounding_box() or {"y": 0.0}
    return (
        top["y"] >= bar["y"] + bar["height"] - 1,
        foot["y"] + foot["height"] <= dock["y"] + 1,
    )


def test_a_file_of_800_lines_is_a_short_card_whose_answers_wait_for_the_rest(
    page: Page, site: Site, axe: Axe
) -> None:
    ask(page, site, "file_write", path="long.md", content="x\n" * 812)
    expect(page.locator(".ask-what")).to_contain_text("long.md changes: +812, a new file")
    expect(page.locator("figcaption")).to_contain_text("new file, 812 lines, 40 shown")
    approve = page.get_by_role("button", name="Approve")
    expect(approve).to_have_attribute("aria-disabled", "true")
    expect(page.locator(".ask-note")).to_contain_text("772 of 812 lines were not shown yet.")
    approve.click(force=True)
    assert not (site.workspace / "long.md").exists()
    card = page.locator(".ask").bounding_box()
    assert card is not None
    assert card["height"] < 1200
    page.get_by_role("button", name="Show the other 772 lines").click()
    expect(page.locator(".rows > span")).to_have_count(812)
    expect(page.locator("figcaption")).to_contain_text("all shown")
    for share in (0.1, 0.3, 0.6, 0.9):
        page.evaluate("s => scrollTo(0, document.body.scrollHeight * s)", share)
        assert in_view(page) == (True, True), share
    assert axe(page) == []
    approve.click()
    expect(page.locator("details.answered")).to_contain_text("approved by you")
    assert (site.workspace / "long.md").read_text().count("\n") == 812


def test_a_change_comes_first_and_its_counts_add_up(page: Page, site: Site) -> None:
    old = [f"row {at}" for at in range(1, 416)]
    (site.workspace / "plan.md").write_text("\n".join(old) + "\n")
    new = [*old[:13], "fourteen", "and a half", *old[14:300], *old[302:]]
    ask(page, site, "file_write", path="plan.md", content="\n".join(new) + "\n")
    expect(page.locator(".ask-what")).to_contain_text("plan.md changes: +2 −3, 412 lines stay")
    expect(page.locator("figcaption").first).to_contain_text("2 places, 5 changed lines, all shown")
    stays = page.locator(".run > summary")
    expect(stays).to_have_text(
        [f"{count} unchanged lines (show)(hide)" for count in (10, 280, 110)]
    )
    stays.first.click()
    expect(page.locator(".run > div > span")).to_have_count(10)
    whole = page.locator("details.whole")
    expect(whole).to_contain_text("content · 414 lines")
    whole.locator("summary").click()
    text = page.locator(".whole-text").bounding_box()
    assert text is not None
    assert text["height"] <= 18 * 16 + 1
    approve = page.get_by_role("button", name="Approve")
    expect(approve).not_to_have_attribute("aria-disabled", "true")


def test_blank_lines_and_invisible_characters_push_nothing_away(page: Page, site: Site) -> None:
    command = "echo a" + "\n" * 400 + "touch\u00a0b\u202e\r; echo c"
    ask(page, site, "act", what=command)
    expect(page.locator(".cmd figcaption")).to_contain_text("401 lines · 423 characters, all shown")
    rows = page.locator(".cmd .rows > span")
    expect(rows).to_have_text(["echo a", "⟨399 blank lines⟩", "touch⟨U+00A0⟩b⟨U+202E⟩␍; echo c"])


# Somebody who looks elsewhere, and once said that they want to be told.
AWAY = """
localStorage.setItem("callblocks.notify", "true");
globalThis.look = "hidden";
Object.defineProperty(document, "visibilityState", { get: () => look });
globalThis.told = [];
globalThis.Notification = class extends EventTarget {
  static permission = "granted";
  constructor(words, { body }) { super(); told.push(`${words}: ${body}`); }
};
"""


def test_the_tab_and_a_notification_say_that_somebody_waits(page: Page, site: Site) -> None:
    page.add_init_script(AWAY)
    ask(page, site, "act", what="one thing")
    expect(page).to_have_title("1 to approve · please")
    assert page.evaluate("() => told") == ["A call waits for you: please"]
    page.get_by_label("Reason for denying").fill("not today")
    page.get_by_role("button", name="Deny").click()
    expect(page).to_have_title("Done · please")
    page.evaluate(
        "() => { look = 'visible'; document.dispatchEvent(new Event('visibilitychange')); }"
    )
    expect(page).to_have_title("please · callblocks")
    batch = page.locator("details.batch")
    expect(batch.locator("summary")).to_contain_text("act, not run")
    batch.locator("summary").click()
    expect(batch.locator(".call")).to_have_attribute("data-state", "not-run")
    expect(batch.locator(".call-out")).to_have_text("denied by you: not today")


def test_what_hides_something_cannot_be_approved(page: Page, site: Site) -> None:
    ask(page, site, "act", what='password="$(touch PWNED)" true')
    expect(page.locator(".ask-note")).to_contain_text("covered as a secret")
    expect(page.get_by_role("button", name="Approve")).to_have_attribute("aria-disabled", "true")
    page.reload()
    expect(page.locator(".ask-note")).to_contain_text("covered as a secret")


def test_a_phone_has_the_answers_in_one_row(
    profile: Callable[..., Watch], site: Site, axe: Axe
) -> None:
    page = profile(viewport=PHONE, color_scheme="dark").open()
    ask(page, site, "file_write", path="long.md", content="line of some words\n" * 150)
    assert in_view(page)[1]
    assert axe(page) == []
    page.get_by_role("button", name="Deny").click()
    page.get_by_label("Reason for denying").press("Escape")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    page.get_by_role("button", name="Deny").click()
    page.get_by_label("Reason for denying").fill("no")
    page.get_by_role("button", name="Deny").click()
    expect(page.locator("details.answered")).to_contain_text("denied by you: no")


def test_a_line_above_the_composer_leads_to_a_card_that_is_scrolled_away(
    page: Page, site: Site, axe: Axe
) -> None:
    ask(page, site, "file_write", path="long.md", content="x\n" * 812)
    page.get_by_role("button", name="Show the other 772 lines").click()
    bar = page.locator(".waiting-bar")
    expect(bar).to_be_hidden()
    # The message before the card makes room enough to scroll it away.
    page.evaluate("document.querySelector('.talk').style.paddingTop = '3000px'")
    page.evaluate("scrollTo(0, 0)")
    expect(bar).to_contain_text("1 call waits for you")
    assert axe(page) == []
    bar.get_by_role("button", name="Show").click()
    expect(bar).to_be_hidden()
    assert in_view(page) == (True, True)
    page.get_by_role("button", name="Deny").click()
    expect(page.locator("details.answered")).to_be_visible()
    page.evaluate("scrollTo(0, 0)")
    expect(bar).to_be_hidden()
