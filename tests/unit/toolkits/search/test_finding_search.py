from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import callblocks.cli
from callblocks.core.errors import ToolError
from callblocks.guard.files.root import Root
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.toolkits.file_tools import file_tools
from callblocks.toolkits.search import refresh as refreshing
from callblocks.toolkits.search.index import Index, use_store
from callblocks.toolkits.search.query import words_of
from callblocks.toolkits.search_tools import finding_tools
from support.roots import code_of
from support.search_files import Finding, age, pdf_of
from support.tool_runtime import call, run_one

_SAMPLE = Path(callblocks.cli.__file__).parent / "commands" / "sample"


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    with Root(tmp_path) as root:
        yield root


@pytest.fixture
def find(root: Root) -> Finding:
    return Finding(root)


def put(root: Root, **files: str) -> None:
    for name, text in files.items():
        root.write(name.replace("__", "/").replace("_md", ".md"), text.encode())


def test_the_tools_say_what_they_are(find: Finding) -> None:
    assert {name: tool.traits.names() for name, tool in find.tools.items()} == {
        "search": ("read_only", "idempotent"),
        "file_ingest": ("idempotent",),
        "web_search": ("read_only", "idempotent", "open_world", "source"),
    }
    for tool in find.tools.values():
        assert tool.origin == "builtin"
        assert tool.spec.description
        assert all(schema["description"] for schema in tool.spec.properties.values())
    assert [*find.tools["search"].spec.properties] == ["query", "scope", "limit"]
    assert [*find.tools["web_search"].spec.properties][:2] == ["query", "maxTokens"]


def test_the_sample_is_found_at_once(tmp_path: Path) -> None:
    shutil.copytree(_SAMPLE, tmp_path / "work")
    with Root(tmp_path / "work") as root:
        find = Finding(root)
        (first, *_) = find("search", query="dry socks")["results"]
        assert first["path"] == "notes/packing.md"
        assert first["heading"] == first["title"] == "Packing"
        assert "«dry» «socks»" in first["snippet"]
        assert find.paths("socks", scope="csv") == []
        assert "tides.csv" in find.paths("tides")
        assert find.context.taints == []


def test_words_of_all_kinds_are_found(root: Root, find: Finding) -> None:
    put(root, a_md="# Häfen\nDer Hafen in Öresund", b_md="東京都庁の展望室", c_md="the tides turn")
    assert find.paths("hafen oresund") == ["a.md"]
    assert find.paths("HÄFEN") == ["a.md"]
    assert find.paths("京都") == find.paths("展望") == find.paths("東") == ["b.md"]
    assert find.paths("京展") == []
    assert find.paths("tide") == ["c.md"]
    assert find.notices == []
    assert find.paths('"turn tides"') == []
    assert find.paths("tid* -turn") == []
    assert find.paths("tides OR hafen -öresund") == ["c.md"]


def test_where_no_passage_has_all_words_some_are_enough(root: Root, find: Finding) -> None:
    put(root, a_md="harbour and sand", b_md="gulls")
    assert find.paths("harbour gulls tractor") == ["b.md", "a.md"] or find.paths(
        "harbour gulls tractor"
    ) == ["a.md", "b.md"]
    assert find.notices == ["some_words"]
    assert find.paths("tractor") == []
    assert find.notices == []


def test_a_name_counts_more_than_a_word_in_the_text(root: Root, find: Finding) -> None:
    put(root, long_md="harbour " * 20 + "x " * 200, harbour_md="about boats", other_md="y")
    assert find.paths("harbour") == ["harbour.md", "long.md"]


def test_a_result_says_where_it_stands(root: Root, find: Finding) -> None:
    put(root, notes__a_md="# Plan\n\nfirst\n\n## Tides\n\nlow water")
    assert find("search", query="low water") == {
        "query": "low water",
        "results": [
            {
                "path": "notes/a.md",
                "title": "Plan",
                "heading": "Plan › Tides",
                "line": 5,
                "snippet": "## Tides «low» «water»",
            }
        ],
    }


def test_one_file_does_not_hide_the_others(root: Root, find: Finding) -> None:
    put(root, long_md="\n\n".join(["harbour " * 140] * 20), short_md="harbour and " + "x " * 500)
    results = find("search", query="harbour", limit=10)["results"]
    assert [result["path"] for result in results].count("long.md") == 3
    assert results[-1]["path"] == "short.md"
    assert len(find("search", query="harbour", limit=2)["results"]) == 2


def test_a_scope_is_a_folder_a_file_a_kind_or_a_tag(root: Root, find: Finding) -> None:
    put(root, a_md="harbour", notes__b_md="harbour", office__drive__c_md="harbour")
    root.write("notes/t.csv", b"harbour\n")
    root.write("notes2/x.txt", b"harbour")
    find("file_ingest", path="notes/b.md", tags=["#Old  Town", "sea"])

    def found(scope: str) -> list[str]:
        return sorted(find.paths("harbour", scope=scope))

    every = ["a.md", "notes/b.md", "notes/t.csv", "notes2/x.txt", "office/drive/c.md"]
    assert found("all") == found("") == found(".") == every
    assert found("files") == every[:4]
    assert found("documents") == every[4:]
    assert found("notes") == found("./notes/") == every[1:3]
    assert found("notes/b.md") == found("#sea") == found("#old town") == ["notes/b.md"]
    assert found("csv") == ["notes/t.csv"]
    assert found("#none") == []


@pytest.mark.parametrize(
    ("scope", "code"),
    [("nowhere", "invalid_input"), ("../up", "unsafe_path"), ("/etc", "unsafe_path")],
)
def test_a_scope_that_is_none_is_refused(find: Finding, scope: str, code: str) -> None:
    with pytest.raises(ToolError) as raised:
        find("search", query="x", scope=scope)
    assert code_of(raised) == code


def test_what_changes_is_seen(root: Root, find: Finding, tmp_path: Path) -> None:
    put(root, a_md="harbour", notes__b_md="harbour", notes__c_md="harbour")
    age(tmp_path)
    assert len(find.paths("harbour")) == 3
    assert len(find.paths("harbour")) == 3
    (tmp_path / "a.md").write_text("gulls")
    with (tmp_path / "notes/b.md").open("a") as file:
        file.write(" tractor")
    (tmp_path / "notes/c.md").unlink()
    put(root, notes__deep__d_md="harbour")
    assert sorted(find.paths("harbour")) == ["notes/b.md", "notes/deep/d.md"]
    assert find.paths("tractor") == ["notes/b.md"]
    assert find.paths("gulls") == ["a.md"]
    shutil.rmtree(tmp_path / "notes")
    assert find.paths("harbour") == []


def test_a_change_within_the_same_moment_is_seen(root: Root, find: Finding, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("harbour")
    status = (tmp_path / "a.md").stat()
    assert find.paths("harbour") == ["a.md"]
    (tmp_path / "a.md").write_text("tractor")
    os.utime(tmp_path / "a.md", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert find.paths("tractor") == ["a.md"]


def test_a_large_workspace_is_read_by_and_by(
    root: Root, find: Finding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refreshing, "_READ", 4)
    monkeypatch.setattr(refreshing, "_LOOKED_AT", 3)
    for number in range(10):
        put(root, **{f"d{number % 3}__f{number}_md": "harbour"})
    age(tmp_path)
    counts = [len(find.paths("harbour", limit=50)) for _ in range(4)]
    assert counts == [4, 8, 10, 10]
    with (tmp_path / "d2/f8.md").open("a") as file:
        file.write(" tractor")
    assert ["d2/f8.md"] in [find.paths("tractor") for _ in range(5)]


def test_names_that_nobody_means_are_passed_over(root: Root, find: Finding, tmp_path: Path) -> None:
    put(root, a_md="harbour")
    for folder in (".git", "node_modules", "office/mail", "office/trash"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x.md").write_text("harbour")
    (tmp_path / ".env").write_text("harbour")
    (tmp_path / "bin.dat").write_bytes(b"harbour\0")
    (tmp_path / "link.md").symlink_to("a.md")
    (tmp_path / "folder").symlink_to("office")
    assert find.paths("harbour") == ["a.md"]


def test_what_callblocks_keeps_for_itself_is_not_found(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "a.md").write_text("harbour")
    with Root(tmp_path, hidden=[tmp_path / "state"]) as root:
        assert Finding(root).paths("harbour") == []


def test_files_that_wait_are_told(root: Root, find: Finding) -> None:
    root.write("a.pdf", pdf_of("harbour"))
    root.write("large.txt", b"harbour " * 50_000)
    assert find.paths("harbour") == []
    assert find.notices == ["not_ingested"]
    assert "a.pdf, large.txt" in find.context.notices[0].message
    find("file_ingest", path="large.txt")
    find("file_ingest", path="a.pdf")
    assert sorted(find.paths("harbour")) == ["a.pdf", "large.txt"]
    assert find.notices == []
    assert find.context.taints == ["file of others: a.pdf"]
    root.write("a.pdf", pdf_of("gulls"))
    assert find.paths("harbour", scope="pdf") == ["a.pdf"]
    assert find.notices == ["not_ingested"]


def test_a_file_that_cannot_be_read_is_named_no_more_until_it_is_another(
    root: Root, find: Finding
) -> None:
    root.write("docs/bad.pdf", b"not a pdf")
    root.write("a.md", b"gulls")
    for path in ("docs", "docs/bad.pdf"):
        assert find.paths("harbour") == []
        with suppress(ToolError):
            find("file_ingest", path=path)
        for _ in range(2):
            assert find.paths("harbour") == []
            assert find.notices == []
        age(root.folder / "docs" / "bad.pdf")
        assert find.paths("harbour") == []
        assert find.notices == []
        root.write("docs/bad.pdf", f"not a pdf after {path}".encode())
        assert find.paths("harbour") == []
        assert find.notices == ["not_ingested"]


def test_only_files_in_scope_are_named_and_only_where_more_could_be_found(
    root: Root, find: Finding
) -> None:
    root.write("a.pdf", pdf_of("harbour"))
    root.write("notes/a.md", b"harbour")
    for scope in ("markdown", "notes", "notes/a.md", "#trip"):
        find("search", query="harbour", scope=scope)
        assert "not_ingested" not in find.notices
    for scope in ("all", "files", "pdf", "a.pdf"):
        find("search", query="harbour", scope=scope)
        assert find.notices == ["not_ingested"]
    find("search", query="harbour", limit=1)
    assert find.notices == []


def test_a_tag_that_nothing_has_says_so(root: Root, find: Finding) -> None:
    put(root, a_md="harbour")
    assert find.paths("harbour", scope="#trip") == []
    assert find.notices == ["unknown_tag"]
    find("file_ingest", path="a.md", tags=["Trip"])
    assert find.paths("harbour", scope="#trip") == ["a.md"]
    assert find.notices == []
    find("search", query="harbour", scope="#trap")
    assert "there are: #trip" in find.context.notices[0].message


def test_what_is_in_no_file_may_be_in_the_office(root: Root, find: Finding) -> None:
    put(root, a_md="harbour")
    assert find.paths("gulls") == []
    assert find.notices == []
    root.write("office/mail/new/1.M1.host", b"Subject: gulls")
    assert find.paths("gannets") == []
    assert find.notices == ["not_in_files"]
    assert find.paths("harbour") == ["a.md"]
    assert find.notices == []


@pytest.mark.parametrize(
    ("query", "code"), [("", "no_words"), ("🐱", "no_words"), ("-a", "no_words")]
)
def test_a_query_without_words_says_so(root: Root, find: Finding, query: str, code: str) -> None:
    put(root, a_md="harbour")
    assert find("search", query=query)["results"] == []
    assert find.notices == [code]


def test_an_empty_workspace_says_so(find: Finding) -> None:
    assert find("search", query="harbour")["results"] == []
    assert find.notices == ["nothing_indexed"]


@pytest.mark.parametrize("path", ["downloads/a.md", "attachments/a.md", "office/drive/a.md"])
def test_text_of_others_taints(root: Root, find: Finding, path: str) -> None:
    root.write(path, b"harbour")
    assert find.paths("harbour") == [path]
    assert find.context.taints == [f"file of others: {path}"]
    find("search", query="gulls")
    assert find.context.taints == []


_HARD = st.text(st.characters(codec="utf-8"), min_size=1, max_size=300)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(_HARD)
@example("OR AND NOT -")
@example("ﷺ ½ ǆ İ")
def test_every_word_of_a_file_is_found_by_itself(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    folder = tmp_path_factory.mktemp("work")
    (folder / "a.md").write_bytes(text.replace("\0", "").encode())
    (folder / "b.md").write_text("another file")
    with Root(folder) as root:
        find = Finding(root)
        for word in {*words_of(text.replace("\0", ""))}:
            assert "a.md" in find.paths(word), word


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(), st.sampled_from(("all", "files", "documents", "csv", "#a", ".")))
@example('"', "all")
@example("NEAR(a b) {name}: ^a + b", "all")
def test_no_query_raises(find: Finding, text: str, scope: str) -> None:
    find("search", query=text[:2_000], scope=scope)


# What the policy keeps from a call.


def found_under(root: Root, policy: Policy, **given: str) -> list[str]:
    tools = (*finding_tools(root), *file_tools(root))
    outcome = run_one(tools, call("search", **given), policy=policy, resolve=root.resolve)
    assert outcome.error is None, outcome.error
    return sorted({result["path"] for result in outcome.output["results"]})


@pytest.mark.parametrize(
    "kept",
    [
        Rule(decide="deny", path=("keys/**",)),
        Rule(decide="ask", path=("keys/**",)),
        Rule(decide="deny", tool=("search",), path=("keys/**",)),
        Rule(decide="deny", tool=("file_*",), path=("keys/**",)),
        Rule(decide="deny", tool=("file_read",), path=("keys/*.md",)),
    ],
)
def test_no_passage_of_a_file_is_shown_that_the_policy_keeps(root: Root, kept: Rule) -> None:
    put(root, a_md="harbour", keys__k_md="harbour secret")
    root.write("keys/k.pdf", pdf_of("harbour"))
    policy = Policy((kept, Rule(decide="allow", tool=("search",))))
    assert found_under(root, policy, query="harbour") == ["a.md"]
    outcome = run_one(
        finding_tools(root), call("search", query="secret"), policy=policy, resolve=root.resolve
    )
    # As if it were not there: not even that something was found.
    assert outcome.output == {"query": "secret", "results": []}
    assert [notice.message for notice in outcome.notices if "k.md" in notice.message] == []


def test_a_policy_for_other_tools_keeps_nothing_from_a_search(root: Root) -> None:
    put(root, a_md="harbour", keys__k_md="harbour secret")
    policy = Policy((Rule(decide="allow", tool=("search",)), Rule(decide="deny", tool=("*",))))
    assert found_under(root, policy, query="harbour") == ["a.md", "keys/k.md"]


def test_an_allow_for_a_folder_is_one_for_that_scope(root: Root) -> None:
    put(root, a_md="harbour", notes__k_md="harbour")
    policy = Policy((Rule(decide="allow", tool=("search",), path=("notes/**",)),))
    assert found_under(root, policy, query="harbour", scope="notes") == ["notes/k.md"]
    refused = run_one(
        finding_tools(root), call("search", query="x"), policy=policy, resolve=root.resolve
    )
    assert refused.error is not None
    assert refused.error.code == "approval_required"


def test_the_index_counts_what_it_has(root: Root, find: Finding) -> None:
    put(root, a_md="harbour", b_md="# A\n\nx\n\n# B\n\ny")
    find.paths("harbour")
    assert use_store(root, lambda store: Index(store).count()) == (2, 3)
