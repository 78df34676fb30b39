"""A model in a session pages through a list by the token that it was shown."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from callblocks.core.blocks import text_of
from callblocks.core.calls import Call
from callblocks.core.events import CallEnded
from callblocks.guard.files.root import Root
from callblocks.models.model import Request
from callblocks.toolkits.office.local.local_office import LocalOffice
from callblocks.toolkits.office.tools.mail_tools import gmail_tools
from callblocks.tools.registry import Registry
from support.sample_offices import copy_office
from support.scripted_sessions import Replies, of_type, run_turn, some_host, write


def test_the_second_page_of_the_mail_is_read_in_a_session(tmp_path: Path) -> None:
    with Root(tmp_path) as root:
        tools = Registry(gmail_tools(LocalOffice(copy_office(tmp_path)), root))

        def calling(**given: object) -> str:
            call = Call(id="c1", name="gmail_list", input={"maxResults": 2, **given})
            return write("tool-fence", call, tools=tools.tools)

        def go_on(request: Request) -> str:
            told = text_of(list(request.messages[-1].parts))
            (token,) = re.findall(r'"nextPageToken": ?"([^"]+)"', told)
            return calling(pageToken=token)

        model = Replies(calling(), go_on, "That is all.")
        with some_host(tmp_path, model, tools=tools) as host:
            events = asyncio.run(run_turn(host.session("talk"), "Read on."))
    first, second = (ended.outcome.output for ended in of_type(events, CallEnded))
    shown = [{one["id"] for one in page["messages"]} for page in (first, second)]
    assert [len(page) for page in shown] == [2, 2]
    assert not shown[0] & shown[1]
