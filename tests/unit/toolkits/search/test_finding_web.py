from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callblocks.core.errors import ToolError
from callblocks.guard.files.root import Root
from callblocks.toolkits.web.engines import PER_TOKEN, FoundPage, within
from support.roots import code_of
from support.search_files import Finding


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root(tmp_path) as root:
        yield root


class Engine:
    """Answers with what it was given, or fails."""

    def __init__(self, name: str, *found: FoundPage, fault: str = "") -> None:
        self.name = name
        self.asked: list[tuple[str, int]] = []
        self._found = found
        self._fault = fault

    async def search(self, query: str, limit: int) -> list[FoundPage]:
        self.asked.append((query, limit))
        if self._fault:
            raise ToolError(self._fault, f"{self.name} not today")
        return list(self._found)


def ask(find: Finding, **given: Any) -> Any:
    return asyncio.run(find("web_search", **given))


PAGE = FoundPage("https://tides.example/", "Tides", "High at six", "2024-05-01")


def test_pages_of_an_engine_are_given_and_taint(root: Root) -> None:
    find = Finding(root, [Engine("gull", PAGE)])
    assert ask(find, query="tides") == {
        "query": "tides",
        "engine": "gull",
        "results": [
            {
                "title": "Tides",
                "url": "https://tides.example/",
                "date": "2024-05-01",
                "snippet": "High at six",
            }
        ],
    }
    assert find.context.taints == ["the results of gull"]
    assert find.notices == []


def test_the_next_engine_is_asked_where_one_fails(root: Root) -> None:
    broken, working = Engine("a", fault="service_unavailable"), Engine("b", PAGE)
    find = Finding(root, [broken, working])
    assert ask(find, query="tides", maxResults=3)["engine"] == "b"
    assert broken.asked == working.asked == [("tides", 3)]
    find = Finding(root, [broken, Engine("c", fault="quota_exceeded")])
    with pytest.raises(ToolError) as raised:
        ask(find, query="tides")
    assert code_of(raised) == "quota_exceeded"
    assert raised.value.message == "a not today; c not today"


def test_without_an_engine_the_workspace_is_searched_and_that_is_said(root: Root) -> None:
    root.write("notes/a.md", b"# Tides\n\nhigh at six")
    find = Finding(root)
    assert ask(find, query="tides") == {
        "query": "tides",
        "engine": "workspace",
        "results": [
            {
                "title": "Tides",
                "path": "notes/a.md",
                "heading": "Tides",
                "line": 1,
                "snippet": "# «Tides» high at six",
            }
        ],
    }
    assert find.notices == ["no_search_engine"]


def test_without_an_engine_only_what_has_all_words_that_say_something_is_given(root: Root) -> None:
    root.write("notes/a.md", b"# Tides\n\nhigh at six")
    root.write("a.pdf", b"%PDF")
    find = Finding(root)

    def found(query: str) -> list[str]:
        return [one["path"] for one in ask(find, query=query)["results"]]

    assert found("when is the high tide") == ["notes/a.md"]
    assert found("high tide in Whitby") == []
    assert find.notices == ["no_search_engine"]
    assert "no file of the workspace has all these words" in find.context.notices[0].message
    assert found("the") == []


@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", "file:///etc", "https://a/\nb", "", "a"),
        *("https://a.test/ b", "https://a.test/\u200b", "https://me:pw@a.test/"),
        f"https://a.test/{'x' * 2_000}",
    ],
)
def test_only_addresses_of_pages_are_passed_on(root: Root, url: str) -> None:
    find = Finding(root, [Engine("gull", FoundPage(url, "x"), PAGE)])
    assert [one["url"] for one in ask(find, query="x")["results"]] == [PAGE.url]


def test_what_an_engine_says_is_one_line_of_plain_text(root: Root) -> None:
    find = Finding(
        root, [Engine("gull", FoundPage("https://a/", "a\x1b[2J\nb", "c\u202e d\ud800"))]
    )
    (result,) = ask(find, query="x")["results"]
    assert (result["title"], result["snippet"]) == ("a [2J b", "c d")


def test_more_than_was_asked_for_is_left_out(root: Root) -> None:
    find = Finding(root, [Engine("gull", *([PAGE] * 30))])
    assert len(ask(find, query="x", maxResults=5)["results"]) == 5


def test_a_result_is_no_longer_than_its_tokens(root: Root) -> None:
    long = FoundPage("https://a/", "t", "word " * 200)
    find = Finding(root, [Engine("gull", *([long] * 8))])
    results = ask(find, query="x", maxTokens=300)["results"]
    assert len(results) == 2
    assert results[-1]["snippet"].endswith("…")
    assert find.notices == ["results_left_out"]


_RESULTS = st.lists(
    st.fixed_dictionaries({"title": st.text(max_size=30), "snippet": st.text(max_size=300)}),
    max_size=6,
)


@given(_RESULTS, st.integers(50, 500))
def test_results_fit_into_their_tokens(results: list[dict[str, Any]], tokens: int) -> None:
    kept, complete = within(results, tokens)
    size = sum(len(str(value)) for result in kept for value in result.values())
    assert size <= tokens * PER_TOKEN + 1
    assert complete == (kept == results)
    assert bool(kept) == bool(results)
