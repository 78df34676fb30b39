"""Results as people read them, and what can be done with one call."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from support.browser import PHONE, Watch
from support.element import Stage, open_stage
from support.page_states import ask
from support.site import Site

STATION = {
    "station": "Holm Island",
    "token": "hunter2hunter2",
    "forecast": [0.4, 3.9],
    "warning": None,
}
ROWS = [{"date": f"2026-11-{at}", "low": at, "remark": None} for at in range(10, 30)]
PRINTED = {"exit_code": 2, "stdout": "reading\n124 rows\n", "stderr": "no module named svgwrite\n"}


def call(id: str, output: Any, **more: Any) -> dict[str, Any]:
    base = {"type": "dynamic-tool", "toolCallId": id, "toolName": "fetch", "input": {"n": 1}}
    took = {"callProviderMetadata": {"callblocks": {"seconds": 0.014}}}
    return {**base, **took, "state": "output-available", "output": output, **more}


def opened(stage: Stage, *parts: dict[str, Any]) -> None:
    stage.show(list(parts))
    stage.find("summary").first.click()


@pytest.fixture
def stage(page: Page) -> Stage:
    return open_stage(page)


def test_json_is_a_tree_and_as_it_came(stage: Stage) -> None:
    opened(stage, call("1", STATION))
    tree = stage.find(".tree").first
    expect(tree).to_contain_text('station"Holm Island"')
    expect(tree).not_to_contain_text("hunter2")
    forecast = stage.find(".tree summary")
    expect(forecast).to_contain_text("2 items")
    forecast.click()
    expect(tree).to_contain_text("3.9")
    stage.find(".res").get_by_role("button", name="Raw").click()
    expect(tree).to_be_hidden()
    expect(stage.find("pre.call-result")).to_contain_text('"forecast": [0.4, 3.9]')


def test_json_that_is_written_as_text_is_a_tree_too(stage: Stage) -> None:
    opened(stage, call("1", json.dumps({"a": {"b": [1]}}, indent=2)))
    expect(stage.find(".tree summary")).to_contain_text("a1 field")


def test_rows_are_a_table_that_says_how_large_it_is(stage: Stage) -> None:
    opened(stage, call("1", ROWS))
    expect(stage.find(".res-head")).to_contain_text("table · 20 rows × 3 columns, 4 shown")
    expect(stage.find("tbody tr")).to_have_count(4)
    stage.find("button").get_by_text("All rows").click()
    expect(stage.find("tbody tr")).to_have_count(20)
    expect(stage.find("th.num")).to_have_text(["low", "remark"])


def test_a_command_has_its_lines_and_those_of_the_error_stream_are_named(stage: Stage) -> None:
    opened(stage, call("1", PRINTED))
    expect(stage.find(".res-head")).to_have_text(
        "terminal · exit 2 · 3 lines, 1 to the error stream"
    )
    assert stage.find(".term > span").all_text_contents() == [
        "reading",
        "124 rows",
        "error stream: no module named svgwrite",
    ]


def test_a_folded_batch_names_its_tools_and_says_how_long_it_took(stage: Stage) -> None:
    names = ("read", "read", "fetch", "write")
    stage.show([call(str(at), "ok", toolName=name) for at, name in enumerate(names)])
    expect(stage.find(".batch-label")).to_have_text("read ×2, fetch, write · 4 tool calls · 14 ms")


def test_a_call_is_copied_and_cancelled_by_the_page(stage: Stage) -> None:
    going = call("2", None, state="input-available", toolName="wait")
    stage.element.evaluate("(node) => { node.callActions = ['copy', 'cancel', 'again']; }")
    script = """(node) => {
      window.asked = [];
      const note = ({ detail }) => window.asked.push([detail.action, detail.call.id]);
      node.addEventListener("callblocks-call", note);
    }"""
    stage.element.evaluate(script)
    failed = call("3", None, state="output-error", errorText="exit_1: no")
    stage.show([call("1", "ok"), going, failed], live=True)
    stage.find("summary").click()
    stage.find(".call").get_by_role("button", name="Cancel: wait").click()
    stage.find(".call").get_by_role("button", name="Run again: fetch", exact=True).click()
    assert stage.page.evaluate("() => window.asked") == [["cancel", "2"], ["again", "3"]]
    stage.find(".call").first.get_by_role("button", name="Copy or run again").click()
    menu = stage.find(".menu-pop")
    expect(menu.get_by_role("button")).to_have_text(
        ["Copy the call", "Copy the result", "Run again"]
    )


def test_twenty_thousand_lines_are_quick_to_open(stage: Stage) -> None:
    diff = "".join(f"+line {at}\n" for at in range(20_000))
    opened(
        stage, call("1", {"exit_code": 0, "stdout": diff[:150_000], "stderr": ""}), call("2", diff)
    )
    assert stage.element.evaluate("(node) => node.shadowRoot.querySelectorAll('*').length") < 200


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_axe_finds_nothing(
    profile: Callable[..., Watch], axe: Callable[..., list[str]], look: str
) -> None:
    options = {"viewport": PHONE} if look == "phone" else {}
    page = profile(color_scheme="dark" if look == "dark" else "light", **options).open()
    stage = open_stage(page)
    opened(stage, call("1", STATION), call("2", ROWS), call("3", PRINTED))
    assert axe(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_one_call_of_a_turn_is_cancelled_and_made_again(page: Page, site: Site) -> None:
    ask(page, site, "Make a slow batch")
    page.locator("details.batch summary").click()
    page.get_by_role("button", name="Cancel: wait").click()
    line = page.locator("li.call", has_text="wait").first
    expect(line).to_contain_text("was stopped before it finished")
    expect(page.get_by_role("button", name="Send")).to_be_visible()
    page.get_by_role("button", name="Run again: wait", exact=True).click()
    expect(page.get_by_text("Run wait again, as you called it before")).to_be_visible()
