"""Many queries, one list: merged, numbered, and never lost for one that fails."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.core.sources import canonical_url
from callblocks.guard.files.root import Root
from callblocks.toolkits.standard import standard_tools
from callblocks.toolkits.web.engines import FoundPage
from callblocks.toolkits.web.web_tools import fused
from support.recorded_sessions import a_session
from support.search_providers import KEY, BraveServer, SearxngServer
from support.tool_runtime import call, run_one
from support.web_world import a_web, served

NAMES = st.lists(st.sampled_from("abcdefgh"), max_size=6)


def row(name: str, snippet: str = "") -> dict[str, Any]:
    return {"url": f"https://{name}.example/", "title": name, "snippet": snippet}


@given(st.lists(NAMES, max_size=4), st.integers(1, 8))
def test_each_page_stands_once_and_the_best_come_first(lists: list[list[str]], n: int) -> None:
    rows = fused([[row(name) for name in ranked] for ranked in lists], n)
    names = [one["title"] for one in rows]
    known = {name for ranked in lists for name in ranked}
    assert len(names) == len({*names}) == min(n, len(known))
    weights = {
        name: sum(
            1 / (60 + 1 + [*dict.fromkeys(ranked)].index(name))
            for ranked in lists
            if name in ranked
        )
        for name in known
    }
    shown = [weights[name] for name in names]
    assert shown == sorted(shown, reverse=True)
    assert not any(weights[name] > shown[-1] + 1e-12 for name in known - {*names})


@given(NAMES)
def test_one_list_keeps_its_order(ranked: list[str]) -> None:
    rows = fused([[row(name) for name in ranked]], 20)
    assert [one["title"] for one in rows] == [*dict.fromkeys(ranked)]


def test_spellings_of_an_address_are_one_page_with_the_longest_snippet() -> None:
    first = {"url": "https://A.example/x/?utm_source=1#top", "title": "first", "snippet": "short"}
    other = {"url": "https://a.example/x", "title": "x", "snippet": "much longer", "date": "2024"}
    (one,) = fused([[first], [other]], 5)
    assert canonical_url(one["url"]) == "https://a.example/x"
    assert (one["title"], one["snippet"], one["date"]) == ("first", "much longer", "2024")


class Engine:
    """Answers each query with its pages, or with a fault."""

    name = "gull"

    def __init__(self, answers: dict[str, Sequence[str] | ToolError]) -> None:
        self._answers = answers

    async def search(self, query: str, limit: int) -> list[FoundPage]:
        answer = self._answers[query]
        if isinstance(answer, ToolError):
            raise answer
        return [FoundPage(f"https://{name}.example/", name, f"about {name}") for name in answer]


def test_queries_are_merged_and_one_that_fails_leaves_the_others(tmp_path: Path) -> None:
    engine = Engine(
        {"tides": ["a", "b"], "moon": ["b", "c"], "rain": ToolError("quota_exceeded", "no more")}
    )
    with a_web(tmp_path, {}, engines=[engine]) as web:
        rows = web.search("tides", " moon ", "rain", "tides", n=2)
    assert [one["title"] for one in rows] == ["b", "a"]
    assert rows[0]["snippet"] == "about b"
    assert web.notices == ["query_failed"]
    assert web.context.notices[0].details == {"error": "quota_exceeded"}
    assert web.said[-1] == "query 2 of 3: 2 results of gull\n"
    assert "the results of gull" in web.context.taints


def test_a_search_fails_where_every_query_does(tmp_path: Path) -> None:
    engine = Engine({"a": ToolError("sign_in_needed", "no key"), "b": ToolError("timeout", "late")})
    with (
        a_web(tmp_path, {}, engines=[engine]) as web,
        pytest.raises(ToolError) as raised,
    ):
        web.search("a", "b")
    assert raised.value.code == "sign_in_needed"


def test_without_an_engine_the_workspace_is_searched_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/tides.md").write_text("# Tides\n\nhigh at six\n")
    (tmp_path / "rain.txt").write_text("rain at noon, and high wind\n")
    with a_web(tmp_path, {}) as web:
        rows = web.search("tides", "high", n=5)
        assert [one["title"] for one in rows] == [
            "file notes/tides.md, line 1: Tides",
            "file rain.txt, line 1",
        ]
        assert web.notices == ["no_search_engine"]
        assert "not of the web" in web.context.notices[0].message
        assert web.search("nothing of the kind") == []
        assert web.notices == ["no_search_engine"]
        assert web.site.met == 0


def test_a_search_without_words_is_refused(tmp_path: Path) -> None:
    with a_web(tmp_path, {}) as web, pytest.raises(ToolError) as raised:
        web.search("  ", "\n", "\0")
    assert raised.value.code == "invalid_input"


def test_engines_of_the_environment_are_those_of_both_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = SearxngServer([{"url": "https://tides.example/", "title": "Tides", "content": "Six"}])
    with Root(tmp_path) as root, served(server) as site:
        monkeypatch.setenv("CALLBLOCKS_SEARCH", f"searxng=http://127.0.0.1:{site.port}")
        tools = standard_tools(root).only(["*web_search"]).tools
        one = run_one(tools, call("web_search", query="tides"))
        many = run_one(tools, call("web_tools.web_search", queries=["tides"]))
        monkeypatch.setenv("CALLBLOCKS_SEARCH", "gull")
        wrong = run_one(tools, call("web_tools.web_search", queries=["tides"]))
    assert one.output["engine"] == "searxng"
    assert one.output["results"] == many.output
    assert many.output[0]["url"] == "https://tides.example/"
    assert wrong.error is not None
    assert wrong.error.code == "bad_setting"


def test_no_key_is_in_what_a_timeline_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(BraveServer()) as site, a_session(tmp_path) as session, Root(tmp_path) as root:
        monkeypatch.setenv("CALLBLOCKS_SEARCH", f"brave=http://127.0.0.1:{site.port}")
        tools = standard_tools(root).only(["web_tools.web_search"]).tools
        for key in (KEY, f"wrong-{KEY}"):
            monkeypatch.setenv("CALLBLOCKS_BRAVE_KEY", key)
            session.play(tools, call("web_tools.web_search", queries=["tides"]))
        blocks = session.blocks()
    assert any("sign_in_needed" in (block.text or "") for block in blocks)
    assert KEY not in repr(blocks)
