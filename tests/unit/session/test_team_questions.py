"""Members who want to make the same call: the person says yes to each."""

from __future__ import annotations

import asyncio
from pathlib import Path

from callblocks.approvals.question import Answer, BookAsker, Question
from callblocks.core.events import CallAnswered, CallAsked, CallEnded, TurnEvent
from callblocks.session.host import Host
from callblocks.session.team_file import Member
from support.scripted_sessions import ASK_ALL, Replies, of_type, run_turn
from support.teams import calls, some_team, team_host


def _host(folder: Path) -> Host:
    listing = calls("file_list", "c1", path=".")
    members = [
        Member(name=name, model=Replies(listing, "So."), tools=("file_list",)) for name in "ab"
    ]
    return team_host(folder, Replies("Done."), *members, policy=ASK_ALL)


def _check(events: list[TurnEvent]) -> None:
    assert [event.outcome.ok for event in of_type(events, CallEnded)] == [True, True]
    answered = of_type(events, CallAnswered)
    assert [event.approved for event in answered] == [True, True]
    assert len({event.approval for event in answered}) == 2
    for name in "ab":
        # Nobody runs but on a yes that was told to be theirs.
        own = [event.approved for event in answered if event.member == name]
        assert own[-1]


def test_a_person_at_a_terminal_is_asked_once_for_each(tmp_path: Path) -> None:
    asked: list[str] = []

    async def asker(question: Question) -> Answer:
        asked.append(question.approval_id)
        await asyncio.sleep(0.01)
        return Answer("once")

    with _host(tmp_path) as host:
        events = asyncio.run(run_turn(some_team(host, asker=asker), "Look"))
    _check(events)
    assert len(asked) == len(set(asked)) == 2


def test_a_yes_in_the_book_is_for_one_of_them(tmp_path: Path) -> None:
    async def go(host: Host) -> list[TurnEvent]:
        events: list[TurnEvent] = []
        asker = BookAsker(host.book)

        def tell(event: TurnEvent) -> None:
            events.append(event)
            open_ones = {one.approval for one in of_type(events, CallAsked)}
            waiting = [one.id for one in host.book.list("pending") if one.id in open_ones]
            # Both have asked, or one of them ran.
            if isinstance(event, CallAsked | CallEnded) and waiting and len(open_ones) > 1:
                host.book.approve(waiting[0])
                asker.wake(waiting[0])

        await some_team(host, asker=asker).run("Look", tell=tell)
        return events

    with _host(tmp_path) as host:
        events = asyncio.run(go(host))
    _check(events)
    assert len(of_type(events, CallAsked)) == 2


def test_questions_in_the_book_are_answered_in_any_order(tmp_path: Path) -> None:
    members: list[Member] = []
    for name in "ab":
        (tmp_path / "work" / name).mkdir(parents=True)
        listing = calls("file_list", "c1", path=name)
        members.append(Member(name=name, model=Replies(listing, "So."), tools=("file_list",)))

    async def go(host: Host) -> list[str]:
        asker, asked, ended = BookAsker(host.book), dict[str, str](), list[str]()

        def answer(name: str) -> None:
            host.book.approve(asked[name])
            asker.wake(asked[name])

        def tell(event: TurnEvent) -> None:
            match event:
                case CallAsked(member=member, approval=approval):
                    asked[member] = approval
                    if len(asked) == 2:
                        answer("b")
                case CallEnded(member=member):
                    ended.append(member)
                    if len(ended) == 1:
                        answer("a")
                case _:
                    pass

        await some_team(host, asker=asker).run("Look", tell=tell)
        return ended

    with team_host(tmp_path, Replies("Done."), *members, policy=ASK_ALL) as host:
        assert asyncio.run(go(host)) == ["b", "a"]
