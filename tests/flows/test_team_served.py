"""A team behind a server: what each member does belongs to its text, live and told again."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from callblocks.core.events import TurnEnded, TurnEvent
from callblocks.session.team_file import Member, TeamSettings, Voice
from callblocks.views.ui.ai_sdk.ui_messages import reduced
from support.chat_server import chunks, served_host
from support.command_home import fence
from support.followed_turns import Followed, Following, spec_form
from support.gated_scripts import written_scripts
from support.scripted_sessions import Never, Replies, of_type, some_host
from support.spec_drawings import FIVE, Machine
from support.teams import of_member, some_team, team_host
from support.terminal_drawing import chat_text_of, drawn_text

TOOLS = ("run_shell_command", "read_file", "list_files")
SAYS = {
    "researcher": f"I look.\n\n{fence('run_shell_command', args=['pwd'])}"
    "<!-- results -->\nIt is /app.",
    "critic": f"I list.\n\n{fence('list_files', kwargs={})}<!-- results -->\nFour of them.",
    "consensus": f"{fence('run_shell_command', args=['pwd'])}<!-- results -->\nFour, in /app.",
}
WRITTEN = {
    "researcher": """\
I look.


<tool>run_shell_command(args=[&quot;pwd&quot;])
/app</tool>
It is /app.""",
    "critic": """\
I list.


<tool>list_files(kwargs={})
pyproject.toml, uv.lock, .venv/, src/</tool>
Four of them.""",
    "consensus": """\


<tool>run_shell_command(args=[&quot;pwd&quot;])
/app</tool>
Four, in /app.""",
}
DRAWN = """\
I list.

🔧 list_files (hide details)
  list_files(kwargs={}) → pyproject.toml, uv.lock, .venv/, src/

Four of them."""


@pytest.fixture(scope="module")
def following(tmp_path_factory: pytest.TempPathFactory) -> Generator[Following]:
    folder = tmp_path_factory.mktemp("team")
    machine = Machine()
    machine.make(FIVE)
    models = {name: written_scripts(folder / name, {"look": said}) for name, said in SAYS.items()}
    team = TeamSettings(
        members=tuple(
            Member(name=name, model=models[name], tools=TOOLS) for name in ("researcher", "critic")
        ),
        consensus=Voice(model=models["consensus"], tools=TOOLS),
    )
    host = {"tools": machine.registry(), "team": team}
    with served_host(lambda: some_host(folder, models["consensus"], **host)) as server:
        yield Following(server, *models.values())


def by_member(parts: list[dict[str, Any]]) -> dict[str, list[tuple[str, Any]]]:
    """What each member said and called, in its order; the team's own is that of nobody."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for part in parts:
        said = part.get("providerMetadata") or part.get("callProviderMetadata") or {}
        own = found.setdefault(said.get("callblocks", {}).get("member", ""), [])
        if part["type"] == "text":
            own.append(("text", part["text"].strip("\n")))
        elif part["type"] == "dynamic-tool":
            own.append((part["toolCallId"], part["output"]))
    return found


EXPECTED = {
    "researcher": [("text", "I look."), ("researcher/c1", "/app"), ("text", "It is /app.")],
    "critic": [
        ("text", "I list."),
        ("critic/c1", "pyproject.toml, uv.lock, .venv/, src/"),
        ("text", "Four of them."),
    ],
    "": [("c1", "/app"), ("text", "Four, in /app.")],
}


def test_calls_belong_to_the_text_of_their_member(following: Following) -> None:
    text = chat_text_of(following.play("look").events)
    assert {name: spec_form(own) for name, own in text.members.items()} == {
        name: WRITTEN[name] for name in ("researcher", "critic")
    }
    assert spec_form(text.text) == WRITTEN["consensus"]
    assert drawn_text(text.members["critic"]) == DRAWN


@pytest.mark.parametrize("version", [5, 6, 7])
def test_every_part_on_the_wire_says_whose_it_is(following: Following, version: int) -> None:
    turn = following.play("look", version)
    assert by_member(reduced(turn.chunks)["parts"]) == EXPECTED


@pytest.mark.parametrize("version", [5, 6, 7])
def test_a_chat_that_is_loaded_later_has_what_members_did(
    following: Following, version: int
) -> None:
    turn = following.play("look", version)
    assert by_member(turn.reply) == EXPECTED
    assert turn.shown["messages"][-1]["metadata"]["status"] == "answered"


def test_a_turn_that_is_over_is_told_again_with_its_members(following: Following) -> None:
    turn = following.play("look")
    assert by_member(reduced(_again(following, turn, 0))["parts"]) == EXPECTED
    # Whoever has what the team itself began to say has all of its members.
    own = next(one.seq for one in turn.entries if one.block.type == "react.tool.call")
    rest = _again(following, turn, own)
    assert [chunk["toolCallId"] for chunk in rest if "toolCallId" in chunk] == ["c1"]


def _again(following: Following, turn: Followed, after: int) -> list[dict[str, Any]]:
    path = f"/api/chat/{turn.shown['id']}/stream"
    return chunks(following.server.client.get(path, params={"after": after}))


def test_a_turn_that_goes_on_has_what_members_did_before(tmp_path: Path) -> None:
    members = [Member(name=name, model=Replies(f"I am {name}.")) for name in ("one", "two")]
    _interrupt(tmp_path, Member(name="two", model=Replies(["word " * 300, Never])), members[0])
    again = [Member(name="one", model=Replies("Again?")), members[1]]
    with served_host(lambda: team_host(tmp_path, Replies("Both."), *again)) as server:
        assert server.client.get("/api/chat/trip").json()["status"] == "interrupted"
        assert server.client.post("/api/chat/trip/resume", json={}).status_code == 200
        live = server.client.get("/api/chat/trip/stream", params={"after": 0})
        assert by_member(reduced(chunks(live))["parts"]) == {
            "one": [("text", "I am one.")],
            "two": [("text", "I am two.")],
            "": [("text", "Both.")],
        }


def _interrupt(folder: Path, slow: Member, done: Member) -> None:
    """A turn whose program dies when one member is done and the other speaks."""

    async def go() -> None:
        events: list[TurnEvent] = []

        def tell(event: TurnEvent) -> None:
            events.append(event)
            is_done = of_type(of_member(events, done.name), TurnEnded)
            if is_done and len(of_member(events, slow.name)) > 5:
                task.cancel()

        task = asyncio.ensure_future(some_team(host).run("Who?", tell=tell))
        with suppress(asyncio.CancelledError):
            await task

    with team_host(folder, Replies(), done, slow) as host:
        asyncio.run(go())


def test_what_a_member_did_is_no_chat_also_without_the_team(tmp_path: Path) -> None:
    one = Member(name="one", model=Replies("I am one."))
    with served_host(lambda: team_host(tmp_path, Replies("All."), one)) as server:
        server.say("Who?")
    with served_host(lambda: some_host(tmp_path, Replies("Me."))) as server:
        chats = server.client.get("/api/chats").json()["chats"]
        assert [chat["id"] for chat in chats] == ["trip"]
        member = "/api/chat/trip.one"
        for path in (member, f"{member}/stream?after=0"):
            shown = server.client.get(path)
            assert shown.status_code == 404
            assert "member of a team" in shown.json()["error"]["message"]
        for refused in (server.say("Hi", "trip.one"), server.client.post(f"{member}/resume")):
            assert refused.status_code == 422
            assert "member of a team" in refused.json()["error"]["message"]
        assert server.client.get("/api/timelines/trip.one").status_code == 200
        assert server.say("Hi", "trip.two").status_code == 200
