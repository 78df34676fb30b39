"""The states of the pages, and the steps to each.

    STATES["approval"](page, site)          the page now shows a question

Each begins at an empty tab and waits until what it is about is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from playwright.sync_api import Page, expect

from support.site import Site

__all__ = ("STATES", "State", "ask", "open_batch", "read_text")

State: TypeAlias = Callable[[Page, Site], None]

_PLAN = "# Plan\n\n- cross at 05:40\n- take the ferry\n- come back by noon\n"
_SAMPLE = """I look at the tides first.

```tool tide_table low
input: {place: Holm Island}
```

Then I cross. 🛠️[weather Holm Island]
🛠️[/end]

```tool broken call
input: {place: [
```
"""


def ask(page: Page, site: Site, prompt: str) -> None:
    """Open the page and say something."""
    if not page.url.startswith(site.url):
        page.goto(site.page())
    box = page.locator("textarea#say")
    box.fill(prompt)
    box.press("Enter")


def open_batch(page: Page, words: str) -> None:
    """Open the batch whose header has these words."""
    head = page.locator("summary", has_text=words)
    head.click()
    expect(head.locator("xpath=..")).to_have_attribute("open", "")


def read_text(page: Page, text: str) -> None:
    """Put a text into the playground."""
    page.locator("#edit").click()
    page.locator("#editor").fill(text)
    page.locator("#edit").click()


def _empty(page: Page, site: Site) -> None:
    page.goto(site.page())
    expect(page.get_by_text("Make five calls").first).to_be_visible()


def _streaming(page: Page, site: Site) -> None:
    ask(page, site, "Speak slowly")
    expect(page.get_by_text("The first sentence is here.")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_visible()


def _running(page: Page, site: Site) -> None:
    ask(page, site, "Make a slow batch")
    expect(page.locator("summary", has_text="3 tool calls")).to_contain_text("wait")


def _running_opened(page: Page, site: Site) -> None:
    _running(page, site)
    open_batch(page, "3 tool calls")
    expect(page.locator("li.call[data-state=pending]")).to_be_visible()


def _opened(page: Page, site: Site) -> None:
    ask(page, site, "Make five calls")
    expect(page.get_by_text("All five came back: first result.")).to_be_visible()
    open_batch(page, "5 tool calls")


def _failures(page: Page, site: Site) -> None:
    ask(page, site, "Make failing calls")
    expect(page.get_by_text("Two failed.")).to_be_visible()
    open_batch(page, "3 tool calls")


def _approval(page: Page, site: Site) -> None:
    (site.workspace / "plan.md").write_text(_PLAN, "utf-8")
    ask(page, site, "Edit the plan")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()


def _answered(page: Page, site: Site) -> None:
    _approval(page, site)
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("The tool said: wrote")).to_be_visible()


def _files(page: Page, site: Site) -> None:
    ask(page, site, "Make files")
    expect(page.get_by_text("There they are.")).to_be_visible()
    expect(page.locator(".artifact")).to_have_count(6)


def _previewed(prompt: str, name: str) -> State:
    def preview(page: Page, site: Site) -> None:
        ask(page, site, prompt)
        card = page.locator(".artifact", has_text=name)
        card.get_by_text("Preview", exact=True).click()
        expect(page.get_by_role("dialog")).to_be_visible()

    return preview


def _said(prompt: str, words: str) -> State:
    def say(page: Page, site: Site) -> None:
        ask(page, site, prompt)
        expect(page.get_by_text(words).first).to_be_visible()

    return say


def _lost(page: Page, site: Site) -> None:
    _running(page, site)
    page.context.set_offline(True)
    site.cut()
    expect(page.locator(".banner")).to_be_visible()


def _playground(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/playground")
    read_text(page, _SAMPLE)
    expect(page.locator("#events").get_by_text("tide_table").first).to_be_visible()


def _inspector(page: Page, site: Site) -> None:
    site.say("Make five calls", "trip")
    page.goto(f"{site.url}/timeline?name=trip")
    expect(page.get_by_role("gridcell", name="react.tool.call").first).to_be_visible()


def _keys(page: Page, site: Site) -> None:
    page.goto(site.page())
    page.locator("h1").click()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def _shared(page: Page, site: Site) -> None:
    site.say("Make five calls", "trip")
    page.goto(f"{site.url}/api/timelines/trip/page")
    expect(page.get_by_text("All five came back").first).to_be_visible()


def _versions(page: Page, site: Site) -> None:
    site.say("When is low water?", "tides")
    page.goto(site.page("tides"))
    page.get_by_role("button", name="Edit").click()
    page.locator("form.edit textarea").fill("When is low water at Holm Island?")
    page.locator("form.edit").get_by_role("button", name="Send").click()
    expect(page.get_by_role("group", name="Versions of your message")).to_contain_text("2/2")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    page.get_by_role("button", name="Edit").click()


def _search(page: Page, site: Site) -> None:
    site.say("When is low water at Holm Island?", "tides")
    site.say("Make one call", "trip")
    page.goto(site.page("trip"))
    if page.get_by_role("button", name="Chats and pages").is_visible():
        page.get_by_role("button", name="Chats and pages").click()
    page.get_by_role("searchbox", name="Search all chats").fill("low wat")
    expect(page.get_by_text("1 chat found")).to_be_visible()


def _results(page: Page, site: Site) -> None:
    ask(page, site, "Show results")
    expect(page.get_by_text("That is all that my script says.")).to_be_visible()
    open_batch(page, "3 tool calls")


def _rich(page: Page, site: Site) -> None:
    ask(page, site, "Show rich text")
    expect(page.locator(".diagram img")).to_be_visible()
    expect(page.locator(".prose math")).to_be_visible()


def _settings(page: Page, site: Site) -> None:
    page.goto(f"{site.url}/settings")
    expect(page.locator(".tool").first).to_be_visible()


STATES: dict[str, State] = {
    "empty": _empty,
    "streaming": _streaming,
    "running": _running,
    "running-opened": _running_opened,
    "opened": _opened,
    "failures": _failures,
    "approval": _approval,
    "answered": _answered,
    "files": _files,
    "preview-pdf": _previewed("Make files", "tides.pdf"),
    "preview-table": _previewed("Make files", "tides.csv"),
    "preview-text": _previewed("Make files", "plan.md"),
    "thinking": _said("Think first", "Cross at"),
    "markdown": _said("Show Markdown", "The sea does not wait."),
    "lost": _lost,
    "playground": _playground,
    "inspector": _inspector,
    "keys": _keys,
    "versions": _versions,
    "search": _search,
    "results": _results,
    "rich": _rich,
    "settings": _settings,
    "shared": _shared,
}
"""By name: all that is drawn."""
