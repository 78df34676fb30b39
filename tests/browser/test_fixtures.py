"""What tests in a browser stand on: scripts that play, and faults that are seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser

from support.browser import Watch, watched
from support.chat_server import chunks, said
from support.site import Site

_ICON = r"Failed to load resource"


def test_a_script_stops_at_a_pause_until_it_is_let_go_on(site: Site) -> None:
    with site.streaming("Speak slowly") as stream:
        first = next(one for one in stream if one["type"] == "text-delta")
        site.go_on()
        site.go_on()
        assert said([first, *stream]).endswith("The third one is the last.")


def test_a_call_waits_until_it_is_let_go(site: Site) -> None:
    site.let_go("slow")
    assert "slow result" in said(chunks(site.say("Make a slow batch")))


def test_no_script_is_broken(site: Site) -> None:
    assert site.model.broken == {}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("setTimeout(() => { throw new Error('oh') })", "raised: .*oh"),
        ("console.error('oh')", r"\boh\b"),
        ("void fetch('http://203.0.113.1/').catch(() => 0)", "foreign host"),
    ],
)
def test_a_fault_of_a_page_is_seen(browser: Browser, site: Site, fault: str, words: str) -> None:
    with watched(browser) as watch:
        page = watch.open(f"{site.url}/api/health")
        page.evaluate(f"() => {{ {fault} }}")
        page.wait_for_timeout(20)
        watch.expect(_ICON)
        with pytest.raises(AssertionError, match=words):
            watch.check()
        watch.expect(words)


def test_a_fault_that_a_test_expects_is_none(profile: Callable[..., Watch], site: Site) -> None:
    watch = profile()
    watch.expect(_ICON, "^oh$")
    watch.open(f"{site.url}/api/health").evaluate("() => console.error('oh')")
