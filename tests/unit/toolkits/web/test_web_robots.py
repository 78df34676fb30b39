"""What a robots.txt says to us is heard; what it says to others costs nothing."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from callblocks.core.errors import ToolError
from callblocks.toolkits.web import fetch as robots
from callblocks.toolkits.web.fetch import AGENT, for_us, read_rules
from support.sites import Asked, ok, redirect
from support.web_world import a_web, text

AGENTS = ("*", AGENT, "CallBlocks", f"{AGENT}*", "googlebot", "other*", "a b", "")
NAMES = (
    "User-agent: {}",
    "user-agent:{}",
    "useragent {}",
    "User Agent : {} # all",
    "\tUSER-AGENT {}",
)
PATHS = ("/", "/a", "/a/*b", "/*.x$", "/b")
LINES = st.one_of(
    st.builds(str.format, st.sampled_from(NAMES), st.sampled_from(AGENTS)),
    st.builds(str.format, st.sampled_from(("Allow: {}", "disallow:{}")), st.sampled_from(PATHS)),
    st.sampled_from(
        ("", "# User-agent: *", "Sitemap: https://a.test/b", "Crawl-delay: 5", "no: x")
    ),
)


@given(st.lists(LINES, max_size=14))
@settings(max_examples=150)
def test_we_may_read_what_the_whole_file_lets_us_read(lines: list[str]) -> None:
    whole = Protego.parse("\n".join(lines))
    ours = read_rules("\n".join(lines))
    for path in ("/", "/a", "/a/cb", "/b.x", "/c"):
        url = f"https://a.test{path}"
        assert ours.can_fetch(url, AGENT) == whole.can_fetch(url, AGENT)


def test_thousands_of_programs_are_one() -> None:
    """Each rule is noted once for each of them: 2,000 by 4,000 took half a gigabyte."""
    agents = "".join(
        f"{name} p{at}\n" for at in range(500) for name in ("useragent", "User agent:")
    )
    said = for_us(agents + "User-agent: *\n" + "disallow: /a\n" * 100)
    assert {*re.findall("User-agent: (.*)", said)} == {"another", "*"}
    assert not re.search(r"\bp\d", said)


def test_no_more_is_remembered_of_sites_than_there_is_room(tmp_path: Path) -> None:
    """A port is a site of its own: whoever has one host has thousands of them."""
    rules = "User-agent: *\nDisallow: /private\n"
    long = f"{rules}{'#' * (robots._SIZE - len(rules))}"

    def answer(asked: Asked) -> bytes:
        return text(long) if asked.target == "/robots.txt" else text("page")

    with a_web(tmp_path, answer) as web:
        for port in (8001, 8002, 8003, 8004, 8005, 8005, 8001):
            assert web.codes(f"http://public.test:{port}/a") == {f"http://public.test:{port}/a": ""}
        hosts = [one.headers["host"] for one in web.site.asked if one.target == "/robots.txt"]
    assert [host[-1] for host in hosts] == ["1", "2", "3", "4", "5", "1"]


def test_what_one_policy_forbids_is_not_remembered_for_another(tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:
        far = redirect("http://second.test/r")
        return far if asked.target == "/robots.txt" else ok(b"", 404)

    with a_web(tmp_path, answer) as web:
        site = robots.Robots(web.net.client(deadline=20.0))

        async def ask(refusal: str | None) -> str:
            try:
                await site.enter("http://public.test/a", lambda _: refusal)
            except ToolError as error:
                return error.code
            return ""

        assert asyncio.run(ask("no")) == "robots_denied"
        assert asyncio.run(ask(None)) == ""
