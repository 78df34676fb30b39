"""Pages of a real server on loopback, read through the guarded client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callblocks.core.events import CallTold
from callblocks.core.outcomes import Outcome
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.runtime.judgement import Progress, Turn
from support.search_files import pdf_of
from support.sites import Asked, ok, redirect
from support.tool_runtime import call, run_one
from support.web_world import HOST, Web, a_web, html, text

MENU = "<nav><a href=/>Home</a> <a href=/shop>Shop</a> <a href=/about>About</a></nav>"
STORY = "<p>High water on day {} is at six, and low water a little after noon, says the table.</p>"
STORIES = "".join(STORY.format(day) for day in range(1, 9))
ARTICLE = f"{MENU}<article><h1>Tides</h1>{STORIES}</article><footer>© us</footer>"
HEAD = '<title>Tides of May</title><meta property="article:published_time" content="2024-05-01">'


def test_the_main_text_of_a_page_its_title_and_date_are_given(tmp_path: Path) -> None:
    cyrillic = "<meta charset=windows-1251><title>Прилив</title>Высокая вода"
    answers = {
        "/tides": html(ARTICLE, HEAD),
        "/short": html("Low at noon", "<title> A \n short\x07 one</title>"),
        "/bare": ok(f"{HEAD}{ARTICLE}".encode(), content_type="text/html"),
        "/broken": ok(b"<p>un<b>closed <table><td>cell", content_type="text/html"),
        "/wrong": ok(cyrillic.encode("cp1251"), content_type="text/html; charset=utf-8"),
        "/paper": ok(pdf_of("page one", "page two"), content_type="application/octet-stream"),
        "/empty": html("", "<title>Only scripts</title>"),
    }
    with a_web(tmp_path, answers) as web:
        pages = web.fetch(*answers)
    tides = pages["/tides"]
    assert pages["/bare"]["content"] == tides["content"]
    assert (tides["title"], tides["date"]) == ("Tides", "2024-05-01")
    assert tides["content"].startswith("# Tides\n\nHigh water on day 1 ")
    assert tides["content"].count("High water on day") == 8
    assert "Shop" not in tides["content"]
    assert "©" not in tides["content"]
    assert pages["/short"]["title"] == "A short one"
    assert pages["/short"]["content"] == "Low at noon"
    assert "cell" in pages["/broken"]["content"]
    assert "Высокая вода" in pages["/wrong"]["content"]
    assert pages["/wrong"]["title"] == "Прилив"
    assert pages["/paper"]["content"] == "page one\n\npage two"
    assert pages["/empty"]["error"]["code"] == "no_text"
    assert "public.test: page 1 of 2\n" in web.said


KINDS = {
    "/plain": (text("grün".encode("cp1252"), content_type="text/plain; charset=latin-1"), "grün"),
    "/json": (ok(b'{"a": 1}', content_type="application/json"), '{"a": 1}'),
    "/code": (text("<html> as it is written"), "<html> as it is written"),
    "/unsaid": (ok(b"words"), "words"),
    "/control": (text("a\x1b[2Jb\0c"), "a [2Jb\ufffdc"),
}
REFUSED = {
    "/picture": (ok(b"\x89PNG\r\n", content_type="image/png"), "unsupported_type"),
    "/zip": (ok(b"PK\3\4\0\0", content_type="application/zip"), "unsupported_type"),
    "/bytes": (ok(b"\0\1\2"), "unsupported_type"),
    "/odd": (ok(b"x", content_type="a b\tc;"), "unsupported_type"),
    "/none": (ok(b"gone", 404), "http_error"),
    "/fault": (ok(b"sorry", 500), "http_error"),
    "/nothing": (text("  \n"), "no_text"),
}


def test_what_is_text_is_read_and_what_is_not_has_a_code(tmp_path: Path) -> None:
    answers = {path: answer for path, (answer, _) in (*KINDS.items(), *REFUSED.items())}
    with a_web(tmp_path, answers) as web:
        pages = web.fetch(*answers)
    assert {path: pages[path].get("content") for path in KINDS} == {
        path: said for path, (_, said) in KINDS.items()
    }
    assert {path: pages[path]["error"]["code"] for path in REFUSED} == {
        path: code for path, (_, code) in REFUSED.items()
    }


def test_pages_that_fail_leave_the_others_and_only_a_call_of_none_fails(tmp_path: Path) -> None:
    with a_web(tmp_path, {"/a": text("A")}) as web:
        some = web.call("web_fetch", urls=[f"{HOST}/a", f"{HOST}/b"])
        none = web.call("web_fetch", urls=[f"{HOST}/b", "file:///etc/passwd"])
    assert (some["ok"], some["error"]) == (True, None)
    assert [*some["ret"]] == [f"{HOST}/a", f"{HOST}/b"]
    assert not none["ok"]
    assert none["error"]["code"] == "http_error"
    message = none["error"]["message"]
    assert message.startswith(
        "none of 2 pages could be read: the server answered with status 404; "
    )
    assert "file:///etc/passwd" in message
    assert none["ret"]["file:///etc/passwd"]["error"]["code"] == "invalid_url"


def test_one_page_is_read_once_under_all_its_spellings(tmp_path: Path) -> None:
    with a_web(tmp_path, {"/a": text("A")}) as web:
        pages = web.fetch("/a", "/a#part", "/a?utm_source=mail")
    assert web.targets == ["/a"]
    assert pages["/a"]["content"] == "A"
    assert pages["/a#part"] == pages["/a?utm_source=mail"] == {"same_as": f"{HOST}/a"}


def test_how_far_it_is_is_told_by_page_and_for_long_ones_by_bytes(tmp_path: Path) -> None:
    answers = {"/long": text("x" * 2_500_000), "/b": text("B")}
    with a_web(tmp_path, answers) as web:
        pages = web.fetch("/b", "/c", "/long")
    counts, ends = zip(
        *(line.split(": public.test, ") for line in web.said if "page" in line), strict=True
    )
    assert counts == ("page 1 of 3", "page 2 of 3", "page 3 of 3")
    assert {*ends} == {"1 bytes\n", "http_error\n", "2,500,000 bytes\n"}
    long = [line for line in web.said if "page" not in line]
    assert [line.split(",")[0] for line in long] == ["public.test: 1", "public.test: 2"]
    assert len(pages["/long"]["content"]) == 300_000
    assert "300,000" in pages["/long"]["cut"]


def test_where_a_page_came_from_in_the_end_is_said(tmp_path: Path) -> None:
    with a_web(tmp_path, {"/a": redirect("/b"), "/b": text("B")}) as web:
        page = web.fetch("/a")["/a"]
    assert (page["content"], page["final_url"]) == ("B", f"{HOST}/b")


HOSTS = [(("public.test",), "policy_denied"), (("*.test",), "")]


def run_fetch(web: Web, policy: Policy, said: list[Progress], turn: Turn | None = None) -> Outcome:
    one = call("web_tools.web_fetch", urls=[f"{HOST}/a", f"{HOST}/b"])
    return run_one(web.tools.values(), one, policy=policy, listen=said.append, turn=turn)


@pytest.mark.parametrize(("hosts", "code"), HOSTS)
@pytest.mark.parametrize("by", ["host", "argument"])
def test_the_policy_judges_every_hop_of_every_page(
    hosts: tuple[str, ...], code: str, by: str, tmp_path: Path
) -> None:
    patterns = tuple(f'[[]"http://{host}/*"]' for host in hosts)
    pairs = tuple(f'[[]"http://{host}/*","http://{host}/*"]' for host in hosts)
    rule: dict[str, Any] = {"host": hosts}
    if by == "argument":
        rule = {"argument": {"urls": (*patterns, *pairs)}}
    policy = Policy((Rule(decide="allow", tool=("web_tools.web_fetch",), **rule),))
    answers = {"/a": text("A"), "/b": redirect("http://second.test/c"), "/c": text("C")}
    said: list[Progress] = []
    turn = Turn()
    with a_web(tmp_path, answers, robots=False) as web:
        outcome = run_fetch(web, policy, said, turn)
        reached = "/c" in web.targets
    assert outcome.ok
    second = outcome.output[f"{HOST}/b"]
    assert second.get("error", {}).get("code", "") == code
    assert reached == (not code)
    assert outcome.output[f"{HOST}/a"]["content"] == "A"
    assert "the page of public.test" in turn.tainted
    assert any(isinstance(one, CallTold) and "of 2" in one.text for one in said)


def test_who_is_asked_sees_which_servers_an_address_means(tmp_path: Path) -> None:
    """Letters of another alphabet look the same; the policy and the network know the difference."""
    with a_web(tmp_path, {}) as web:
        preview = web.tools["web_tools.web_fetch"].preview
    assert preview is not None
    urls = [
        "https://b\u0430nk.test/in",
        "http://bank.test:8080/",
        "http://bank.test:8080/x",
        "ftp:x",
    ]
    assert preview(urls=urls).split("\n") == [
        "asks, and others only where a rule allows it:",
        "  https://xn--bnk-6cd.test",
        "  http://bank.test:8080",
        "  nobody, for an address that cannot be asked",
    ]


def test_without_a_rule_nothing_is_fetched_and_nobody_is_led_around(tmp_path: Path) -> None:
    with a_web(tmp_path, {"/a": text("A")}) as web:
        for policy in (
            Policy(()),
            Policy((Rule(decide="allow", trait=("read_only",)),)),
            Policy((Rule(decide="allow", tool=("web_tools.*",)),)),
            Policy((Rule(decide="allow", tool=("web_tools.web_fetch",), host=("other.test",)),)),
        ):
            assert not run_fetch(web, policy, []).ok
    assert web.site.met == 0


def test_a_policy_knows_what_the_tools_are(tmp_path: Path) -> None:
    with a_web(tmp_path, {}) as web:
        for tool in web.tools.values():
            assert tool.traits.names() == ("read_only", "idempotent", "open_world", "source")
            assert tool.origin == "builtin"
            assert tool.brings_text_of_others
        fetch = web.tools["web_tools.web_fetch"]
        assert fetch.parameters_of_format("uri") == ("urls",)
        assert fetch.needs_approval


ROBOTS = "User-agent: *\nDisallow: /private\nAllow: /private/open\nDisallow: /*.cgi$\n"


def test_a_site_says_which_pages_programs_may_read(tmp_path: Path) -> None:
    asked = {"/a": text("A"), "/private/x": text("X"), "/private/open": text("O")}
    asked |= {"/x.cgi": text("C"), "/in": redirect("/private/x")}
    with a_web(tmp_path, {"/robots.txt": text(ROBOTS), **asked}) as web:
        assert web.codes(*asked) == {
            "/a": "",
            "/private/x": "robots_denied",
            "/private/open": "",
            "/x.cgi": "robots_denied",
            "/in": "robots_denied",
        }
        assert [one.target for one in web.site.asked].count("/robots.txt") == 1
        assert sorted(web.targets) == ["/a", "/in", "/private/open"]
    with a_web(tmp_path, {"/robots.txt": text(ROBOTS), **asked}, robots=False) as web:
        assert {*web.codes(*asked).values()} == {""}
        assert "/robots.txt" not in [one.target for one in web.site.asked]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (ok(b"", 404), ""),
        (ok(b"", 401), ""),
        (ok(b"", 503), "robots_denied"),
        (redirect("/robots.txt"), ""),
        (text("User-agent: callblocks\nDisallow: /"), "robots_denied"),
        (text("User-agent: other\nDisallow: /"), ""),
        (text(b"\xff\xfe\0garbage\nDisallow"), ""),
        (text(b"#" * 600_000 + b"\nUser-agent: *\nDisallow: /"), ""),
        (text(b"#" * 3_000_000), "robots_denied"),
    ],
)
def test_what_a_site_says_in_odd_ways(answer: bytes, code: str, tmp_path: Path) -> None:
    with a_web(tmp_path, {"/robots.txt": answer, "/a": text("A")}) as web:
        assert web.codes("/a") == {"/a": code}


def test_a_setting_of_the_environment_leaves_the_wishes_of_sites_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLBLOCKS_ROBOTS", "off")
    with a_web(
        tmp_path, {"/robots.txt": text("User-agent: *\nDisallow: /"), "/a": text("A")}
    ) as web:
        assert web.codes("/a") == {"/a": ""}


def test_a_page_that_was_kept_is_asked_for_by_its_validators(tmp_path: Path) -> None:
    def answer(asked: Asked) -> bytes:
        if asked.headers.get("if-none-match") == '"v1"':
            return ok(b"", 304, etag='"v1"')
        if asked.headers.get("if-modified-since") == "Wed, 01 May 2024 10:00:00 GMT":
            return ok(b"", 304)
        return {
            "/tag": text("T", etag='"v1"'),
            "/date": text("D", last_modified="Wed, 01 May 2024 10:00:00 GMT"),
            "/fresh": text("F", cache_control="public, max-age=60"),
            "/never": text("N", cache_control="no-store", etag='"v1"'),
            "/plain": text("P"),
        }.get(asked.target, ok(b"", 404))

    paths = ("/tag", "/date", "/fresh", "/never", "/plain")
    folder = tmp_path / "pages"
    with a_web(tmp_path, answer, cache=folder) as web:
        first, second = web.fetch(*paths), web.fetch(*paths)
        assert web.targets.count("/fresh") == 1
    for path in paths:
        assert first[path]["content"] == second[path]["content"] == path[1].upper()
        assert "cached" not in first[path]
    assert {path: second[path].get("cached") for path in paths} == {
        "/tag": "unchanged",
        "/date": "unchanged",
        "/fresh": "fresh",
        "/never": None,
        "/plain": None,
    }
    kept = [*folder.iterdir()]
    assert len(kept) == 3
    for file in kept:
        assert file.stat().st_mode & 0o777 == 0o600
        assert "public.test" not in file.read_text()


def test_a_page_that_moved_does_not_pass_for_the_one_that_was_kept(tmp_path: Path) -> None:
    moved: list[bool] = []

    def answer(asked: Asked) -> bytes:
        if asked.target == "/a":
            return redirect("/b") if moved else text("old", etag='"1"')
        if "if-none-match" in asked.headers:
            return ok(b"", 304)
        return text("new", etag='"1"') if asked.target == "/b" else ok(b"", 404)

    with a_web(tmp_path, answer, cache=tmp_path / "pages") as web:
        assert web.fetch("/a")["/a"]["content"] == "old"
        moved.append(True)
        assert web.fetch("/a")["/a"]["content"] == "new"


def test_what_a_site_asks_for_counts_for_kept_pages_too(tmp_path: Path) -> None:
    answers = {"/a": text("A", cache_control="max-age=600")}
    with a_web(tmp_path, answers, cache=tmp_path / "pages") as web:
        assert web.codes("/a") == {"/a": ""}
    answers["/robots.txt"] = text("User-agent: *\nDisallow: /a")
    with a_web(tmp_path, answers, cache=tmp_path / "pages") as web:
        assert web.codes("/a") == {"/a": "robots_denied"}
