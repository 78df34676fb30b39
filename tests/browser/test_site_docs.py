"""The pages of the documentation about the element say what works."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from support.browser import Watch
from support.pages import ROOT, code_blocks
from support.site import Site

PAGE = ROOT / "docs" / "tasks" / "embed-call-blocks.md"
EXAMPLES = [
    block.text for block in code_blocks(PAGE.read_text("utf-8")) if block.language == "html"
]
SHOWN = {
    'id="reply"': "5 tool calls",
    'id="parts"': "tide_table",
    'id="text"': "tide_table",
}


def _embed(page: Page, site: Site, body: str) -> None:
    """Open a foreign page of the same server, without our policy for scripts."""
    html = f"<!doctype html><html lang=en><link rel=icon href='data:,'><body>{body}"
    page.route("**/embedded.html", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(f"{site.url}/embedded.html")


@pytest.mark.parametrize("mark", SHOWN)
def test_an_example_shows_a_batch(page: Page, site: Site, mark: str) -> None:
    (example,) = [one for one in EXAMPLES if mark in one]
    _embed(page, site, example)
    expect(page.locator("call-blocks summary")).to_contain_text(SHOWN[mark])


def test_the_example_for_answers_lets_the_call_run(page: Page, site: Site, watch: Watch) -> None:
    (stream,) = [one for one in EXAMPLES if 'id="reply"' in one]
    (answering,) = [one for one in EXAMPLES if "callblocks-answer" in one]
    _embed(page, site, stream.replace("Make five calls", "Edit the plan") + answering)
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_text("The tool said: wrote")).to_be_visible()
    assert (site.workspace / "plan.md").read_text("utf-8").startswith("# Plan")


def test_every_example_is_tried() -> None:
    assert len(EXAMPLES) == len(SHOWN) + 1
