"""What a rule about paths denies is not named either: in listings, by suggestions, in results."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.calls import Call
from callblocks.core.outcomes import Outcome
from callblocks.guard.files.root import Root
from callblocks.policy.policy import Policy
from callblocks.policy.rules import Rule
from callblocks.toolkits.standard import standard_tools
from support.sample_offices import copy_office
from support.tool_runtime import run_one

DENIED = ("secrets/**", "**/*.pem", "office/drive/Passengers/**", "office/drive/price-list.html")
NAMES = ("secrets", "north.md", "host.pem", "Passengers", "lost-and-found", "price-list")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Root]:
    """One workspace for all: no call here changes a file that another looks at."""
    work = tmp_path_factory.mktemp("work")
    copy_office(work)
    with Root(work) as opened:
        for path in ("notes/a.md", "notes/host.pem", "secrets/north.md", "secrets/deep/b.md"):
            opened.write(path, b"seven herons")
        yield opened


def run(root: Root, name: str, /, **given: Any) -> Outcome:
    tool = standard_tools(root).get(name)
    assert tool is not None
    rules = (Rule(decide="deny", path=DENIED), Rule(decide="allow", tool=(name,)))
    asked = Call(id="c1", name=name, input=given)
    return run_one([tool], asked, policy=Policy(rules), resolve=root.resolve)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("file_list", {}),
        ("file_list", {"depth": 9}),
        ("file_list", {"path": "notes"}),
        ("file_read", {"path": "secret/north.md"}),
        ("file_read", {"path": "notes"}),
        ("file_ingest", {"path": "."}),
        ("search", {"query": "herons"}),
        ("search", {"query": "herons", "scope": "secret"}),
        ("search", {"query": "herons", "scope": "#none"}),
        ("web_search", {"query": "herons"}),
        ("drive_list", {"maxResults": 100}),
        ("drive_search", {"query": "name contains 'p'", "maxResults": 100}),
        ("drive_read", {"fileId": "Lost-and-found"}),
        ("drive_read", {"fileId": "Price-list"}),
        ("drive_list", {"folderId": "PASSENGERS"}),
        ("drive_update", {"fileId": "Price-list", "name": "x"}),
        (
            "gmail_send",
            {"to": "a@b.c", "subject": "", "body": "", "attachments": ["drive:Price-list"]},
        ),
    ],
)
def test_a_denied_name_is_not_shown(root: Root, name: str, given: dict[str, Any]) -> None:
    outcome = run(root, name, **given)
    said = str(outcome)
    for asked in given.values():
        said = said.replace(str(asked), "").replace(str(asked).removeprefix("drive:"), "")
    assert [one for one in NAMES if one in said] == []


def test_what_is_not_denied_is_listed(root: Root) -> None:
    listed = run(root, "file_list", depth=2).output
    assert {"notes", "notes/a.md", "office"} <= {one["path"] for one in listed}
    meant = run(root, "drive_read", fileId="Winter notice").error
    assert meant
    assert "did you mean winter-notice" in meant.message


def test_a_hidden_entry_takes_no_room(tmp_path: Path) -> None:
    (tmp_path / "secrets").mkdir()
    for number in range(1_200):
        (tmp_path / f"secrets/{number}").touch()
    with Root(tmp_path) as root:
        root.write("z.md", b"")
        outcome = run(root, "file_list", depth=2)
    assert outcome.output == [{"path": "z.md", "kind": "file", "size": 0}]
    assert outcome.notices == ()
